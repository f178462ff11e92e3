"""Forged sums: one number of a file is changed and its checksum made again; what is still accepted must be possible.

Each measure of accepted sums must lie in its range, each test and interval must answer or refuse.

    python fuzz/forged.py                       every eighth number, with two values each: minutes
    python fuzz/forged.py --step 1 --values 30  each number of each column, with all values: an hour

Each fault is printed; the exit code is 1 if there is any.
"""

import argparse
import copy
import math
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from time_limit import time_limit

import trueness as tn
from trueness._tally import store

PATIENCE = 60
ROUNDING = 1e-8  # of a measure of sums, each of which may be off by 1e-9 of its weight
RNG = np.random.default_rng(44)
N = 24
P = np.concatenate([[0.0, 1.0, 0.25, 0.25], RNG.random(N - 8), 10.0 ** -np.arange(3, 7)])
Y = (RNG.random(N) < P).astype(int)
MATRIX = RNG.dirichlet([1, 1, 1], N)
CLASS = np.arange(N) % 3
SEVERAL = (RNG.random((N, 2)) < 0.5).astype(int)
CLUSTER = np.arange(N) // 2
WEIGHTS = {"unweighted": None, "whole": RNG.integers(1, 5, N), "fractional": RNG.random(N) + 0.1}

Sums = tn.Tally | tn.sources.Binned | tn.sources.Sketch | tn.Accumulator


def originals() -> Iterator[tuple[str, Sums]]:
    """Sums of each form, view and kind of weights."""
    for weights, w in WEIGHTS.items():
        for make in (tn.tally, tn.binned, tn.sketch):
            name = f"{make.__name__}, {weights}"
            own = {"bins": 4} if make is tn.binned else {}
            yield name, make(Y, P, sample_weight=w, **own)
            yield (
                f"{name}, clusters",
                make(Y, P, sample_weight=w, cluster=CLUSTER, buckets=32, **own),
            )
            for kind in ("classwise", "confidence", "top-label"):
                yield f"{name}, {kind}", make(CLASS, MATRIX, sample_weight=w, kind=kind, **own)
            yield (
                f"{name}, multilabel",
                make(SEVERAL, MATRIX[:, :2], sample_weight=w, kind="multilabel", **own),
            )
        yield (
            f"merged bins, {weights}",
            tn.binned(Y, P, bins=4) + tn.binned(Y, P, bins=4, sample_weight=w),
        )
        for bins in ("sketch", "distinct", 4):
            seen = tn.Accumulator(bins, by="group")
            seen.update(Y, P, sample_weight=w, group=CLASS, position=3)
            yield f"accumulator of {bins}, {weights}", seen


class Place(NamedTuple):
    """One number of a header whose parts hold arrays."""

    path: tuple[Any, ...]
    at: tuple[int, ...]


def header_of(sums: Sums) -> Any:
    """What is written of the sums, before it is packed."""
    form = type(sums).__name__.lower()
    if isinstance(sums, tn.Accumulator):
        return store.unpack(sums.to_bytes(), form)
    header = {"what": form, **store.describe(sums)}
    parts = [
        {name: np.array(v) if isinstance(v, np.ndarray) else v for name, v in f.items()}
        for f in header["parts"]
    ]
    return {**header, "parts": parts}  # two columns may be one array


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[Place]:
    """Each number of each column, and each plain number of the header."""
    if isinstance(value, np.ndarray):
        for at in np.ndindex(value.shape):
            yield Place(path, at)
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Place(path, ())


def forged_values(value: float) -> list[float]:
    """Numbers that somebody may write in place of another."""
    near = [
        value * (1 + change) for change in (1e-10, -1e-10, 1e-8, -1e-8, 1e-3, -1e-3, 0.5, -0.5, 1)
    ]
    beside = [
        value + 1,
        value - 1,
        value + 0.1,
        np.nextafter(value, math.inf),
        np.nextafter(value, -math.inf),
    ]
    fixed = [
        0,
        1,
        -1,
        0.5,
        7,
        24,
        1e-300,
        5e-324,
        1e-12,
        1e4,
        1e9,
        2.0**26,
        2.0**36,
        2.0**52,
        2.0**62,
        1e100,
        1e300,
    ]
    return [*near, *beside, *fixed]


