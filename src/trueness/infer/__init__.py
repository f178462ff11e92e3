"""Statistical inference: intervals, tests, bands, noise floors and comparisons.

The names are loaded when first used: a command needs a few of them.
"""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
