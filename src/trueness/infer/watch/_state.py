"""The stored state of a watch: JSON with the number of its format and a checksum."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trueness.errors import InputError
from trueness.infer.watch._process import ShiftSequence

SCHEMA = 1
"""The number of the format; a reader refuses every other."""
_WHAT = "trueness.Watch"
_SETTINGS = ("alpha", "alternatives", "segments", "eps", "name")
_STREAMS = {"mass": np.float64, "best": np.float64, "onset": np.int64, "looks": np.int64, "refuted": np.int64}
_SHIFT = {"alive": np.int64, "mass": np.float64, "likelihood": np.float64}
Found = TypeVar("Found")


def to_json(watch: Any) -> str:
    """The state of a watch."""
    shift = watch._shift
    state = {
        "what": _WHAT,
        "schema": SCHEMA,
        **{name: getattr(watch, name) for name in _SETTINGS},
        "about": watch.about,
        "position": watch.position,
        "alarm": watch.alarm,
        "segmented": watch._segmented,
        "names": list(watch._names),
        "first": watch._first,
        "looks": watch._looks,
        "sums": watch._sums.tolist(),
        "streams": {name: getattr(watch._streams, name).tolist() for name in _STREAMS},
        "shift": None if shift is None else {"looks": shift.looks, **{k: getattr(shift, k).tolist() for k in _SHIFT}},
        "history": {
            name: [[None if v != v else "inf" if v == math.inf else v for v in look] for look in looks]
            for name, looks in watch._history.items()
        },
    }
    return json.dumps({**state, "checksum": _checksum(state)}, allow_nan=False, ensure_ascii=False)


def from_json(cls: Any, text: str) -> Any:
    """A watch with that state."""
    try:
        state = json.loads(text)
    except (ValueError, TypeError, RecursionError) as reason:
        raise InputError("state", "must be the text that `to_json` gave", str(reason)) from None
    if not isinstance(state, dict) or state.get("what") != _WHAT:
        raise InputError("state", "must be the state of a watch", "it is something else")
    if state.get("schema") != SCHEMA:
        raise InputError("state", f"must have format {SCHEMA}", f"got {state.get('schema')!r}")
    if state.pop("checksum", None) != _checksum(state):
        raise InputError("state", "must be as it was written", "its checksum differs: it is damaged or was changed")
    settings = {name: state[name] for name in _SETTINGS}
    watch = cls(settings.pop("alpha"), **{**settings, "segments": settings["segments"] or None})
    watch.about, watch.position, watch.alarm = state["about"], state["position"], state["alarm"]
    watch._segmented, watch._first, watch._looks = state["segmented"], state["first"], state["looks"]
    watch._names = {name: i + 1 for i, name in enumerate(state["names"])}
    watch._sums = np.array(state["sums"], dtype=np.float64)
    _fill(watch._streams, state["streams"], _STREAMS)
    watch._shift = None
    if state["shift"] is not None:
        watch._shift = ShiftSequence(looks=state["shift"]["looks"])
        _fill(watch._shift, state["shift"], _SHIFT)
    for name, looks in state["history"].items():
        watch._history[name] = [
            (place, *(math.nan if v is None else math.inf if v == "inf" else v for v in values))
            for place, *values in looks
        ]
    return watch


def read(path: Path, parse: Callable[[str], Found]) -> Found:
    """Read a file; an error names it."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InputError("", f"{str(path)!r} must be the state of a watch", "it is not text") from None
    except InputError as reason:
        raise reason.within(f"File {str(path)!r}") from None


def _fill(target: Any, stored: dict[str, Any], types: dict[str, Any]) -> None:
    for name, dtype in types.items():
        width = getattr(target, name).shape[1:]
        setattr(target, name, np.array(stored[name], dtype=dtype).reshape(-1, *width))
    target.__dict__.pop("log_evidence", None)


def _checksum(state: dict[str, Any]) -> str:
    text = json.dumps(state, allow_nan=False, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
