"""Bad inputs to every public function: the answer is a result or a `TruenessError`, never a raw error.

Each call is a valid one with one or two of its arguments replaced by a value that a program could pass by mistake.

    python fuzz/inputs.py                 1,000 calls, about a minute
    python fuzz/inputs.py --calls 100000 --seed 7     the long run

Each fault is printed with the call that makes it; the exit code is 1 if there is any.
"""

import argparse
import inspect
import io
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import date
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from time_limit import time_limit

import trueness as tn

RNG = np.random.default_rng(0)
N = 40
P = RNG.random(N).round(2)
Y = (RNG.random(N) < P).astype(int)
MATRIX = RNG.dirichlet([1, 1, 1], N)
CLASS = np.arange(N) % 3
PATIENCE = 10
"""Seconds that a call may take."""

# Arguments of a valid call, by name; others keep their default.
VALID: dict[str, Any] = {
    "y_true": Y,
    "y_prob": P,
    "models": {"a": P, "b": P**2},
    "measure": "ece",
    "sketch": tn.sketch(Y, P),
    "sums": {"a": tn.tally(Y, P), "b": tn.tally(Y, P**2)},
    "by": {"g": CLASS},
    "bins": 4,
    "resamples": 20,
    "seed": 0,
    "n": 500,
    "n_bins": 5,
    "epsilon": 0.1,
    "edges": [0, 0.5, 1],
    "mass": 3,
    "width": 4,
    "weight": 1.0,
    "prevalence": 0.2,
    "c_statistic": 0.7,
    "progress": False,
}
BY_FUNCTION: dict[str, dict[str, Any]] = {
    "segments": {"resamples": 50},
    "report": {"intervals": False, "by": None},
    "grade_table": {"bins": 3},
    "Accumulator": {"bins": "sketch", "by": None},
    "noise_floor": {"measure": tn.ece},
    "mean_validity": {"curves": [tn.validity_curve(Y, 0.25 + 0.5 * (P > 0.5))]},
    "compare": {"measure": "squared_ece"},
    "curve_band": {"bins": None},
    "calibration_test": {"bins": None, "resamples": None},
    "equivalence_test": {"bins": None},
    "ece_interval": {"resamples": None},
    "load_calibrator": {"path": "nowhere.json"},
    "prior_correction": {"weight": 2.0},
    "accept_threshold": {"correct": Y, "confidence": P},
    "decide": {"cost_fp": 1, "cost_fn": 2},
    "gate": {"max_ece": 0.5, "by": None, "policy": None, "data": None},
    "group_difference": {"measure": "observed_expected", "by": CLASS},
    "centres": {"by": CLASS},
    "heterogeneity": {"values": P, "standard_errors": P + 0.1},
    "pluto_tasche": {"n": [100, 400, 300], "events": [0, 0, 1], "level": 0.9},
    "psi": {"first": P, "second": P**2, "bins": None},
    "powered": {"y_human": Y, "judge": Y, "bins": None},
    "worst_slices": {"columns": {"g": CLASS}, "min_rows": 5, "resamples": 100},
    "events.interval": {"y": P, "lower": P - 0.3, "upper": P + 0.3},
    "events.quantiles": {"y": P, "q": np.tile([0.3, 0.6], (N, 1)), "levels": [0.25, 0.75]},
    "events.at_horizon": {"followup": P + 0.1, "event": Y, "risk": P, "horizon": 0.3},
    "events.at_horizons": {
        "followup": P + 0.1,
        "event": Y,
        "risk": MATRIX[:, :2],
        "horizons": [0.2, 0.4],
    },
    "events.counts": {"successes": Y, "trials": Y + 1, "p": P},
    "events.pairs": {"first_preferred": Y, "p": P},
}
# `scan`, `apply_calibrator`, `validate` and `load_calibrator` read files and frames, which fuzz/files.py spoils.
FUNCTIONS = [
    *(
        "ace",
        "assess",
        "auc",
        "bin_table",
        "binned",
        "brier",
        "calibration_intercept",
        "calibration_series",
    ),
    *(
        "calibration_slope",
        "calibration_test",
        "compare",
        "corp",
        "cumulative_walk",
        "curve_band",
        "e50",
        "e90",
        "ece",
    ),
    *(
        "ece_interval",
        "emax",
        "epsilon",
        "equivalence_test",
        "estimate",
        "estimation_error",
        "gce",
        "grade_table",
    ),
    *("ici", "log_loss", "max_bins", "mce", "noise_floor", "observed_expected"),
    *(
        "panel",
        "prior_correction",
        "prior_shift",
        "reliability_curve",
        "sample_size",
    ),
    *(
        "scaled_brier",
        "segments",
        "sketch",
        "smooth_ece",
        "squared_ece",
        "tally",
        "tce",
        "validation_size",
    ),
    *(
        "validity_curve",
        "mean_validity",
        "Edges",
        "EqualMass",
        "EqualWidth",
        "MassAndWidth",
        "BlockIsotonic",
    ),
    *("Accumulator", "load_calibrator"),
    *(
        "accept_threshold",
        "decide",
        "decision_certificate",
        "gate",
        "net_benefit",
        "powered",
        "risk_coverage",
    ),
    *(
        "worst_slices",
        "Watch",
        "psi",
        "pluto_tasche",
        "centres",
        "heterogeneity",
        "group_difference",
    ),
    *("events.interval", "events.quantiles", "events.at_horizon", "events.at_horizons"),
    *("events.counts", "events.pairs"),
]
SLOW_FUNCTIONS = ["report"]
CALIBRATORS = [
    *(
        "AutoCalibration",
        "BetaCalibration",
        "DirichletCalibration",
        "HistogramBinning",
    ),
    *(
        "IsotonicCalibration",
        "MatrixScaling",
        "OneVsRest",
        "PlattScaling",
        "PriorCorrection",
        "QuadraticScaling",
    ),
    *(
        "ScalingBinning",
        "SplineCalibration",
        "StructuredScaling",
        "TemperatureScaling",
        "TopLabel",
        "VectorScaling",
    ),
    "VennAbers",
]


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self) -> str:
        return "Odd()"