def number_at(header: Any, place: Place) -> float:
    """The number that stands there."""
    inner = header
    for key in place.path:
        inner = inner[key]
    return float(inner[place.at] if isinstance(inner, np.ndarray) else inner)


def forge(header: Any, place: Place, number: float) -> bool:
    """Put the number into its place; whether that can be done, and changes it."""
    *path, last = place.path
    for key in path:
        header = header[key]
    inner = header[last]
    if not isinstance(inner, np.ndarray):
        header[last] = int(number) if isinstance(inner, int) else number
        return bool(header[last] != inner)
    is_whole = inner.dtype.kind == "i"
    if is_whole and abs(number) >= 2.0**63:
        return False
    before = inner[place.at].item()
    inner[place.at] = round(number) if is_whole else number
    return bool(inner[place.at] != before)


@cache
def ranges() -> dict[str, tuple[Callable[..., Any], float, float]]:
    """Measures, and where their values lie."""
    unit = {
        name: (getattr(tn.measure, name), 0.0, 1.0)
        for name in ("mce", "auc", "ici", "emax", "smooth_ece")
    }
    estimated = {
        name: (
            lambda sums, name=name, **options: tn.estimate(name, sums, **options).value,
            low,
            high,
        )
        for name, low, high in (("prevalence", 0.0, 1.0), ("accuracy", 0.0, 1.0), ("l2", 0.0, 1.0))
    }
    return {
        **unit,
        **estimated,
        "ece": (tn.ece, 0.0, 1.0),
        "l2 ece": (partial(tn.ece, norm="l2"), 0.0, 1.0),
        "ace": (tn.ace, 0.0, 1.0),
        "tce": (tn.tce, 0.0, 100.0),
        "brier": (tn.brier, 0.0, 2.0),
        "log_loss": (tn.log_loss, 0.0, math.inf),
        "squared_ece": (tn.squared_ece, -1.0, 1.0),
        "scaled_brier": (tn.scaled_brier, -math.inf, 1.0),
        "observed_expected": (tn.observed_expected, 0.0, math.inf),
        "calibration_slope": (tn.calibration_slope, -math.inf, math.inf),
        "calibration_intercept": (tn.calibration_intercept, -math.inf, math.inf),
        "miscalibration": (lambda sums: tn.corp(sums).miscalibration, 0.0, 2.0),
        "p-value": (lambda sums: tn.calibration_test(sums, seed=0).pvalue, 0.0, 1.0),
        "rate": (lambda sums, **own: rates(sums, **own), 0.0, 1.0),
        "limits": (lambda sums: limits(sums), 0.0, 1.0),
    }


_IN_BINS = ("ece", "l2 ece", "mce", "rate", "squared_ece")
_ALWAYS_A_NUMBER = (
    "ece",
    "l2 ece",
    "mce",
    "ace",
    "brier",
    "smooth_ece",
    "prevalence",
    "accuracy",
    "rate",
    "p-value",
)


def rates(sums: Any, **own: Any) -> Any:
    """Event rates and mean scores of bins that have rows."""
    table = tn.bin_table(sums, **own)
    filled = np.asarray(table.n) > 0
    return np.concatenate([np.asarray(table.rate)[filled], np.asarray(table.score)[filled]])


def limits(sums: Any) -> Any:
    found = tn.ece_interval(sums, seed=0)
    return np.array([found.low, found.high])


