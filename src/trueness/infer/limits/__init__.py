"""Confidence limits of every other measure."""
