"""Spoilt files: what reads them returns sound values or refuses them; nothing else is raised.

Files of sums, sums and calibrators as JSON, and tables as CSV and JSON lines are written, spoilt and read.
Some keep a right checksum, so that the checks behind it are reached. Sums that are accepted must be those of possible
rows: their ECE and Brier score lie in [0, 1].

    python fuzz/files.py                  2,000 files, about a minute
    python fuzz/files.py --files 200000 --seed 7      the long run

Each fault is printed, and its file kept under the name `fault-N`; the exit code is 1 if there is any.
"""

import argparse
import copy
import json
import random
import sys
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from time_limit import time_limit

import trueness as tn
from trueness.recalibrate import calibrator_from_dict

PATIENCE = 20
RNG = np.random.default_rng(0)
N = 30
P = RNG.random(N).round(3)
Y = (RNG.random(N) < P).astype(int)
MATRIX = RNG.dirichlet([1, 1, 1], N)
CLASS = np.arange(N) % 3
WEIGHT = RNG.integers(1, 5, N)


class Target(NamedTuple):
    """A file that is right, and the function that reads it."""

    name: str
    content: bytes
    read: Callable[[Path], Any]


def _sums() -> Iterator[tn.Tally | tn.sources.Binned | tn.sources.Sketch]:
    for make in (tn.tally, tn.binned, tn.sketch):
        yield make(Y, P)
        yield make(Y, P, sample_weight=WEIGHT)
        yield make(Y, P, sample_weight=WEIGHT / 3)
        yield make(CLASS, MATRIX)
        yield make(CLASS, MATRIX, kind="top-label")


def _measured(sums: Any) -> None:
    """Raise unless the sums are those of possible rows."""
    if isinstance(sums, tn.Accumulator):
        sums = sums.total
    assert 0 <= sums.n <= 2**53
    if sums.n:
        assert (
            0
            <= tn.ece(sums, bins=sums.parts[0].edges if isinstance(sums, tn.sources.Binned) else 10)
            <= 1 + 1e-9
        )
        if not isinstance(sums, tn.sources.Binned) or sums.parts[0].moments:
            assert 0 <= tn.brier(sums) <= 2 + 1e-9
    type(sums).from_bytes(sums.to_bytes())


def _scanned(path: Path) -> Any:
    return tn.scan(path, label="y", prob="p")


