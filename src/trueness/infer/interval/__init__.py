"""Confidence sets for the l2 calibration error."""
