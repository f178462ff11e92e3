"""The receipt of a gate: what was asked, found and decided."""

import json
import math
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trueness as tn
from trueness._text.strings import json_ready
from trueness.cli._printing import Output, write
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.results import Gate

WHAT = "trueness gate receipt"
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars")
_CLOSE = 1e-9
"""Numbers of another machine may differ in their last bits."""


def write_receipt(path: str, receipt: dict[str, Any]) -> None:
    """Write a receipt as JSON."""
    write(path, json.dumps(receipt, indent=2, allow_nan=False) + "\n", "--receipt")


def receipt_of(
    gate: "Gate", options: dict[str, Any], digest: str, output: Output
) -> dict[str, Any]:
    """The receipt as JSON has it."""
    from trueness.results._gate import DEFINITIONS

    libraries = {name: version(name) for name in _LIBRARIES}
    receipt: dict[str, Any] = json_ready(
        {
            "schema": 1,
            "what": WHAT,
            "version": tn.__version__,
            "versions": {"python": platform.python_version(), **libraries},
            "digest": digest,
            "asked": options,
            "definition": DEFINITIONS,
            **output.data,
            "outcome": gate.outcome,
            "headline": gate.headline,
        }
    )
    return receipt


def read_receipt(path: str) -> dict[str, Any]:
    """A receipt, as far as its form can be checked."""
    try:
        receipt = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as reason:
        raise InputError("", f"{path} must be the receipt of a gate", str(reason)) from None
    if not isinstance(receipt, dict) or receipt.get("what") != WHAT:
        raise InputError("", f"{path} must be the receipt of a gate", "it is something else")
    if receipt.get("schema") != 1:
        raise InputError("", f"{path} must have schema 1", f"got {receipt.get('schema')!r}")
    needed = ("asked", "digest", "version", "findings", "outcome")
    lacking = [name for name in needed if name not in receipt]
    if lacking or "files" not in receipt["asked"]:
        raise InputError("", f"{path} must be a whole receipt", f"it lacks {lacking or ['files']}")
    return receipt


def differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What differs, in sentences."""
    if before["digest"] != now["digest"]:
        yield "The rows differ: their digest is another one."
    if before["outcome"] != now["outcome"]:
        yield f"The outcome was {before['outcome']!r}; now it is {now['outcome']!r}."
    findings = before["findings"]
    if len(findings) != len(now["findings"]):
        yield f"There were {len(findings)} findings; now there are {len(now['findings'])}."
        return
    for old, new in zip(findings, now["findings"], strict=True):
        names = (new.get("group"), new.get("model"), new.get("quantity"))
        where = ", ".join(str(name) for name in names if name)
        for key in dict.fromkeys([*old, *new]):
            if key != "reason" and not _is_same(old.get(key), new.get(key)):
                yield f"{where}: {key} was {old.get(key)!r}; now it is {new.get(key)!r}."


def _is_same(old: object, new: object) -> bool:
    if isinstance(old, float) and isinstance(new, float | int):
        return math.isclose(old, new, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return bool(old == new)
