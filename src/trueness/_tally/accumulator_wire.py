"""The bytes of an accumulator: a header in JSON and the sums of each group. Reading them executes nothing.

``TNTALLYS``, a byte with the number of the format, the length of the header (varint) and the header, the sums of each
group as long as the header says (the bytes of a sketch, or the JSON of a tally or of bins), and the CRC-32 of all that.
"""

import json
import math
import reprlib
from collections.abc import Mapping
from typing import Any

from trueness._tally.sketch import Sketch
from trueness._tally.sketch_wire import header_bytes, read_header, refuse, sealed, unsealed
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError

__all__ = ["from_bytes", "order", "plain", "refuse", "to_bytes"]

_MAGIC = b"TNTALLYS"
_VERSION = 2
_KEYS = {"bins", "options", "other_label", "by", "about", "position", "groups"}
_FORMS = {"sketch": Sketch, "tally": Tally, "binned": Binned}


def plain(value: Any, name: str) -> Any:
    """The value, if JSON brings it back as it is."""
    try:
        back = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        back = None
    if back != value:
        raise InputError(
            name, "must be ready for JSON: text, numbers, lists and dicts of these", f"got {reprlib.repr(value)}"
        )
    return back


def order(key: Any) -> tuple[str, Any]:
    """By type, then by value."""
    return type(key).__name__, 0 if key is None else key


def to_bytes(header: Mapping[str, Any], groups: Mapping[Any, Tally | Binned | Sketch]) -> bytes:
    """Write the settings and the sums of each group."""
    pieces = [sums.to_bytes() if isinstance(sums, Sketch) else _text(sums) for sums in groups.values()]
    described = [
        [key, type(sums).__name__.lower(), len(piece)]
        for (key, sums), piece in zip(groups.items(), pieces, strict=True)
    ]
    return sealed(_MAGIC, _VERSION, header_bytes({**header, "groups": described}) + b"".join(pieces))


def _text(sums: Tally | Binned) -> bytes:
    return sums.to_json().encode("utf-8", "surrogatepass")


def from_bytes(data: bytes) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Read and check what :func:`to_bytes` wrote."""
    header, rest = read_header(unsealed(_MAGIC, _VERSION, data, "tally file"))
    if not isinstance(header, dict) or header.keys() != _KEYS or not isinstance(header["groups"], list):
        refuse("its header is not that of a tally file")
    other = header["other_label"]
    if not isinstance(header["options"], dict) or not isinstance(header["about"], dict) or not _is_name(other):
        refuse("its settings are not what they should be")
    groups: dict[Any, Any] = {}
    for one in header["groups"]:
        if not isinstance(one, list) or [type(v) for v in one[1:]] != [str, int] or one[1] not in _FORMS:
            refuse("its groups are not described as they should be")
        key, form, length = one
        if not _is_name(key) or not 0 <= length <= len(rest):
            refuse("its groups are cut off or have no name")
        groups[key] = _sums(form, bytes(rest[:length]))
        rest = rest[length:]
    if rest:
        refuse(f"{len(rest):,} bytes follow its end")
    if len(groups) != len(header["groups"]):
        refuse("two of its groups have one name")
    if len({type(key) for key in groups}) > 1:
        refuse("the names of its groups are of several types")
    return header, groups


def _is_name(value: Any) -> bool:
    """Whether it can name a group or a label."""
    return math.isfinite(value) if isinstance(value, float) else value is None or isinstance(value, str | int | bool)


def _sums(form: str, data: bytes) -> Any:
    if form == "sketch":
        return Sketch.from_bytes(data)
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        refuse("its sums are not text")
    return _FORMS[form].from_json(text)  # type: ignore[attr-defined]  # a tally or bins
