"""Segments, grades, days and shifts."""
