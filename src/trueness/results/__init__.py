"""Results that are more than one number: frozen records with named fields."""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