@cache
def targets() -> tuple[Target, ...]:
    """One right file of each kind."""
    found = []
    for sums in _sums():
        kind = type(sums)
        found.append(
            Target("x.tally", sums.to_bytes(), lambda path, kind=kind: _measured(kind.load(path)))
        )
        text = json.dumps(sums.to_dict()).encode()
        found.append(
            Target(
                "sums.json", text, lambda path, kind=kind: _measured(kind.from_dict(_json(path)))
            )
        )
    for bins in ("sketch", "distinct", 4):
        seen = tn.Accumulator(bins, by="g", about={"a": 1})
        seen.update(Y, P, group=CLASS, position=3)
        found.append(
            Target("x.tally", seen.to_bytes(), lambda path: _measured(tn.Accumulator.load(path)))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [
            one.fit(P, Y)
            for one in (tn.PlattScaling(), tn.HistogramBinning(n_bins=3), tn.IsotonicCalibration())
        ]
        fitted += [one.fit(MATRIX, CLASS) for one in (tn.OneVsRest(), tn.TemperatureScaling())]
    for one in fitted:
        found.append(Target("map.json", one.to_json().encode(), tn.load_calibrator))
        found.append(
            Target(
                "map.json", one.to_json().encode(), lambda path: calibrator_from_dict(_json(path))
            )
        )
    rows = [f"{y},{p}" for y, p in zip(Y, P, strict=True)]
    found.append(Target("x.csv", "\n".join(["y,p", *rows, ""]).encode(), _scanned))
    lines = [json.dumps({"y": int(y), "p": float(p)}) for y, p in zip(Y, P, strict=True)]
    found.append(Target("x.jsonl", "\n".join([*lines, ""]).encode(), _scanned))
    return tuple(found)


def _json(path: Path) -> Any:
    """JSON as a program that reads it itself would pass it on; broken JSON is the error of that program."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None


_NUMBERS = [
    0,
    1,
    -1,
    2,
    0.5,
    -0.5,
    1e308,
    -1e308,
    5e-324,
    2**31,
    2**53,
    2**62,
    2**63,
    10**30,
    10**400,
    1.5,
    3,
    7,
]
_VALUES = [
    *_NUMBERS,
    None,
    True,
    False,
    "",
    "x",
    "\x1b[31m",
    "nan",
    [],
    {},
    [[]],
    [None],
    ["a"],
    {"a": 1},
]
_BYTES = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"[" * 5000,
    b"{" * 5000,
    b'"',
    b",",
    b"\n",
    b"\r",
    b"1" * 5000,
]


def spoil(content: bytes, draw: random.Random) -> bytes:
    """A spoilt copy: bytes or values changed, cut, doubled or put in."""
    if content.startswith(b"TNTALLYS") and draw.random() < 0.7:
        return _spoil_sums(content, draw)
    if content[:1] == b"{" and draw.random() < 0.7 and (value := _parsed(content)) is not None:
        for _ in range(draw.choice([1, 1, 2, 3])):
            _spoil_value(value, draw)
        return json.dumps(value).encode()
    return _spoil_bytes(content, draw)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:  # several lines
        return None


def _spoil_bytes(content: bytes, draw: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(data) + 1)
        match draw.randrange(5):
            case 0 if data:
                data[at % len(data)] = draw.randrange(256)
            case 1:
                del data[at : at + draw.randrange(1, 20)]
            case 2:
                data[at:at] = draw.choice(_BYTES)
            case 3:
                data[at:at] = data[at : at + draw.randrange(1, 40)]
            case _:
                data[at : at + 1] = str(draw.choice(_NUMBERS)).encode()
    return bytes(data)


def _spoil_sums(content: bytes, draw: random.Random) -> bytes:
    """Spoil the body of a file of sums, and give it a right length and checksum."""
    body = bytearray(zlib.decompress(content[17:-4]))
    end = 8 + int.from_bytes(body[:8], "little")
    if draw.random() < 0.5:
        header = json.loads(body[8:end])
        _spoil_value(header, draw)
        text = json.dumps(header).encode()
        body[:end] = len(text).to_bytes(8, "little") + text
    else:
        body = bytearray(_spoil_bytes(bytes(body), draw))
    whole = content[:9] + len(body).to_bytes(8, "little") + zlib.compress(bytes(body))
    return whole + zlib.crc32(whole).to_bytes(4, "little")


def _spoil_value(value: Any, draw: random.Random) -> None:
    """Change one entry, at any depth, of nested lists and dicts."""
    while True:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        if not keys:
            return
        key = draw.choice(list(keys))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.85:
            value = inner
            continue
        match draw.randrange(4):
            case 0:
                del value[key]
            case 1 if isinstance(inner, int | float) and abs(inner) < 1e308:
                value[key] = inner + draw.choice([1, -1, 0.5, 1e-6, inner])
            case 2 if isinstance(inner, list):
                inner.append(copy.deepcopy(draw.choice(_VALUES)))
            case _:
                value[key] = copy.deepcopy(draw.choice(_VALUES))
        return


def faults(number: int, seed: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """Spoil and read this many files; returns the faults of those that are not refused as they should be."""
    draw = random.Random(seed)
    for i in range(number):
        target = draw.choice(targets())
        path = folder / target.name
        path.write_bytes(spoil(target.content, draw))
        try:
            with warnings.catch_warnings(), time_limit(PATIENCE):
                warnings.simplefilter("ignore")
                target.read(path)
        except tn.TruenessError as error:
            fault = "a message without an end" if len(str(error)) > 3000 else ""
        except Exception as error:  # anything but a refusal is the fault looked for
            places = [
                f
                for f in traceback.extract_tb(error.__traceback__)
                if "trueness" in f.filename or f.name
            ]
            where = " ← ".join(f"{Path(f.filename).name}:{f.lineno}" for f in places[:-5:-1])
            fault = f"{type(error).__name__}: {str(error)[:160]} [{where}]"
        else:
            fault = ""
        if fault:
            yield f"{target.name}: {fault}", path.replace(folder / f"fault-{i}-{target.name}")


def main() -> int:
    """Run the fuzzer; the number of files and the seed are options."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--files", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    known: dict[str, int] = {}
    for fault, path in faults(asked.files, asked.seed, folder):
        key = fault.rpartition("[")[2]
        known[key] = known.get(key, 0) + 1
        if known[key] == 1:
            print(f"{path}\n    {fault}", flush=True)
    print(f"{asked.files:,} files, {sum(known.values()):,} faults at {len(known):,} places.")
    return int(bool(known))


if __name__ == "__main__":
    sys.exit(main())
