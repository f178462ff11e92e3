"""Isotonic and Venn-Abers calibration against scikit-learn and the venn-abers package.

Each call fits on one set of rows and predicts another of the same size. Predictions must agree.
"""

import warnings
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
from benchmark import Page, case
from timing import Line, Pace, race_or_fail, time_table

from trueness import simulate
from trueness.recalibrate import IsotonicCalibration, VennAbers

ISOTONIC_BAR = 6.0
VENN_ABERS_BAR = 100.0
DISTORTION = simulate.Logit(slope=0.7)


def isotonic(n: int, pace: Pace) -> list[Line]:
    from sklearn.isotonic import IsotonicRegression

    d = simulate.binary(n, distortion=DISTORTION, seed=0)
    new = simulate.binary(n, distortion=DISTORTION, seed=1).y_prob
    w = np.random.default_rng(2).uniform(0.5, 2, n)
    linear, step = IsotonicCalibration(), IsotonicCalibration(interpolation="step")
    peer = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    found = race_or_fail(
        {
            "linear": lambda: linear.fit(d.y_prob, d.y_true).predict(new),
            "step": lambda: step.fit(d.y_prob, d.y_true).predict(new),
            "weighted": lambda: linear.fit(d.y_prob, d.y_true, w).predict(new),
            "peer": lambda: peer.fit(d.y_prob, d.y_true).predict(new),
            "peer weighted": lambda: peer.fit(d.y_prob, d.y_true, w).predict(new),
        },
        pace,
    )
    for ours, theirs in (("linear", "peer"), ("weighted", "peer weighted")):
        np.testing.assert_allclose(found[ours].result, found[theirs].result, atol=1e-9)
    scikit_learn = f"scikit-learn {version('scikit-learn')}"
    return [
        Line(f"`IsotonicCalibration`, {n:,} rows", found["linear"]),
        Line('… `interpolation="step"`', found["step"]),
        Line(f"… {scikit_learn}", found["peer"], against=found["linear"], at_least=ISOTONIC_BAR),
        Line("`IsotonicCalibration` with weights", found["weighted"]),
        Line(f"… {scikit_learn} with weights", found["peer weighted"], against=found["weighted"]),
    ]


def inductive(n: int, pace: Pace) -> list[Line]:
    with np.errstate():  # the package changes NumPy's error state when it is imported
        import venn_abers

    d = simulate.binary(n, distortion=DISTORTION, seed=0)
    new = simulate.binary(n, distortion=DISTORTION, seed=1).y_prob
    # The package takes a column per class; making them is not timed.
    known, unseen = (np.column_stack([1 - p, p]) for p in (d.y_prob, new))

    def theirs() -> np.ndarray:
        peer = venn_abers.VennAbers()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            peer.fit(known, d.y_true)
            return peer.predict_proba(unseen)[0][:, 1]

    found = race_or_fail(
        {
            "ours": lambda: VennAbers().fit(d.y_prob, d.y_true).predict(new),
            "cross": lambda: VennAbers(folds=5, seed=0).fit(d.y_prob, d.y_true).predict(new),
            "peer": theirs,
        },
        pace,
    )
    np.testing.assert_allclose(found["ours"].result, found["peer"].result, atol=1e-12)
    return [
        Line(f"`VennAbers`, {n:,} rows", found["ours"]),
        Line("… `folds=5`", found["cross"]),
        Line(
            f"… venn-abers {version('venn-abers')}",
            found["peer"],
            against=found["ours"],
            at_least=VENN_ABERS_BAR,
        ),
    ]


@case("isotonic", "isotonic and Venn-Abers calibration: fit and predict", "2 min", one_thread=True)
def isotonic_calibration(page: Page, quick: bool, *, rows: int = 0) -> None:
    pace = Pace(rounds=5, fewest=3) if quick else Pace(slow_s=30.0)
    n = rows or (100_000 if quick else 1_000_000)
    time_table(page, "isotonic calibration", isotonic(n, pace), judged=not quick)
    if find_spec("venn_abers") is None:
        page.text("venn-abers is not installed, and left out.")
    else:
        time_table(page, "Venn-Abers calibration", inductive(n // 10, pace), judged=not quick)
