"""Anything a user passes, checked once and turned into rows."""
