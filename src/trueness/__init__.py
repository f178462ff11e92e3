"""trueness: whether predicted probabilities mean what they say."""

__version__ = "0.1.0"
