"""Measures of calibration: a number, table or curve from labels and scores, or their sums."""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
