"""A number that decides how much is computed or stored is refused before anything is allocated, or does not matter."""

import importlib
import inspect
import itertools
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import trueness as tn
from trueness.errors import InputError

Y, P = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
MATRIX = [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]]
HUGE = 10**12
WHOLE = re.compile(r"\bint\b")

REFUSED = {
    "bins": [
        lambda: tn.ece(Y, P, bins=HUGE),
        lambda: tn.ece(Y, P, bins=(1 << 20) + 1),
        lambda: tn.binned([2, 0, 1], MATRIX, bins=1 << 22),
        lambda: tn.ece([2, 0, 1], MATRIX, bins=1 << 24),
        lambda: tn.ece(np.arange(20), np.eye(20), bins=1 << 20),
        lambda: tn.ece(np.arange(20), np.eye(20), bins=np.linspace(0, 1, 1 << 20)),
        lambda: tn.ece([2, 0, 1], MATRIX, bins=1 << 24, sample_weight=[1, 2, 1]),
    ],
    "budget": [lambda: tn.next_labels(P, budget=HUGE)],
    "n_bins": [
        lambda: tn.HistogramBinning(HUGE).fit(P, Y),
        lambda: tn.ScalingBinning(HUGE).fit(P, Y),
        lambda: tn.epsilon(100, 10**17),
    ],
    "resamples": [
        lambda: tn.calibration_test(Y, P, resamples=HUGE),
        lambda: tn.compare(Y, {"a": P, "b": P}, resamples=HUGE),
        lambda: tn.ece_interval(Y, P, method="bootstrap", resamples=HUGE),
        lambda: tn.noise_floor(tn.ece, P, resamples=HUGE),
        lambda: tn.segments(Y, P, ["a", "b", "a", "b"], resamples=HUGE),
    ],
    "buckets": [lambda: tn.tally(Y, P, cluster=[1, 2, 3, 4], buckets=HUGE)],
    "workers": [
        lambda: tn.noise_floor(tn.ece, P, workers=HUGE),
        lambda: tn.compare(Y, {"a": P, "b": P}, workers=HUGE),
    ],
    "max_iter": [lambda: tn.recalibrate.MatrixScaling(max_iter=HUGE).fit(MATRIX, [2, 0, 1])],
    "n": [
        lambda: tn.simulate.binary(HUGE),
        lambda: tn.simulate.demo(HUGE),
        lambda: tn.simulate.binary(10**9),
        lambda: tn.simulate.multiclass(10**7, 100),
        lambda: tn.simulate.binned(HUGE, [0.2], [0.2]),
        lambda: tn.max_bins(10**17, 0.1),
    ],
    "n_classes": [lambda: tn.simulate.multiclass(10, HUGE)],
    "classes": [lambda: tn.simulate.LabelNoise(0.1).matrix(10**5)],
    "folds": [lambda: tn.VennAbers(folds=HUGE).fit(P, Y)],
    "k": [lambda: tn.squared_ece([2, 0, 1], MATRIX, k=HUGE)],
    "height": [lambda: tn.plot.unicode_diagram(tn.binned(Y, P), height=HUGE)],
    "width": [
        lambda: tn.plot.unicode_diagram(tn.binned(Y, P), width=HUGE),
        lambda: tn.ece(Y, P, bins=tn.measure.MassAndWidth(mass=3, width=HUGE)),
    ],
    "mass": [lambda: tn.ece(Y, P, bins=tn.measure.MassAndWidth(mass=HUGE, width=3))],
    "knots": [lambda: tn.curve_band(Y, P, knots=HUGE)],
    "n_knots": [lambda: tn.SplineCalibration(n_knots=HUGE).fit(P, Y)],
    "n_min": [lambda: tn.ece(Y, P, bins=tn.BlockIsotonic(n_min=HUGE, n_max=HUGE))],
    "n_jobs": [
        lambda: tn.CalibratedClassifier(LogisticRegression(), n_jobs=HUGE).fit(
            MATRIX * 2, [0, 1, 1, 0, 1, 0]
        ),
        lambda: tn.validate(LogisticRegression(), MATRIX * 2, [0, 1, 1, 0, 1, 0], n_jobs=10**5),
    ],
}


def watched(**options):
    watch = tn.Watch()
    watch.update(tn.tally(Y, P), **options)
    return watch


HARMLESS = {
    "depth": lambda: tn.worst_slices(
        Y * 4, P * 4, {"x": list("abab") * 4}, depth=HUGE, min_rows=2, seed=0
    ),
    "events": lambda: tn.pluto_tasche([10**12], [10**11], level=0.9, correlation=0.1),
    "ignore_index": lambda: tn.ece(Y, P, ignore_index=HUGE),
    "cause": lambda: tn.events.at_horizon(
        [1, 2, 3, 4], [0, 1, HUGE, 1], P, horizon=3, strata=None, cause=HUGE
    ),
    "crossed": lambda: tn.segments(Y, P, ["a", "b", "a", "b"], crossed=HUGE),
    "largest_cluster": lambda: watched(largest_cluster=HUGE),
    "min_rows": lambda: tn.TopLabel(tn.PlattScaling(), min_rows=HUGE).fit(MATRIX, [2, 0, 1]),
    "most": lambda: tn.plot.SegmentsDisplay.from_predictions(Y, P, by=["a", "b", "a", "b"]).plot(
        most=HUGE
    ),
    "n_max": lambda: tn.ece(Y, P, bins=tn.BlockIsotonic(n_min=1, n_max=HUGE)),
    "n_rows": lambda: tn.EqualMass(5).ranks(HUGE),
    "segments": lambda: tn.plot.WatchDisplay.from_watch(watched(), segments=HUGE),
}
NO_SIZES = {"largest", "seed", "progress", "promise", "i", "chosen"}
RECORDS = ("trueness.results", "trueness.errors", "trueness._tally.events")
LEVELS = {
    "segments": lambda: tn.segments(Y, P, ["a", "b", "a", "b"], level=0.99999),
    "report": lambda: tn.report(Y, P, level=0.99999),
    "ece_interval": lambda: tn.ece_interval(Y, P, level=0.99999),
    "validation_size": lambda: tn.validation_size(
        prevalence=0.2, c_statistic=0.7, level=1 - 2.0**-53
    ),
    "smooth curve": lambda: tn.plot.ReliabilityDisplay.from_predictions(
        Y, P, curve="smooth", level=0.99999
    ),
}