def misaligned(values: np.ndarray) -> np.ndarray:
    """The same numbers at addresses that no number should have."""
    room = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    room[...] = values
    return room


def scalars() -> list[Any]:
    """Single values: wrong types, wrong sizes, and numbers that are none."""
    return [
        *(
            None,
            True,
            False,
            0,
            1,
            -1,
            2,
            7,
            1.5,
            -0.5,
            1e-300,
            1e300,
            float("nan"),
            float("inf"),
            -float("inf"),
        ),
        *(
            10**400,
            -(10**400),
            2**63,
            2**64,
            1j,
            "",
            "x",
            "ece",
            "\x1b[31m",
            "1",
            b"x",
            Odd(),
            Odd,
            len,
            np.mean,
        ),
        *(
            np.float32(0.5),
            np.int8(3),
            np.bool_(True),
            np.array(1),
            np.array(0.5),
            np.datetime64("2026-01-01"),
        ),
        *(
            Decimal("0.5"),
            Fraction(1, 2),
            date(2026, 1, 1),
            object(),
            ...,
            NotImplemented,
            tn.ece,
            tn.EqualMass(3),
        ),
        *(
            {},
            [],
            (),
            set(),
            {"a": 1},
            [1],
            [None],
            [[]],
            ["a", "b"],
            range(3),
            iter([1]),
            (i for i in [0, 1]),
        ),
    ]


