"""Calibrators by name: `"isotonic"` is `IsotonicCalibration()`, in Python and in commands."""

import re
from typing import Any, TypeAlias

from trueness.errors import InputError, did_you_mean

Unfitted: TypeAlias = Any
"""A new calibrator of any class, or such a class: the module of their base class imports this."""


def calibrator_named(text: str, argument: str = "calibrator") -> Unfitted:
    """The unfitted calibrator of that name; a name after a colon goes inside the one before it."""
    outer, colon, inner = text.partition(":")
    cls = _class_named(outer, argument)
    if not colon:
        return cls()
    if "calibrator" not in cls._get_param_names():
        demand = f"{outer!r} takes no other calibrator after a colon"
        raise InputError(argument, demand, f"got {text!r}")
    return cls(calibrator=calibrator_named(inner, argument))


def _class_named(text: str, argument: str) -> Unfitted:
    """The class of calibrators with this name.

    A name is the class name (PlattScaling), its words with hyphens (platt-scaling), or the first of
    these (platt). Capitals do not matter. InputError for any other name.
    """
    from trueness import recalibrate  # whose names are loaded when they are used

    base = recalibrate.Calibrator
    every = (getattr(recalibrate, name) for name in recalibrate.__all__)
    named = {
        re.sub("(?<=.)(?=[A-Z])", "-", cls.__name__).lower(): cls
        for cls in every
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base
    }
    wanted = text.strip().lower().replace("_", "-")
    for name, cls in named.items():
        if wanted in (name, cls.__name__.lower(), name.partition("-")[0]):
            return cls
    first_words = {name.partition("-")[0]: name for name in named}
    remedy = did_you_mean(wanted, named, first_words)
    raise InputError(argument, f"must be one of {', '.join(named)}", f"got {text!r}", remedy=remedy)