def test_too_large_a_number_is_refused_by_name():
    demand = r"must (be .*(at most|to) ([\d,]+|the number of rows)|leave rows|be one of [\d, ]+)"
    for name, call in ((name, call) for name, calls in REFUSED.items() for call in calls):
        with pytest.raises(InputError, match=f"`?{name}`? {demand}"):
            call()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_large_number_that_costs_nothing_is_taken():
    for call in HARMLESS.values():
        call()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_every_whole_number_that_a_caller_may_choose_was_tried():
    chosen: set[str] = set()
    for module, names in json.loads(
        Path(__file__).with_name("public_api.json").read_text(encoding="utf-8")
    ).items():
        if module in (
            "results",
            "errors",
            "torch",
        ):  # records are made by the library; torch has tests of its own
            continue
        for name in (name for name, signature in names.items() if signature):
            found = importlib.import_module(f"trueness.{module}".rstrip("."))
            for part in name.split("."):
                found = getattr(found, part)
            if not (inspect.isclass(found) and found.__module__.startswith(RECORDS)):
                signature = inspect.signature(found)
                chosen |= {
                    one.name
                    for one in signature.parameters.values()
                    if WHOLE.search(str(one.annotation))
                }
    assert len(chosen) > 20
    assert chosen - NO_SIZES == REFUSED.keys() | HARMLESS.keys()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_level_that_needs_too_many_draws_is_refused():
    for call in LEVELS.values():
        with pytest.raises(InputError, match=r"`level` must be (at most|smaller)"):
            call()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_display_and_a_table_hold_as_much_as_can_be_looked_at():
    for curve in ("binned", "isotonic", "smooth", "spline", "loess"):
        with pytest.raises(InputError, match="`resamples` must be at most 10,000"):
            tn.plot.ReliabilityDisplay.from_predictions(Y, P, curve=curve, resamples=10**5)
    for bins in (1001, tn.EqualMass(1001), np.linspace(0, 1, 1002)):
        with pytest.raises(InputError, match="`bins` must be at most 1,000 grades; got 1,001"):
            tn.grade_table(Y, P, bins=bins)
    sizes = tn.plot.GuaranteeDisplay.from_sizes
    with pytest.raises(InputError, match="`n_bins` must have at most 10,000 values"):
        sizes(10**6, n_bins=itertools.count(2))
    with pytest.raises(InputError, match="`n` must have at most 10,000 values"):
        sizes(range(4, 10**18))
    with pytest.raises(
        InputError, match="`n_bins` must have at most 100 values for 100 numbers of rows; got 101"
    ):
        sizes(range(300, 400), n_bins=range(2, 103))


@pytest.mark.parametrize("rows_of_a_group", [1, 20])
def test_the_bins_of_all_groups_are_counted(rows_of_a_group):
    n = 100 * rows_of_a_group
    rows = pl.DataFrame(
        {"y": [0] * n, "p": [0.1] * n, "q": [0.9] * n, "day": list(range(100)) * rows_of_a_group}
    )
    for scores, most in (("p", 671_088), (["q", "p"], 335_544)):
        refused = rf"`bins` must be at most {most:,} with 100 groups, 67,108,864 for all of them; got 1,048,576"
        with pytest.raises(InputError, match=refused):
            tn.scan_groups(rows, by="day", label="y", prob=scores, bins=1 << 20)
    assert (
        len(
            tn.scan_groups(rows, by="day", label="y", prob=["q", "p"], kind="confidence", bins=1000)
        )
        == 100
    )


def test_the_exact_bound_is_searched_in_few_steps():
    assert tn.max_bins(10**9, 0.1, bound="exact") == 1_386_962
    assert tn.max_bins(10**11, 0.1, bound="exact") == 107_411_385
    kept = [b for b in range(1, 29) if tn.epsilon(57, b, bound="exact") <= 0.3]
    assert tn.max_bins(57, 0.3, bound="exact") == max(kept)


def test_smoothness_that_makes_too_many_bins_is_refused_by_name():
    y, p = np.arange(2000) % 2, np.linspace(0.1, 0.9, 2000)
    with pytest.raises(
        InputError, match=r"`smoothness` must be larger for 2,000 rows: it makes 3,[0-9,]+ bins"
    ):
        tn.squared_ece(y, p, smoothness=0.001)


def test_usual_numbers_are_taken():
    with pytest.warns(tn.errors.FewRowsWarning):
        assert np.isfinite(tn.ece([2, 0, 1], MATRIX, bins=1000))
