"""Bands for curves."""
