"""Options that many functions take: whole numbers, fractions, words and seeds."""

import math
import re
import reprlib
import textwrap
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from trueness.errors import InputError, did_you_mean

_TOO_LARGE = 2**62
Seed: TypeAlias = int | np.random.Generator | None


# The largest numbers that decide how much is computed or stored at once. More is refused before
# anything is allocated.
MOST_RESAMPLES = 10**6
MOST_WORKERS = 1024
MOST_ITERATIONS = 10**6


def checked_whole(
    value: Any, name: str, most: int | None = None, remedy: str = "", *, least: int = 1
) -> int:
    """A whole number of at least `least` and at most `most`."""
    if not _is_whole(value) or value < least:
        raise InputError(name, f"must be a whole number ≥ {least}", f"got {reprlib.repr(value)}")
    if most is not None and value > most:
        got = f"got {value:,}" if value < _TOO_LARGE else f"got {reprlib.repr(value)}"
        raise InputError(name, f"must be at most {most:,}", got, remedy=remedy)
    if value >= _TOO_LARGE:
        raise InputError(name, "must be below 2⁶²", f"got {reprlib.repr(value)}")
    return int(value)


def checked_resamples(value: Any) -> int:
    """The number of resamples."""
    return checked_whole(
        value, "resamples", MOST_RESAMPLES, "A few thousand suffice for most limits and p-values."
    )


def check_jobs(value: Any) -> None:
    """Raise unless it is a number of processes as scikit-learn takes it: None, or negative to leave processors free."""
    if value is not None and not (_is_whole(value) and value and abs(value) <= MOST_WORKERS):
        demand = f"must be None or a whole number other than 0, at most {MOST_WORKERS:,}"
        raise InputError("n_jobs", demand, f"got {reprlib.repr(value)}")


