"""Calibrators inside others: which may be, and what they have to say."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from trueness.errors import InputError, TruenessWarning, warn
from trueness.recalibrate._calibrator import Calibrator

__all__ = ["Sayings", "copy_of", "listed", "named_or_default", "of_one_score"]


def named_or_default(calibrator: Any, default: str) -> Calibrator:
    """The calibrator that was given, or a new one of the class called `default`."""
    if calibrator is None:
        made: Calibrator = getattr(import_module("trueness.recalibrate"), default)()
        return made
    if not isinstance(calibrator, Calibrator):
        what = f"the class {calibrator.__name__}" if isinstance(calibrator, type) else repr(calibrator)
        raise InputError("calibrator", f"must be a calibrator such as `{default}()`, or None", f"got {what}")
    return calibrator


def of_one_score(calibrator: Calibrator) -> Calibrator:
    """The calibrator, unless it takes a matrix."""
    if calibrator._shape == "matrix":
        raise InputError(
            "calibrator",
            "must be one of a single score, such as `PlattScaling()`",
            f"{type(calibrator).__name__} takes a matrix by itself",
        )
    return calibrator


def copy_of(calibrator: Calibrator) -> Calibrator:
    """An unfitted copy."""
    from sklearn.base import clone

    copy: Calibrator = clone(calibrator)
    return copy


class Sayings:
    """The warnings of many fits, told once per kind of warning with the names of those that gave it."""

    def __init__(self, singular: str, plural: str) -> None:
        self._words = singular, plural
        self._said: dict[type[TruenessWarning], dict[str, str]] = {}

    @contextmanager
    def of(self, name: Any) -> Iterator[None]:
        """Keep what is said inside under `name`; what others than trueness say passes on."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TruenessWarning)
            yield
        for said in caught:
            if issubclass(said.category, TruenessWarning):
                self._said.setdefault(said.category, {}).setdefault(repr(name), str(said.message))
            else:
                warnings.warn_explicit(said.message, said.category, said.filename, said.lineno)

    def tell(self) -> None:
        """Give the warnings."""
        for category, said in self._said.items():
            names, first = list(said), next(iter(said.values()))
            if len(names) == 1:
                warn(f"{self._words[0]} {names[0]}: {first}", category)
            else:
                warn(f"{self._words[1]} {listed(names)}; the first says: {first}", category)


def listed(names: list[str]) -> str:
    """A few names, and how many more there are."""
    rest = f" and {len(names) - 3:,} more" if len(names) > 4 else ""
    return ", ".join(names[:3] if rest else names) + rest
