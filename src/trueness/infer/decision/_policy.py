"""A gate's policy: what a model must keep, as a file or a dict."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

from trueness._input.arguments import check_flag, checked_number, checked_whole
from trueness._level import checked_level
from trueness.errors import InputError, did_you_mean, in_context

PolicyLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
_BOUNDS = ("max_ece", "max_l2", "oe_within", "segment_gap", "slice_gap")
_LEAST_LEVEL = 0.75


def is_in_pyproject() -> bool:
    """Whether the folder has a pyproject.toml with a policy."""
    try:
        table = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return _section(table) is not None


def _section(table: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The policy in the sections of a pyproject.toml, if there is one."""
    section: Mapping[str, Any] | None = table.get("tool", {}).get("trueness", {}).get("gate")
    return section


@dataclass(frozen=True)
class Policy:
    """What must be kept; each bound is checked when a policy is read."""

    level: float = 0.95
    """Confidence level of every limit and of the decision."""
    require: bool = False
    """Whether every bound must be shown to be kept."""
    min_rows: int = 0
    """The fewest rows that may pass."""
    max_ece: float | None = None
    """The largest ECE allowed."""
    max_l2: float | None = None
    """The largest typical error allowed."""
    oe_within: float | None = None
    """How far observed/expected may be from 1."""
    by: tuple[str, ...] = ()
    """Columns of segments."""
    segment_gap: float | None = None
    """How far event rate and mean score of a segment may be apart."""
    columns: tuple[str, ...] = ()
    """Columns of slices: every value, and every pair of values of two columns."""
    slice_gap: float | None = None
    """How far event rate and mean score of a slice may be apart."""
    baseline: str | None = None
    """The column of the baseline's scores."""
    margin: float = 0.0
    """By how much the Brier score may exceed that of the baseline."""
    seed: int = 0
    """Seed of all random draws."""

    @classmethod
    def of(cls, policy: object) -> Self:
        """The policy of a dict, or of a TOML file, checked.

        In a file it is the section [tool.trueness.gate] or, in a file of its own, everything.
        """
        if isinstance(policy, Mapping):
            return cls._checked(policy)
        if not isinstance(policy, str | os.PathLike):
            got = f"got {type(policy).__name__}"
            raise InputError("policy", "must be the path of a TOML file, or a dict", got)
        path = Path(policy)
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError("policy", "must be a file that exists", f"got {str(path)!r}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
            raise InputError("policy", "must be TOML", f"{str(path)!r}: {reason}") from None
        section = _section(table)
        if section is None and path.name == "pyproject.toml":
            got = f"{str(path)!r} has none"
            raise InputError("policy", "must have a section [tool.trueness.gate]", got)
        with in_context(str(path)):
            return cls._checked(table if section is None else section)

    @classmethod
    def _checked(cls, table: Mapping[str, Any]) -> Self:
        """The policy of a table of keys and values, as a dict or TOML file has them.

        A missing key keeps its default. Refused are an unknown key, a value of the wrong type or
        outside its range, a bound without its columns or columns without their bound, a margin
        without a baseline, and a policy with neither a bound nor a baseline.
        """
        keys = [entry.name for entry in fields(cls)]
        for key in table:
            if key not in keys:
                remedy = did_you_mean(key, keys) or f"Known are {', '.join(keys)}."
                raise InputError(
                    "policy", "must have keys that are known", f"got {key!r}", remedy=remedy
                )
        checked: dict[str, Any] = {key: _value(key, value) for key, value in table.items()}
        policy = cls(**checked)
        policy._check_pairs()
        return policy

    def _check_pairs(self) -> None:
        """Refuse keys that need each other if only one is there, and a policy that demands nothing.

        `by` needs `segment_gap`, `columns` needs `slice_gap`, and each the other way round. A
        margin other than 0 needs a baseline. Without a baseline there must be at least one bound.
        """
        for columns, bound in (("by", "segment_gap"), ("columns", "slice_gap")):
            has_columns = bool(getattr(self, columns))
            has_bound = getattr(self, bound) is not None
            if has_columns is not has_bound:
                lacking = bound if has_columns else columns
                present = columns if has_columns else bound
                raise InputError("policy", f"must have {lacking!r} beside {present!r}")
        if self.baseline is None and self.margin:
            raise InputError("policy", "must have 'baseline' beside 'margin'")
        if self.baseline is None and all(getattr(self, key) is None for key in _BOUNDS):
            names = ", ".join(map(repr, (*_BOUNDS, "baseline")))
            raise InputError("policy", f"must have a bound: one of {names}", "it has none")

    @property
    def needs_columns(self) -> tuple[str, ...]:
        """Every column that it names."""
        baseline = () if self.baseline is None else (self.baseline,)
        return tuple(dict.fromkeys((*self.by, *self.columns, *baseline)))

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults, as the keys of a file."""
        keys = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value != entry.default:
                keys[entry.name] = list(value) if isinstance(value, tuple) else value
        return keys


def _value(key: str, value: object) -> object:
    """The value of one key of a policy, checked and converted to its type.

    `key` decides what is allowed; any key that is not named below is a bound in [0, 1].
    """
    if key == "level":
        level = checked_level(cast(float, value))
        if level < _LEAST_LEVEL:
            raise InputError(
                "level", f"must be at least {_LEAST_LEVEL} for a gate", f"got {value!r}"
            )
        return level
    if key == "require":
        check_flag(value, key)
        return bool(value)
    if key in ("min_rows", "seed"):
        return checked_whole(value, key, least=0)
    if key == "margin":
        return checked_number(value, key, "in (−1, 1)", low=-1, high=1)
    if key == "baseline":
        if not isinstance(value, str):
            raise InputError(key, "must be the name of a column of scores", f"got {value!r}")
        return value
    if key in ("by", "columns"):
        return _names(key, value)
    if key in ("segment_gap", "slice_gap"):
        return checked_number(value, key, "above 0 and below 1", low=0, high=1)
    bound = checked_number(value, key, "in [0, 1]")
    if not 0 <= bound <= 1:
        raise InputError(key, "must lie in [0, 1]", f"got {value!r}")
    return bound


def _names(key: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if (
        not isinstance(names, list | tuple)
        or not all(isinstance(name, str) for name in names)
        or not names
        or len(set(names)) < len(names)
    ):
        raise InputError(key, "must be a list of names of columns", f"got {value!r}")
    return tuple(names)
