"""An assessment as text: the answers of the first screen, one a line."""

from collections.abc import Iterator

from trueness._assess.asked import Asked
from trueness._text.numbers import level_percent
from trueness.errors import quietly
from trueness.results import Verdict


def in_words(a: Asked) -> Iterator[str]:
    """Whether it is calibrated and how far off it is, where, and what to do."""
    verdict: Verdict = quietly(a.ask, "verdict")
    yield f"Calibrated? {verdict.sentence}"
    place = quietly(a.possible, "place")
    if place is not None:
        yield f"Where? {place}"
    yield f"What to do? {quietly(a.ask, 'advice')}"
    yield f"{a.rows.evidence.n:,} rows, level {level_percent(a.level)}, seed {a.seed}."