def columns() -> list[Any]:
    """Values for rows: labels, scores, weights, groups."""
    frame = {"a": P, "b": P}
    return [
        *(
            Y,
            P,
            MATRIX,
            CLASS,
            P[:-1],
            Y[:0],
            P[:1],
            Y.astype(str),
            P.astype(str),
            P.astype(object),
            Y == 1,
        ),
        *(
            P.astype(np.float16),
            P.astype(np.float32),
            P.astype(">f8"),
            P.astype(np.longdouble),
            P.astype(complex),
        ),
        *(
            P - 0.5,
            P * 100,
            np.log(P + 0.01),
            np.where(P > 0.5, np.nan, P),
            np.where(P > 0.5, np.inf, P),
            -Y,
            Y + 1,
        ),
        *(
            np.ma.array(P, mask=P > 0.5),
            np.ma.array(P),
            np.ma.array(Y, mask=Y == 1),
            misaligned(P),
            misaligned(MATRIX),
        ),
        *(
            P[::-1],
            P[:, None],
            P[None],
            MATRIX.T,
            MATRIX[:, :1],
            MATRIX[:, :2],
            MATRIX[:0],
            np.zeros((N, 0)),
        ),
        *(
            np.zeros((0, 3)),
            np.zeros((N, 2, 2)),
            P.tolist(),
            [*P[:-1], None],
            [*P[:-1], "x"],
            [*P[:-1], 10**400],
        ),
        *(
            [[0.5]] * N,
            [[0.5], [0.5, 0.5]],
            [[]] * N,
            list(map(str, Y)),
            "0101",
            b"0101",
            frame,
            np.zeros(N),
            np.ones(N),
        ),
        *(
            np.array([Odd()] * N),
            np.array([None] * N),
            P.view([("p", float)]),
            np.full(N, "a"),
            np.full(N, np.nan),
        ),
        *(
            np.arange(0, N).astype("M8[D]"),
            np.full(N, 1e308),
            np.full(N, 5e-324),
            np.full(N, 2**62),
            np.full(N, -1),
        ),
        *(
            tn.tally(Y, P),
            tn.binned(Y, P),
            tn.sketch(CLASS, MATRIX),
            tn.tally([], []),
            tn.events.interval(P, P - 0.3, P + 0.3),
            tn.events.quantiles(P, np.tile([0.3, 0.6], (N, 1)), levels=[0.25, 0.75]),
            {"a": tn.events.pairs(Y, P)},
            {"a": tn.tally(Y, P)},
        ),
        *(
            {"a": P, "b": P[:-1]},
            {"a": 1},
            {"a": None},
            {1: P, 2: P},
            memoryview(P),
            np.array("x"),
            np.array([Y, P], dtype=object),
        ),
    ]


class Call(NamedTuple):
    """One call with bad arguments."""

    name: str
    arguments: dict[str, Any]
    bad: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(self.arguments[name])}" for name in self.bad)
        return f"{self.name}({shown})"

    def run(self) -> Any:
        """The result; of a calibrator, its predictions."""
        made = public(self.name)
        if self.name not in CALIBRATORS:
            return made(**self.arguments)
        rows = {
            name: self.arguments[name]
            for name in ("y_prob", "y_true", "sample_weight")
            if name in self.arguments
        }
        new = self.arguments.get("new", rows["y_prob"])
        options = {
            name: value for name, value in self.arguments.items() if name not in (*rows, "new")
        }
        return made(**options).fit(**rows).predict(new)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of too many digits
        return type(value).__name__
    return (
        text
        if len(text) < 120
        else f"{text[:60]} … {text[-40:]} ({type(value).__name__} {np.shape(value)})"
    )


def public(name: str) -> Any:
    """The function or class of this name, of the package or of one of its rooms."""
    if "." in name:
        return attrgetter(name)(tn)
    rooms = (tn, tn.measure, tn.infer, tn.recalibrate, tn.sources)
    return next(getattr(room, name) for room in rooms if hasattr(room, name))


