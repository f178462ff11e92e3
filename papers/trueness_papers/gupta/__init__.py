"""Gupta and Ramdas 2021: histogram binning without sample splitting."""
