"""What is to be read, as it was typed: files, columns, and what they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.typing import Missing, WeightType

StatedKind: TypeAlias = Literal["interval", "quantiles", "horizon"]

LOG_FIELDS = (
    "label_field",
    "confidence_field",
    "rows_field",
    "text_field",
    "answer_field",
    "target_field",
    "id_field",
    "targets",
)
"""The options that name fields of a log, and the key of its answers."""
STATEMENT_OPTIONS = (
    "outcome",
    "lower",
    "upper",
    "coverage",
    "quantiles",
    "followup",
    "event",
    "horizon",
)
"""The options of intervals, quantiles and risks by a horizon."""
EVERY = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
"""How dates are taken together, and the names of these periods."""
_NEED_ALL_ROWS = (
    "by",
    "cluster",
    "model_column",
    "outcome",
    "lower",
    "quantiles",
    "horizon",
)
_LARGE = 256 * 1000 * 1000  # bytes; larger files are read in pieces


@dataclass(frozen=True)
class Request:
    """The options about files, columns and their meaning.

    The request of a data set is complete: it names the columns that were guessed, and those that a
    log or the demo data have by themselves.
    """

    files: tuple[str, ...] = ()
    """Files whose rows form one data set; none for the demo data."""
    rows: int = 10_000
    seed: int = 0
    label: str | None = None
    own_labels: tuple[str, ...] = ()
    """The column of labels of each model, if there are several."""
    probs: tuple[str, ...] = ()
    matrices: tuple[str, ...] = ()
    weight: str | None = None
    weight_type: "WeightType" = "auto"
    by: tuple[str, ...] = ()
    model_column: str | None = None
    """The column that says whose score and label a row has; `pair` says which rows of two models
    belong together."""
    pair: str | None = None
    over: str | None = None
    cluster: str | None = None
    judge: str | None = None
    grades: str | None = None
    pos_label: str | None = None
    labels: tuple[str, ...] | None = None
    missing: "Missing" = "raise"
    from_logits: bool = False
    clip_tolerance: float = 0.0
    sum_tolerance: float | None = None
    input_format: str | None = None
    separator: str | None = None
    decimal: str = "."
    percent: bool = False
    scorer: str | None = None
    confidence: str | None = None
    label_field: str | None = None
    confidence_field: str | None = None
    rows_field: str | None = None
    text_field: str | None = None
    answer_field: str | None = None
    target_field: str | None = None
    id_field: str | None = None
    targets: str | None = None
    """A CSV file with the right answer of each id."""
    multilabel: bool = False
    """Whether `label` and the one of `matrices` name a column for each of several labels."""
    outcome: str | None = None
    lower: tuple[str, ...] = ()
    upper: tuple[str, ...] = ()
    coverage: float | None = None
    quantiles: tuple[str, ...] = ()
    followup: str | None = None
    event: str | None = None
    horizon: float | None = None

    @classmethod
    def of_state(cls, about: Mapping[str, Any], files: Sequence[str] = ()) -> "Request":
        """The request of a watch, whose state keeps the columns and statements that were typed."""
        time = about.get("time")
        by = about.get("by") or ()
        prob = about.get("prob")
        stated: dict[str, Any] = {}
        for name in STATEMENT_OPTIONS:
            if name in about:
                value = about[name]
                stated[name] = tuple(value) if isinstance(value, list) else value
        return cls(
            files=tuple(files),
            label=about.get("label"),
            probs=() if prob is None else (prob,),
            by=(time, *by) if time else tuple(by),
            missing=about.get("missing", "raise"),
            **stated,
        )

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that an option names, except those of a matrix."""
        single = (self.label, self.weight, self.over, self.cluster, self.grades)
        return tuple(dict.fromkeys((*filter(None, single), *self.probs, *self.by)))

    @property
    def stated_kind(self) -> StatedKind | None:
        """Which options of statements were typed; those of two kinds are refused."""
        kinds: list[StatedKind] = []
        if self.followup or self.event or self.horizon is not None:
            kinds.append("horizon")
        if self.quantiles:
            kinds.append("quantiles")
        if self.lower or self.upper or self.coverage is not None:
            kinds.append("interval")
        if len(kinds) > 1:
            got = f"got those of {' and '.join(kinds)}"
            raise InputError("", "Options of one kind of statement must be given", got)
        if kinds:
            return kinds[0]
        return None if self.outcome is None else "interval"

    def typed(self, *names: str) -> dict[str, str]:
        """Some of the options as they are typed, without those at their defaults."""
        values = {}
        for name in names:
            value = getattr(self, name)
            if value != getattr(Request, name):
                values[f"--{name.replace('_', '-')}"] = value
        return values

    def reads_pieces(self, stream: bool | None, size: int) -> bool:
        """Whether a file of this size is read in pieces: as `--stream` says.

        By default, if the file is large and no option needs all rows.
        """
        need_all = [name for name in _NEED_ALL_ROWS if getattr(self, name)]
        if stream is None:
            return size > _LARGE and not need_all
        if stream and need_all:
            raise InputError(
                f"--{need_all[0].replace('_', '-')}",
                "needs all rows at once",
                "leave `--stream` out",
            )
        return stream


@dataclass(frozen=True)
class Group:
    """Rows that share a value of a column; all rows if there is no column."""

    by: str | None = None
    value: object = None

    @classmethod
    def of_sums(cls, by: object, key: object) -> "Group":
        """A group of an Accumulator; names of several columns are joined."""
        from trueness._tally.group_keys import group_text

        return cls(group_text(by), key if not isinstance(key, tuple) else group_text(key))

    def __str__(self) -> str:
        if self.by is None:
            return ""
        return f"{self.by} = {self.value}"

    def name(self, model: str) -> str:
        return ", ".join(filter(None, [model, str(self)]))

    def entry(self) -> dict[str, object]:
        """The cells that name the group in a table; none for all rows."""
        if self.by is None:
            return {}
        return {"by": self.by, "group": self.value}


@dataclass(frozen=True)
class Model:
    """The scores of one model: a vector, or a matrix in one array or in several columns."""

    name: str
    columns: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    """Names of the columns, or what the star of a pattern matched; None if one column was named."""
    starred: bool = False
    label: str | None = None
    """The column of the model's own labels, if models have different ones."""

    @property
    def in_words(self) -> str:
        """What messages call the scores."""
        return f"{'column' if len(self.columns) == 1 else 'scores'} {self.name!r}"
