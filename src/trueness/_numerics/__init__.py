"""Pure array functions on NumPy and SciPy."""
