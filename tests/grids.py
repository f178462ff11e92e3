"""Grids of cases: the fast run takes those that are named where the test is written, the slow run takes all."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def slow(*cases: Any) -> list[Any]:
    """Cases of one argument that only the slow run takes."""
    return [pytest.param(case, marks=pytest.mark.slow) for case in cases]


def fast(cases: Mapping[str, Any] | Iterable[Any], *names: str, several: bool = False) -> list[Any]:
    """All cases; only the slow run takes those that are not named, by their key or by what `str` makes of them.

    A case is the value of one argument or, with `several`, a tuple of the values of several.
    """
    named = dict(cases) if isinstance(cases, Mapping) else {str(case): case for case in cases}
    assert set(names) <= named.keys(), f"there is no case {set(names) - named.keys()}"
    return [
        pytest.param(
            *(case if several else (case,)),
            id=name,
            marks=() if name in names else pytest.mark.slow,
        )
        for name, case in named.items()
    ]