def wrong_answers(sums: Any) -> Iterator[str]:
    """What accepted sums answer outside the range of a measure."""
    if isinstance(sums, tn.Accumulator):
        sums = sums.total
    if not sums.n:
        return
    if not 0 < sums.n <= 2**53:
        yield f"n is {sums.n}"
    own = {"bins": sums.parts[0].edges} if isinstance(sums, tn.sources.Binned) else {}
    for name, (measure, low, high) in ranges().items():
        options = own if name in _IN_BINS else {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", tn.TruenessWarning)
                value = np.asarray(measure(sums, **options))
        except tn.TruenessError:
            continue
        except Exception as error:  # anything but a refusal is the fault looked for
            places = [
                f for f in traceback.extract_tb(error.__traceback__) if "trueness" in f.filename
            ]
            where = " ← ".join(f"{Path(f.filename).name}:{f.lineno}" for f in places[:-4:-1])
            yield f"{name}: {type(error).__name__}: {str(error)[:120]} [{where}]"
            continue
        slack = ROUNDING * (100 if name == "tce" else 1)
        if np.isnan(value).any() and name in _ALWAYS_A_NUMBER:
            yield f"{name} is nan"
        if (value < low - slack).any() or (value > high + slack).any():
            yield f"{name} is {value[(value < low - slack) | (value > high + slack)].tolist() if value.ndim else value}"


def read(form: type[Any], data: bytes) -> Any:
    """The sums, or None if they are refused; any other error is raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return form.from_bytes(data)
    except tn.TruenessError:
        return None


class Outcome(NamedTuple):
    """How a forged file was answered."""

    accepted: bool
    faults: tuple[str, ...]


def outcomes(
    step: int, values: int, seed: int, fields: int = 1, only: str = ""
) -> Iterator[tuple[str, Outcome]]:
    """Forge every `step`-th number, with some of the values, and with it other numbers of its part."""
    draw = random.Random(seed)
    for name, sums in originals():
        if only not in name:
            continue
        header = header_of(sums)
        every = list(places(header))
        for place in every[draw.randrange(step) :: step]:
            part = [other for other in every if other.path[:-1] == place.path[:-1]]
            for number in draw.sample(
                candidates := forged_values(number_at(header, place)), min(values, len(candidates))
            ):
                changed = copy.deepcopy(header)
                forgeries = [(place, number)]
                for other in draw.choices(part, k=fields - 1):
                    forgeries.append((other, draw.choice(forged_values(number_at(header, other)))))
                if sum(forge(changed, *one) for one in forgeries):
                    yield f"{name}, {_in_words(header, forgeries)}", _outcome(type(sums), changed)


def _in_words(header: Any, forgeries: list[tuple[Place, float]]) -> str:
    words = []
    for place, number in forgeries:
        where = ".".join(map(str, place.path)) + str(list(place.at))
        words.append(f"{where}: {number_at(header, place)!r} → {float(number)!r}")
    return ", ".join(words)


def _outcome(form: type[Any], header: Any) -> Outcome:
    try:
        with time_limit(PATIENCE):
            found = read(form, store.pack(header))
            return Outcome(found is not None, () if found is None else tuple(wrong_answers(found)))
    except Exception as error:  # anything but a refusal is the fault looked for
        return Outcome(True, (f"{type(error).__name__}: {str(error)[:160]}",))


def main() -> int:
    """Run the fuzzer; how many numbers and values are forged, and the seed, are options."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--step", type=int, default=8)
    options.add_argument("--values", type=int, default=2)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--fields", type=int, default=1, help="numbers that are forged at a time")
    options.add_argument("--only", default="", help="sums whose name has this text")
    options.add_argument(
        "--all", action="store_true", help="print every fault, not one of each kind"
    )
    asked = options.parse_args()
    files, accepted, wrong = 0, 0, 0
    known: set[str] = set()
    for where, outcome in outcomes(asked.step, asked.values, asked.seed, asked.fields, asked.only):
        files += 1
        accepted += outcome.accepted
        wrong += bool(outcome.faults)
        for fault in outcome.faults:
            kind = (
                fault.partition(":")[0].partition(" is")[0]
                + where.partition(":")[0].rpartition("[")[0]
            )
            if asked.all or kind not in known:
                known.add(kind)
                print(f"{where}\n    {fault}", flush=True)
    print(f"{files:,} forged files, {accepted:,} accepted, {wrong:,} of them with wrong answers.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
