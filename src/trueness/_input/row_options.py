"""What the arguments that describe rows mean: written once here, and put into the docstring of every function."""

import re
import textwrap
from typing import Any, TypeVar

__all__ = ["spell_out", "spelled_out"]

Documented = TypeVar("Documented", bound=Any)

_TYPES = {
    "y_true": "array-like of shape (n,)",
    "y_prob": "array-like of shape (n,) or (n, K)",
    "kind": "{'classwise', 'confidence', 'top-label'}, default ",
    "labels": "sequence, optional",
    "pos_label": "optional",
    "sample_weight": "array-like of shape (n,), optional",
    "missing": "{'raise', 'drop'}, default 'raise'",
    "clip_tolerance": "float, default 0",
    "sum_tolerance": "float, optional",
    "from_logits": "bool, default False",
    "percent": "bool, default False",
}
_TEXTS = {
    "y_true": "The labels: 0/1, bool, or classes.",
    "y_prob": "The predicted probabilities: P(positive), or one column per class.",
    "bins": "An int is a number of bins of equal width on [0, 1].",
    "norm": (
        "How distances are averaged over bins: weighted mean, root mean square, maximum, or the power mean with any "
        "exponent ≥ 1."
    ),
    "kind": (
        "For a matrix: the mean over classes of each column against the rest; the largest probability of each row (the "
        "first, if tied) against whether that class is the label; or the latter for each predicted class separately, "
        "weighted by how often it is predicted."
    ),
    "labels": (
        "The classes in column order, if labels are not 0 .. K−1. For a vector of scores, two classes, the positive "
        "one last. Without it, columns go by their names if these are classes, then by the order of the categories (a "
        "pandas Categorical, a Polars Enum, an ordered Arrow dictionary; those without rows count), then by the sorted "
        "labels."
    ),
    "pos_label": "The positive label of a vector of scores, if labels are not 0/1.",
    "sample_weight": "Frequencies: a weight of 2 counts the row twice, a weight of 0 leaves it out.",
    "missing": "What to do with rows that have a missing value. Dropping warns with their number.",
    "clip_tolerance": "Scores outside [0, 1] by at most this much are moved to its ends.",
    "sum_tolerance": "How far the sum of a row of a matrix may be from 1; by default 1e-6 (float16: 2e-3).",
    "from_logits": "Whether the scores are logits; then the logistic function, or softmax, is applied first.",
    "percent": "Whether the scores are percentages, from 0 to 100.",
}
_OPTIONS = tuple(_TYPES)[2:]

# An entry of a section of parameters, whose text begins with a reference to `ece`, and the rest of that text.
_ENTRY = re.compile(
    r"^(?P<indent> +)(?P<names>[\w*, ]+?)(?P<type> : [^\n]*)?\n"
    r"(?P=indent)    As for :func:`(?:trueness\.)?(?:ece|tally)`(?P<rest>[^\n]*(?:\n(?P=indent)    [^\n]*)*)$",
    re.MULTILINE,
)


def spelled_out(documented: Documented) -> Documented:
    """Spell out the arguments of a function or class that are "as for ece" in its docstring."""
    documented.__doc__ = documented.__doc__ and spell_out(documented.__doc__)
    return documented


def spell_out(docstring: str, kind: str | None = "classwise") -> str:
    """The docstring with the arguments that are "as for ece" spelled out; `kind` is the default view of a matrix.

    What the entry adds is put behind the option that it is about: the weights, missing values, or else `kind`.
    """

    def entries(found: re.Match[str]) -> str:
        rest = " ".join(found["rest"].split()).lstrip(".,; ")
        rest = rest[:1].upper() + rest[1:]
        names = [name for one in found["names"].split(", ") for name in (_OPTIONS if one == "**rows" else [one])]
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
