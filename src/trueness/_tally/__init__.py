"""Sums per distinct score and per bin: the only thing the measures look at."""
