"""Errors, as records with fields that each front end renders in its own words, and warnings."""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

__all__ = [
    "InputError",
    "MissingLibraryError",
    "Place",
    "Remedy",
    "TruenessError",
    "Wording",
    "remedies",
]
__all__ += [
    "CertainScoresWarning",
    "DroppedRowsWarning",
    "FewClustersWarning",
    "FewRowsWarning",
    "MovedScoresWarning",
]
__all__ += [
    "NoEstimateWarning",
    "NotConvergedWarning",
    "OneClassWarning",
    "OwnRowsWarning",
    "SelectedRowsWarning",
]
__all__ += ["SeparableWarning", "TiedScoresWarning", "TruenessWarning", "warn"]

# Records are named tuples: this file is imported by every call, and dataclasses take milliseconds
# to load.

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LONGEST = 2_000
# Inside a text, an argument stands in backticks, with its value or without: `missing="drop"`.
_REFERENCE = re.compile(r"`([a-z_][a-z_0-9]*)(?:=([^`]*))?`")


def visible(text: str) -> str:
    r"""The text with control characters, and others that cannot be seen, spelled out.

    >>> print(visible("a\x1b[31m‮b"))
    a\x1b[31m\u202eb
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def capital(text: str) -> str:
    """The sentence with a capital, unless it starts with a file name or another non-word.

    >>> capital("column 'p' is empty."), capital("rows.csv is empty.")
    ("Column 'p' is empty.", 'rows.csv is empty.')
    >>> capital("runs/a has no log.")
    'runs/a has no log.'
    """
    if re.match(r"[a-z-]+[ ,;]", text):
        return text[:1].upper() + text[1:]
    return text


def visible_json(text: str) -> str:
    r"""JSON that means the same, with characters that cannot be seen as escapes.

    >>> print(visible_json('"a\u202e\x9b"'))
    "a\u202e\u009b"
    """
    import json  # only here, as `import trueness` reads this file

    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def did_you_mean(
    typed: object, words: Iterable[str], other: Mapping[str, str] = MappingProxyType({})
) -> str:
    """A remedy for a misspelt word: the nearest of those allowed, or nothing.

    `other` maps other names to ours.

    >>> did_you_mean("Isotnic", ("isotonic", "mass"))
    "Did you mean 'isotonic'?"
    >>> did_you_mean("quantile", (), {"quantile": "mass:10"})
    "Did you mean 'mass:10'?"
    >>> did_you_mean("xyz", ("isotonic", "mass"))
    ''
    """
    from difflib import get_close_matches  # only when something is wrong

    names = {str(word).lower(): word for word in words} | dict(other)
    near = get_close_matches(str(typed).lower(), names, n=1)
    if near:
        return f"Did you mean {names[near[0]]!r}?"
    return ""


class Place(NamedTuple):
    """Where a bad value is: its row, and its column in a matrix. Both count from 0."""

    row: int
    column: int | None = None

    def __str__(self) -> str:
        if self.column is None:
            return f"row {self.row}"
        return f"row {self.row}, column {self.column}"


class Remedy(NamedTuple):
    """Advice that other front ends word differently.

    `text` is the sentence for a caller of the library. The command line, the calibrators and the
    tensor metrics may have their own sentence for each `name`, with `value` filled in (``{value}``,
    ``{value!r}``); else they use `text`.

    The names:

    ``drop-missing``
        Labels, scores or weights are missing; the rows could be left out.
    ``clip``
        Scores leave [0, 1] by so little that it may be rounding. The value: tolerance, e.g.
        "3e-16".
    ``sum-tolerance``
        Rows miss the sum 1 by so little that it may be rounding. The value: tolerance, e.g.
        "2e-05".
    ``divide-rows``
        Rows look like counts or shares that do not sum to 1.
    ``multilabel``
        Columns may be labels of their own: rows do not sum to 1.
    ``from-logits``
        Scores look like logits.
    ``percent``
        Scores look like percentages.
    ``swapped``
        Labels and scores were passed in the wrong order.
    ``pos-label``
        Two labels (or one) that are not 0/1; one of them is the event. The value: the likely event.
    ``labels-order``
        Class labels are not codes; their column order must be stated. The value: list of labels,
        or None.
    ``matrix``
        Several classes with a vector of scores.
    ``column-stack``
        A matrix of two columns is needed, a vector of scores was passed.
    ``rescale-weights``
        The largest weight is too large or too small to be squared.
    ``input-logits``
        Scores look like logits, and the calibrator has an option for them.
    ``temperature``
        Scores look like logits, which this calibrator does not take.
    ``one-vs-rest``
        A matrix was passed to a calibrator of one score.
    """

    name: str
    text: str
    value: object = None

    def __str__(self) -> str:
        return self.text


class Wording(NamedTuple):
    """How another front end words the same error."""

    arguments: Mapping[str, str] = MappingProxyType({})
    """The words for an argument, such as ``{"y_prob": "column 'p'"}``."""
    remedies: Mapping[str, str] = MappingProxyType({})
    """Sentences by the name of a remedy; ``{value}`` is filled in, an empty one says nothing."""
    place: Callable[[Place], str] = str
    option: Callable[[str, str | None], str] | None = None
    """How an argument that is not in `arguments` is written: a function of its name and value."""

    def spell(self, text: str) -> str:
        """A text with its references to arguments replaced."""
        return _REFERENCE.sub(self._reference, text)

    def _reference(self, found: re.Match[str]) -> str:
        name = found[1]
        value = found[2]
        if value is None and name in self.arguments:
            return self.arguments[name]
        if self.option is None:
            return found[0]
        return self.option(name, value)

    def remedy(self, remedy: "Remedy | str") -> str:
        """The way out, in these words."""
        if isinstance(remedy, Remedy) and remedy.name in self.remedies:
            return self.remedies[remedy.name].format(value=remedy.value)
        return self.spell(str(remedy)).strip()


_OWN = Wording()


class TruenessError(Exception):
    """Base class of all errors that trueness raises on purpose."""


class InputError(TruenessError, ValueError):
    """An argument is not acceptable; the message says why, where, and what to do.

    Parameters
    ----------
    argument : str
        The argument's name, without backticks; empty if no single argument is at fault.
    demand : str
        What it must be, as the rest of a sentence: ``"must lie in [0, 1]"``. Without an argument,
        the whole sentence. No full stop.
    got : str
        What was passed instead, as a clause: ``"3 of 1,000 values do not, the first is 1.2"``.
    place : Place, optional
        Where the first bad value is.
    remedy : Remedy or str
        The way out, as a sentence of its own.
    context : str
        The file, model or group that the sentence is about, put before it with a colon.

    Examples
    --------
    >>> got = "1 of 3 values does not, the first is 1.2"
    >>> error = InputError("y_prob", "must lie in [0, 1]", got, place=Place(1))
    >>> print(error)
    `y_prob` must lie in [0, 1]; 1 of 3 values does not, the first is 1.2 at row 1.
    >>> wording = Wording({"y_prob": "column 'p'"}, place=lambda place: f"{place} of scores.csv")
    >>> print(error.render(wording))
    Column 'p' must lie in [0, 1]; 1 of 3 values does not, the first is 1.2 at row 1 of scores.csv.
    """

    def __init__(
        self,
        argument: str,
        demand: str = "",
        got: str = "",
        *,
        place: Place | None = None,
        remedy: Remedy | str = "",
        context: str = "",
    ) -> None:
        self.argument = argument
        self.demand = demand
        self.got = got
        self.place = place
        self.remedy = remedy
        self.context = context
        super().__init__(argument, demand, got)

    def __str__(self) -> str:
        return self.render(_OWN)

    def but(self, **fields: object) -> "InputError":
        """The same error with some fields changed."""
        return type(self)(**{**vars(self), **fields})

    def within(self, context: str) -> "InputError":
        """The same error, with the file, model or group it is about."""
        return self.but(context=f"{context}: {self.context}" if self.context else context)

    def render(self, wording: Wording) -> str:
        """The sentence in the words of another front end."""
        if not self.demand:
            sentence = self.argument
        else:
            subject = wording.spell(f"`{self.argument}` ") if self.argument else ""
            got = f"; {wording.spell(self.got)}" if self.got else ""
            where = f" at {wording.place(self.place)}" if self.place is not None else ""
            remedy = wording.remedy(self.remedy)
            sentence = f"{subject}{wording.spell(self.demand)}{got}{where}."
            if remedy:
                sentence += f" {remedy}"
        if self.context:
            sentence = f"{self.context}: {sentence}"
        elif wording is not _OWN:
            sentence = capital(sentence)
        if len(sentence) > _LONGEST:  # a value or a name that is a file by itself
            sentence = f"{sentence[: _LONGEST // 2]} … {sentence[-_LONGEST // 3 :]}"
        # Names of models, columns and files come from anywhere, and a message goes to a terminal.
        if sentence.isprintable():
            return sentence
        return "\n".join(map(visible, sentence.split("\n")))


@contextmanager
def in_context(context: str) -> Iterator[None]:
    """Put the file, model or group before the errors raised inside, unless it is empty."""
    try:
        yield
    except InputError as error:
        raise (error.within(context) if context else error) from None


@contextmanager
def remedies(instead: Mapping[str, Remedy]) -> Iterator[None]:
    """Replace the ways out of errors raised inside, by name.

    ``{value}`` in a text is the value of the old one.
    """
    try:
        yield
    except InputError as error:
        old = error.remedy
        if not isinstance(old, Remedy) or old.name not in instead:
            raise
        new = instead[old.name]
        raise error.but(
            remedy=Remedy(new.name, new.text.format(value=old.value), old.value)
        ) from None


class MissingLibraryError(TruenessError, ImportError):
    """An optional library is not installed; the message says how to install it."""


class TruenessWarning(UserWarning):
    """Base class of all warnings of trueness; a result is still returned."""


class OneClassWarning(TruenessWarning):
    """All labels are equal."""


class FewClustersWarning(TruenessWarning):
    """There are so few clusters, or one is so large, that confidence levels do not hold."""


class FewRowsWarning(TruenessWarning):
    """There are fewer rows than bins, or too few rows of a score or a class."""


class DroppedRowsWarning(TruenessWarning):
    """Rows with missing values (``missing="drop"``) or groups below `min_rows` were left out."""


def dropped_rows(dropped: int, rows: int, what: str = "a missing value") -> str:
    """The sentence about rows that were dropped."""
    have, were = ("has", "was") if dropped == 1 else ("have", "were")
    return f"{dropped:,} of {rows:,} rows {have} {what} and {were} dropped."


class CertainScoresWarning(TruenessWarning):
    """Scores of exactly 0 or 1 are left out, because their logit is infinite."""


class MovedScoresWarning(TruenessWarning):
    """Scores of exactly 0 or 1 were moved inwards, because their logit is infinite."""


class WeightsWarning(TruenessWarning):
    """Weights are whole numbers and were taken as counts of rows, without being declared so."""


class NoEstimateWarning(TruenessWarning):
    """The data do not determine the number; nan is returned."""


class NotConvergedWarning(TruenessWarning):
    """A search ended before it reached the optimum; its last value is returned."""


class OwnRowsWarning(TruenessWarning):
    """A calibrator is evaluated on the rows it was fitted on."""


class TiedScoresWarning(TruenessWarning):
    """Scores are tied, but a guarantee assumes that none are."""


class SelectedRowsWarning(TruenessWarning):
    """Rows with a human label differ from the others."""


class SeparableWarning(TruenessWarning):
    """The labels are separable, or do not determine the map; a finite map is returned."""


Given: TypeAlias = list[tuple[type[TruenessWarning], str]]
# Who takes the warnings of this thread, the last first: not the interpreter's filters, which all
# threads share.
_TAKERS: ContextVar[tuple[tuple[tuple[type[TruenessWarning], ...], Given], ...]] = ContextVar(
    "takers", default=()
)


@contextmanager
def collected_warnings(*kinds: type[TruenessWarning]) -> Iterator[Given]:
    """A list of the warnings given inside, which the caller does not see.

    By default it has all kinds of the library's warnings.
    """
    given: Given = []
    token = _TAKERS.set((*_TAKERS.get(), (kinds or (TruenessWarning,), given)))
    try:
        yield given
    finally:
        _TAKERS.reset(token)


_BETWEEN = {
    "trueness",
    "contextlib",
    "functools",
    "joblib",
    "sklearn",
}  # whose lines stand before the caller's


def warn(message: str, category: type[TruenessWarning]) -> None:
    """Give a warning that points at the caller's line, not at one of ours.

    Unless it is collected.
    """
    for kinds, given in reversed(_TAKERS.get()):
        if issubclass(category, kinds):
            given.append((category, visible(message)))
            return
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        if sys._getframe(depth).f_back is None:
            break
        depth += 1
    warnings.warn(visible(message), category, stacklevel=depth + 1)


def quietly(
    function: Callable[Parameters, Result],
    *arguments: Parameters.args,
    **options: Parameters.kwargs,
) -> Result:
    """Call a function without the library's warnings, which have been given already."""
    with collected_warnings():
        return function(*arguments, **options)
