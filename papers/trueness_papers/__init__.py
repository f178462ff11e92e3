"""The tables and figures of the papers that trueness rests on, recomputed: one command each."""

from trueness._lazy import lazily

# Lazily: `trueness --help` imports this package, and must not wait for scikit-learn.
__all__, __getattr__, __dir__ = lazily(__name__, __file__)
