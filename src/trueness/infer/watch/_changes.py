"""What differs between a watch and the same made again from its files."""

from typing import Any, NamedTuple

from trueness.infer.watch._watch import Watch

_SHOWN = 12  # looks that are listed


def changes(watch: Watch, again: Watch) -> list[str]:
    """What a replay changed, in sentences."""
    before = _looks_of(watch)
    after = _looks_of(again)
    sentences = []
    for place in dict.fromkeys([*before, *after]):
        old = before.get(place)
        new = after.get(place)
        if old != new:
            sentences.append(f"{place} had {_look_in_words(old)} and has {_look_in_words(new)}.")
    shown = sentences[:_SHOWN]
    if len(sentences) > len(shown):
        shown.append(f"{len(sentences) - len(shown)} more looks differ.")
    state = {True: "an alarm", False: "no alarm"}
    if watch.alarm is not again.alarm:
        shown.append(f"There was {state[watch.alarm]}; now there is {state[again.alarm]}.")
    if not shown:
        return ["The replay gives the same looks."]
    return shown


class _Look(NamedTuple):
    rows: int = 0
    events: float = 0.0
    expected: float = 0.0


def _look_in_words(look: _Look | None) -> str:
    if look is None:
        return "none"
    return f"{look.rows:,} rows with {look.events:g} events"


def _looks_of(watch: Watch) -> dict[Any, _Look]:
    """Rows, events and expected events of each position, to twelve digits."""
    history = watch.history[""]
    looks: dict[Any, _Look] = {}
    columns = (history.n.tolist(), history.observed.tolist(), history.expected.tolist())
    for place, n, events, expected in zip(history.position, *columns, strict=True):
        before = looks.get(place, _Look())
        total = float(f"{before.expected + expected:.12g}")
        looks[place] = _Look(before.rows + n, before.events + events, total)
    return looks
