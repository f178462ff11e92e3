"""Pictures of results, in scikit-learn's habit; matplotlib is loaded when something is drawn."""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
