"""What is asked about one model: its rows, the settings of every answer, and the memo."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from trueness._assess.rows import ModelRows
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.multiclass import View
from trueness._tally.rules import BinRule
from trueness.errors import InputError, quietly
from trueness.results import Estimate

Answer = TypeVar("Answer")
Makers = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Asked:
    """One model at one level: asks the makers, each once."""

    rows: ModelRows
    makers: Makers
    level: float
    seed: int
    rule: BinRule | None
    """The bins of measures; None for the default of each."""
    draws: int | None = None
    """Sets of labels for the test and the confidence set; None for as many as the level needs."""

    def but(self, **changes: Any) -> "Asked":
        """The same with other settings; the memo is shared."""
        return replace(self, **changes)

    def view(self, kind: View, two_columns: TwoColumns = "binary") -> Evidence:
        """The rows as a question reads them; what two columns are depends on the question."""
        return self.rows.view(kind, two_columns)

    def ask(self, question: str, **options: Any) -> Any:
        """The answer; an error says why these rows, or these options, do not allow it."""
        settings = (self.level, self.seed, self.draws, self.rule)
        # How often progress is reported, and by how many threads, is no part of the question.
        identity = {
            name: value for name, value in options.items() if name not in ("report", "workers")
        }
        key = (question, settings, _frozen(identity))
        return self.rows.answer(key, partial(self.makers[question], self, **options))

    def possible(self, question: str, **options: Any) -> Any:
        """The answer; None where these rows do not allow it."""
        try:
            return self.ask(question, **options)
        except InputError:
            return None

    def reason_against(self, question: str) -> str:
        """Why there is no answer; empty if there is one."""
        try:
            quietly(self.ask, question)
        except InputError as error:
            return str(error)
        return ""

    def estimate(self, key: str, kind: View | None = None) -> Estimate:
        """A measure of the catalogue."""
        estimate: Estimate = self.ask("estimate", measure=key, kind=self.kind(kind))
        return estimate

    def kind(self, kind: Any) -> Any:
        """The view of a matrix that was asked for; None where the rows have one view only."""
        if self.view("confidence").has_choice_of_views:
            return kind
        return None

    def shared(self, question: tuple[Any, ...], compute: Callable[[], Answer]) -> Answer:
        """What is the same at every level, such as draws."""
        return self.rows.answer((*map(_frozen, question), self.seed), compute)

    def is_known(self, question: tuple[Any, ...]) -> bool:
        """Whether :meth:`shared` has found it."""
        return self.rows.has_answered((*map(_frozen, question), self.seed))


class _Itself:
    """An object that is known by itself; the key keeps it, so that no other takes its place."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _frozen(value: Any) -> Hashable:
    """The options of a question as a key.

    A function is known by itself, a calibrator by its parameters, and 1 is neither 1.0 nor True: of
    these some may be refused.
    """
    if isinstance(value, Mapping):
        return tuple((name, _frozen(item)) for name, item in sorted(value.items()))
    if isinstance(value, partial):
        return ("partial", _frozen(value.func), _frozen(value.args), _frozen(value.keywords))
    if isinstance(value, type | MethodType):
        return value
    if isinstance(value, list | tuple):
        return (type(value), *map(_frozen, value))
    if hasattr(value, "get_params"):
        return (type(value), _frozen(value.get_params(deep=False)))
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.hasobject:
            return ("objects", array.shape, _frozen(array.ravel().tolist()))
        return ("array", array.dtype.str, array.shape, array.tobytes())
    if callable(value):
        return _Itself(value)
    try:
        hash(value)
    except TypeError:
        return _Itself(object())  # it may change before it is passed again
    return (type(value), value)
