"""trueness: tells whether predicted probabilities mean what they say, and makes them mean it.

The everyday names live here and are loaded when first used, so that ``import trueness`` costs
little more than ``import numpy``. They are listed in ``__init__.pyi``, for Python and for type
checkers.
"""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