def checked_fraction(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    if (
        not is_real(value) or not 0 < value < 1
    ):  # compared as it is: a whole number may be too large for a float
        raise InputError(name, "must lie strictly between 0 and 1", f"got {value!r}")
    return float(value)


def checked_number(
    value: Any,
    name: str,
    demand: str = "a finite number",
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """A number strictly between `low` and `high`, which `demand` describes."""
    if not is_number(value) or not low < value < high:
        raise InputError(name, f"must be {demand}", f"got {value!r}")
    return float(value)


def is_real(value: Any) -> bool:
    """Whether it is a number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Whether it is a finite number of Python or NumPy, and not a truth value."""
    try:  # not compared with the largest float64: NumPy warns that a float32 cannot hold it
        return is_real(value) and math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def checked_word(value: Any, name: str, words: tuple[str, ...]) -> str:
    """One of the words."""
    if not isinstance(value, str) or value not in words:
        *most, last = map(repr, words)
        demand = f"must be {', '.join(most)} or {last}"
        raise InputError(name, demand, f"got {value!r}", remedy=did_you_mean(value, words))
    return value


def check_flag(value: Any, name: str) -> None:
    """Raise unless it is a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, "must be True or False", f"got {value!r}")


def check_ignore_index(value: Any) -> None:
    """Raise unless it can be a label to ignore."""
    if value is not None and not (_is_whole(value) and abs(value) < 2**64):
        raise InputError(
            "ignore_index", "must be a whole number of 64 bits or None", f"got {value!r}"
        )


def check_seed(seed: Any) -> None:
    """Raise unless it can seed a generator; none is made, since most calls draw nothing."""
    if not (
        seed is None or isinstance(seed, np.random.Generator) or (_is_whole(seed) and seed >= 0)
    ):
        raise InputError(
            "seed", "must be a whole number ≥ 0, a numpy Generator or None", f"got {seed!r}"
        )


def whole_seed(seed: Seed) -> int:
    """The seed as a whole number: a Generator supplies one, and None stands for one from the system."""
    check_seed(seed)
    if seed is None:
        seed = np.random.default_rng()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    return int(seed)


def generator(seed: Seed) -> np.random.Generator:
    """The generator that was passed, or a new one with this seed."""
    check_seed(seed)
    return np.random.default_rng(seed)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


Documented = TypeVar("Documented", bound=Any)
Function = TypeVar("Function", bound=Callable[..., Any])

_TYPES = {
    "y_true": "array-like of shape (n,), (n, L) or (B, …)",
    "y_prob": "array-like of shape (n,), (n, K), (n, L) or (B, K, …)",
    "kind": "{'classwise', 'confidence', 'top-label', 'multilabel'}, default ",
    "labels": "sequence, optional",
    "pos_label": "optional",
    "sample_weight": "array-like of shape (n,), optional",
    "weight_type": "{'auto', 'frequency', 'importance'}, default 'auto'",
    "missing": "{'raise', 'drop'}, default 'raise'",
    "clip_tolerance": "float, default 0",
    "sum_tolerance": "float, optional",
    "from_logits": "bool, default False",
    "percent": "bool, default False",
    "ignore_index": "int, optional",
    "by": "array-like of shape (n,), optional",
    "level": "float, default 0.95",
    "cluster": "array-like of shape (n,), optional",
}
_TEXTS = {
    "y_true": "Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B images.",
    "y_prob": "Predicted probabilities: P(positive), one column per class or label, or dense, with classes second.",
    "bins": "An int means that many bins of equal width on [0, 1].",
    "norm": (
        "How distances are averaged over bins: the weighted mean, the root mean square, the maximum, or the power mean "
        "with any exponent ≥ 1."
    ),
    "kind": (
        "How a matrix is compared with the labels. 'classwise': each column against the rest, averaged over classes. "
        "'confidence': the largest probability of each row (the first, if tied) against whether that class is the "
        "label. 'top-label': the same for each predicted class, weighted by how often it is predicted. 'multilabel': "
        "each column is a binary problem of its own, averaged over labels; never guessed."
    ),
    "labels": (
        "The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes with the positive "
        "one last. By default, columns whose names are the classes are matched by name. Otherwise the columns are in "
        "the order of the categories (of a pandas Categorical, Polars Enum or ordered Arrow dictionary, unused "
        "categories included) or, without categories, in the order of the sorted labels."
    ),
    "pos_label": "The label that a vector of scores predicts, if labels are not 0/1.",
    "sample_weight": "Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.",
    "weight_type": (
        "What weights are, which limits, tests and debiased estimates depend on. 'frequency': whole numbers that count "
        "rows; a weight of 2 is two rows. 'importance': sampling weights in any unit; each row counts once. 'auto' "
        "takes whole numbers for the first, which functions that infer warn of, and other weights for the second."
    ),
    "missing": "What to do with rows that have a missing value: raise an error, or drop them with a warning.",
    "clip_tolerance": "Scores outside [0, 1] by at most this much are set to 0 or 1.",
    "sum_tolerance": "How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.",
    "from_logits": "Whether the scores are logits; the logistic function (softmax for a matrix) is applied first.",
    "percent": "Whether the scores are percentages, from 0 to 100.",
    "ignore_index": "The label of rows that are left out, such as 255 for pixels without a class.",
    "by": "A column of segments: the result is a dict with the value in each of them. :func:`segments` tests them.",
    "level": "Confidence level of all limits.",
    "cluster": "A cluster name for each row; rows of one cluster may depend on each other.",
}
_OPTIONS = tuple(_TYPES)[2:-3]

# An entry of a section of parameters, whose text begins with a reference to `ece`, and the rest of
# that text.
_ENTRY = re.compile(
    r"^(?P<indent> +)(?P<names>[\w*, ]+?)(?P<type> : [^\n]*)?\n"
    r"(?P=indent)    As for :func:`(?:trueness\.)?(?:ece|tally|estimate)`(?P<rest>[^\n]*(?:\n(?P=indent)    [^\n]*)*)$",
    re.MULTILINE,
)


def spelled_out(documented: Documented) -> Documented:
    """Spell out the arguments of a function or class that are "as for ece" in its docstring."""
    documented.__doc__ = documented.__doc__ and spell_out(documented.__doc__)
    return documented


def spell_out(docstring: str, kind: str | None = "classwise", *, by: bool = False) -> str:
    """The docstring with the arguments that are "as for ece" spelled out.

    `kind` is the default view of a matrix.

    Text after the reference is appended to the option that it mentions: the weights, missing
    values, or else `kind`. A measure takes `by`, too.
    """

    def entries(found: re.Match[str]) -> str:
        rest = " ".join(found["rest"].split()).lstrip(".,; ")
        rest = rest[:1].upper() + rest[1:]
        every = (*_OPTIONS, "by") if by else _OPTIONS
        names = [
            name
            for one in found["names"].split(", ")
            for name in (every if one == "**rows" else [one])
        ]
        target = next((name for name in ("sample_weight", "missing") if f"`{name}" in rest), "kind")
        target = target if "kind" in names else names[-1]
        shown = []
        for name in names:
            if name not in _TEXTS:
                return found[0]
            of_type = found["type"] or f" : {_TYPES[name]}{repr(kind) if name == 'kind' else ''}"
            text = f"{_TEXTS[name]} {rest}" if rest and name == target else _TEXTS[name]
            indent = found["indent"]
            lines = textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)
            shown += [f"{indent}{name}{of_type}", *(f"{indent}    {line}" for line in lines)]
        return "\n".join(shown)

    return _ENTRY.sub(entries, docstring)


def labels_and_scores(function: Function) -> Function:
    """Refuse a third argument without a name with a message that shows the call that was meant."""
    name = f"tn.{getattr(function, '__name__', '')}"

    @wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        if len(arguments) > 2:
            demand = f"`{name}` takes labels and scores; all else needs a name"
            got = f"got {len(arguments)} arguments without one"
            raise InputError("", demand, got, remedy=_meant(name, arguments))
        return function(*arguments, **options)

    return cast(Function, checked)


def _meant(name: str, arguments: tuple[Any, ...]) -> str:
    """The call that was probably meant, by what the arguments are."""
    first, second, third, *_ = arguments
    if isinstance(second, str) and isinstance(third, str):
        return f"Pass the columns: `{name}(frame[{second!r}], frame[{third!r}])`."
    if hasattr(first, "predict_proba"):
        return f"Pass labels and scores: `{name}(y, model.predict_proba(X)[:, 1])`."
    if name in ("tn.compare", "tn.report"):
        return f"Pass several models as a dict: `{name}(y_true, {{'a': a, 'b': b}})`."
    return "For several models: `tn.report(y_true, {'a': a, 'b': b})`."