def calls(seed: int, slow: bool = False) -> Iterator[Call]:
    """Calls with one or two bad arguments, without end."""
    draw = random.Random(seed)
    names = FUNCTIONS + CALIBRATORS + (SLOW_FUNCTIONS if slow else [])
    while True:
        name = draw.choice(names)
        parameters = [
            one
            for one in inspect.signature(public(name)).parameters.values()
            if one.kind != one.VAR_KEYWORD
        ]
        valid = valid_arguments(name)
        spoilt = [one.name for one in parameters]
        spoilt += ["y_prob", "y_true", "sample_weight", "new"] if name in CALIBRATORS else []
        bad = draw.sample(spoilt, min(len(spoilt), draw.choice([1, 1, 1, 2])))
        yield Call(name, valid | {one: draw.choice(_values(one)) for one in bad}, tuple(bad))


def valid_arguments(name: str) -> dict[str, Any]:
    """Arguments that a function or calibrator takes (the path of a calibrator leads nowhere)."""
    if name in CALIBRATORS:
        return (
            {"y_prob": MATRIX, "y_true": CLASS}
            if _takes_matrix(name)
            else {"y_prob": P, "y_true": Y}
        )
    known = inspect.signature(public(name)).parameters
    given = {one: value for one, value in VALID.items() if one in known} | BY_FUNCTION.get(name, {})
    return (
        {"sums": given["sums"]} if "sums" in given else given
    )  # sums of days stand in place of rows


def _takes_matrix(name: str) -> bool:
    return name in (
        "DirichletCalibration",
        "MatrixScaling",
        "OneVsRest",
        "StructuredScaling",
        "TopLabel",
        "VectorScaling",
    )


_ROWS = (
    "y_true",
    "y_prob",
    "sample_weight",
    "cluster",
    "models",
    "by",
    "grades",
    "new",
    "scores",
    "labels",
    "at",
    "sums",
    "correct",
    "confidence",
    "y_human",
    "judge",
    "human_prob",
    "first",
    "second",
    "columns",
)
_OWN_FUNCTIONS = ("loss", "test", "norm", "progress")


def _values(argument: str) -> list[Any]:
    values = scalars() + 2 * columns() if argument in _ROWS else scalars()
    if argument in ("resamples", "runs"):  # more of them take longer, as they should
        return [one for one in values if not isinstance(one, int) or abs(one) < 100]
    # Errors of a user's own function are the user's.
    return [one for one in values if not callable(one)] if argument in _OWN_FUNCTIONS else values


def fault_of(run: Callable[[], Any]) -> str:
    """What is wrong with the error that a call raises; empty if it returns, or refuses its input."""
    from sklearn.exceptions import NotFittedError

    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            with time_limit(PATIENCE):
                str(run())
    except (tn.TruenessError, NotFittedError, FileNotFoundError) as error:
        return "a message without an end" if len(str(error)) > 2000 else ""
    except Exception as error:  # anything but a refusal is the fault looked for
        places = [f for f in traceback.extract_tb(error.__traceback__) if "trueness" in f.filename]
        where = " ← ".join(
            f"{f.filename.rpartition('trueness/')[2]}:{f.lineno}" for f in places[:-4:-1]
        )
        return f"{type(error).__name__}: {str(error)[:160]} [{where}]"
    return ""


def main() -> int:
    """Run the fuzzer; the number of calls and the seed are options."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--calls", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", help="the name of one function")
    asked = options.parse_args()
    faults: dict[str, int] = {}
    endless = calls(asked.seed, slow=True)
    for _ in range(asked.calls):
        call = next(endless)
        if asked.only in (None, call.name) and (fault := fault_of(call.run)):
            key = fault.rpartition("[")[2]
            faults[key] = faults.get(key, 0) + 1
            if faults[key] == 1:
                print(f"{call}\n    {fault}", flush=True)
    print(f"{asked.calls:,} calls, {sum(faults.values()):,} faults at {len(faults):,} places.")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
