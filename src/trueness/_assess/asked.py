"""What is asked about one model: its rows, the settings of every answer, and the memo."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MethodType
from typing import Any, Generic, TypedDict, TypeVar, Unpack, cast

import numpy as np

from trueness._assess.rows import ModelRows
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.multiclass import View
from trueness._tally.rules import BinRule
from trueness.errors import InputError, quietly
from trueness.results import (
    Advice,
    BinTable,
    Coverage,
    Estimate,
    Gate,
    Interval,
    LevelHistogram,
    NoiseFloor,
    Panel,
    PriorShift,
    Remedies,
    Segments,
    Significance,
    Slices,
    Verdict,
)
from trueness.results._first_screen import Answer as PlaceInWords
from trueness.results._segments import ClassRow
from trueness.results._verdict import DetectionPower

Answer = TypeVar("Answer")
Makers = Mapping[str, Callable[..., object]]


class Name(str, Generic[Answer]):
    """The name of a question, which knows the type of its answer."""

    __slots__ = ()


class Changes(TypedDict, total=False):
    """The settings that may differ between questions about the same rows."""

    rows: ModelRows
    level: float
    draws: int | None


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

    def but(self, **changes: Unpack[Changes]) -> "Asked":
        """The same with other settings; the memo is shared."""
        return replace(self, **changes)

    def view(self, kind: View, two_columns: TwoColumns = "binary") -> Evidence:
        """The rows as a question reads them; what two columns are depends on the question."""
        return self.rows.view(kind, two_columns)

    def ask(self, question: Name[Answer], **options: object) -> Answer:
        """The answer; an error says why these rows, or these options, do not allow it."""
        settings = (self.level, self.seed, self.draws, self.rule)
        # How often progress is reported, and by how many threads, is no part of the question.
        identity = {
            name: value for name, value in options.items() if name not in ("report", "workers")
        }
        key = (question, settings, _frozen(identity))
        maker = cast(Callable[..., Answer], self.makers[question])
        return self.rows.answer(key, partial(maker, self, **options))

    def possible(self, question: Name[Answer], **options: object) -> Answer | None:
        """The answer; None where these rows do not allow it."""
        try:
            return self.ask(question, **options)
        except InputError:
            return None

    def reason_against(self, question: Name[Any]) -> str:
        """Why there is no answer; empty if there is one."""
        try:
            quietly(self.ask, question)
        except InputError as error:
            return str(error)
        return ""

    def estimate(self, key: str, kind: View | None = None) -> Estimate:
        """A measure of the catalogue."""
        return self.ask(ESTIMATE, measure=key, kind=self.kind(kind))

    def kind(self, kind: View | None) -> View | None:
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


TEST = Name[Significance]("test")
INTERVAL = Name[Interval]("interval")
POWER = Name[DetectionPower | None]("power")
PRIOR_SHIFT = Name[PriorShift | None]("prior_shift")
VERDICT = Name[Verdict]("verdict")
ESTIMATE = Name[Estimate]("estimate")
FLOOR = Name[NoiseFloor]("floor")
BINS = Name[BinTable]("bins")
PLACE = Name[PlaceInWords | None]("place")
PANEL = Name[Panel | None]("panel")
SEGMENTS = Name[Segments | None]("segments")
SLICES = Name[Slices | None]("slices")
CLASS_ROWS = Name[tuple[ClassRow, ...] | None]("class_rows")
CLASSES = Name[dict[str, Asked]]("classes")
GATE = Name[Gate]("gate")
REMEDIES = Name[Remedies | None]("remedies")
ADVICE = Name[Advice]("advice")
COVERAGE = Name[Coverage | None]("coverage")
LEVEL_HISTOGRAM = Name[LevelHistogram | None]("level_histogram")


class _Itself:
    """An object that is known by itself; the key keeps it, so that no other takes its place."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _frozen(value: object) -> Hashable:
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
