"""Numbers and text laid out in columns, and made safe for Markdown, CSV and JSON."""

import math
import re
import unicodedata
from collections.abc import Container, Sequence
from typing import Any, Literal, TypeAlias

from trueness.cli._messages import visible

__all__ = ["Form", "aligned", "decimals_for", "escaped", "exact", "finite", "number", "piped", "short", "wide"]

Form: TypeAlias = Literal["count", "fraction", "percent", "number", "part"]

_WIDEST_NAME = 24
_MOST_DECIMALS = 6


def short(name: str, widest: int = _WIDEST_NAME) -> str:
    """A long name with its middle left out: names of models tend to differ at their ends."""
    if len(name) <= widest:
        return name
    half = (widest - 3) // 2
    return f"{name[: half + 1]}...{name[-half:]}"


def aligned(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Columns two spaces apart, each from its left or its right."""
    widths = [max(_width(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            " " * (w - _width(cell)) + cell if from_right else cell + " " * (w - _width(cell))
            for cell, w, from_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def wide(lines: Sequence[Sequence[str]]) -> int:
    """Places that the lines take once aligned."""
    return sum(max(_width(line[i]) for line in lines) + 2 for i in range(len(lines[0]))) - 2


def _width(text: str) -> int:
    """Places that a terminal gives to the text: two for wide letters, none for combining marks."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(escaped("p_a|b <i>"))
    p\_a\|b \<i\>
    """
    return re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", visible(text))


def piped(head: Sequence[str], lines: Sequence[Sequence[str]], right: Container[int]) -> str:
    """A table in Markdown."""
    rule = ["---:" if i in right else ":---" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))


def decimals_for(values: Sequence[float]) -> int:
    """Four, or as many as leave three digits of the smallest value: one number for all models, so that they compare."""
    sizes = [abs(v) for v in values if math.isfinite(v) and v != 0]
    return 4 if not sizes else min(max(4, 2 - math.floor(math.log10(min(sizes)))), _MOST_DECIMALS)


def number(value: float, form: Form, decimals: int) -> str:
    """A number as a table shows it."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if form == "count":
        return f"{value:,.0f}"
    if form == "percent":
        return f"{value:.1f} %"
    if 0 < abs(value) < 0.5 * 10**-_MOST_DECIMALS and form != "number":
        return f"{value:.2e}"
    return f"{value:,.{decimals}f}"


def exact(value: float) -> str:
    """Every digit; nothing for what is not a number."""
    return "" if math.isnan(value) else repr(value)


def finite(value: Any) -> Any:
    """What JSON can hold: null for nan and infinity."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
