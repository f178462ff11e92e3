"""Limits of what is measured of a sketch hold the measure of the rows."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import arrays, labels, scores

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

# Several different scores in cells that common edges cut.
crowded = st.tuples(st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.6, 0.9]), st.floats(-1, 1)).map(
    lambda at: min(max(at[0] + at[1] * 2**-9, 0.0), 1.0)
)
rows = st.one_of(
    st.lists(st.tuples(labels, scores), min_size=2, max_size=40),
    st.lists(st.tuples(labels, crowded), min_size=2, max_size=60),
)


def walk(method):
    return lambda y, p, **weights: tn.calibration_test(y, p, method=method, **weights).statistic


def part(name, score):
    return lambda y, p, **weights: getattr(tn.corp(y, p, score=score, **weights), name)


CASES = {
    "ece": (tn.ece, {}),
    "ece, two edges in one cell": (tn.ece, {"bins": [0, 0.0999, 0.1, 0.1001, 0.5, 1]}),
    "ece, power": (tn.ece, {"bins": 3, "norm": 2.5}),
    "ece, l2": (tn.ece, {"norm": "l2"}),
    "ace": (tn.ace, {"bins": 4}),
    "ace, l2": (tn.ace, {"bins": 7, "norm": "l2"}),
    "ace, max": (tn.ace, {"bins": 5, "norm": "max"}),
    "mce": (tn.mce, {}),
    "gce, squared": (tn.gce, {"loss": "squared", "norm": "l2"}),
    "gce, squared, max": (tn.gce, {"loss": "squared", "norm": "max", "bins": 5}),
    "gce, rejection": (tn.gce, {"loss": "rejection", "bins": 3}),
    "squared ece": (tn.squared_ece, {}),
    "squared ece, mass": (tn.squared_ece, {"bins": tn.EqualMass(5)}),
    "squared ece, ten": (tn.squared_ece, {"bins": 10}),
    "tce": (tn.tce, {"bins": 5}),
    "tce, mass": (tn.tce, {"bins": tn.EqualMass(3), "alpha": 0.3}),
    "tce, ten": (tn.tce, {"bins": 10, "alpha": 0.5}),
    "brier": (tn.brier, {}),
    "log loss": (tn.log_loss, {}),
    "observed / expected": (tn.observed_expected, {}),
    "intercept": (tn.calibration_intercept, {}),
}
NAMED = {
    "ks": (walk("ks"), {}),
    "kuiper": (walk("kuiper"), {}),
    "miscalibration": (part("miscalibration", "brier"), {}),
    "discrimination": (part("discrimination", "brier"), {}),
    "miscalibration, log": (part("miscalibration", "log"), {"score": "log"}),
    "discrimination, log": (part("discrimination", "log"), {"score": "log"}),
}


def inside(found, exact):
    assert found.low <= found.value <= found.high or math.isnan(found.value)
    assert found.low <= exact <= found.high or math.isnan(exact) or found.value == exact
    assert abs(found.value - exact) <= found.error * (1 + 1e-9) or math.isnan(exact) or found.value == exact


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=40)
@given(rows=rows)
def test_the_measure_of_the_rows_lies_within_the_limits(case, rows):
    measure, options = CASES[case]
    y, p = arrays(rows)
    inside(tn.bounded(measure, tn.sketch(y, p), **options), measure(y, p, **options))


@pytest.mark.parametrize("case", NAMED)
@settings(max_examples=40)
@given(rows=rows)
def test_so_do_walks_and_parts_of_scores(case, rows):
    exact, options = NAMED[case]
    y, p = arrays(rows)
    inside(tn.bounded(case.partition(",")[0], tn.sketch(y, p), **options), exact(y, p))


@settings(max_examples=15)
@given(rows=rows)
def test_so_does_the_smooth_error(rows):
    y, p = arrays(rows)
    inside(tn.bounded(tn.smooth_ece, tn.sketch(y, p)), tn.smooth_ece(y, p))


@pytest.mark.parametrize("case", [*CASES, *NAMED])
@settings(max_examples=12)
@given(rows=rows, seed=st.integers(0, 99))
def test_whole_weights_are_repetition(case, rows, seed):
    measure, options = {**CASES, **NAMED}[case]
    y, p = arrays(rows)
    w = np.random.default_rng(seed).integers(0, 4, y.size)
    w[0] += 1
    sketch = tn.sketch(y, p, sample_weight=w)
    repeated = np.repeat(y, w), np.repeat(p, w)
    named = case in NAMED
    found = tn.bounded(case.partition(",")[0] if named else measure, sketch, **options)
    inside(found, measure(*repeated) if named else measure(*repeated, **options))


FRACTIONAL = ["ece", "ece, l2", "ece, two edges in one cell", "mce", "gce, squared", "brier", "log loss"]


@pytest.mark.parametrize("case", FRACTIONAL)
@settings(max_examples=20)
@given(rows=rows, seed=st.integers(0, 99))
def test_fixed_edges_have_limits_with_any_weights(case, rows, seed):
    measure, options = CASES[case]
    y, p = arrays(rows)
    w = np.random.default_rng(seed).random(y.size)
    sketch = tn.sketch(y, p, sample_weight=w)
    inside(tn.bounded(measure, sketch, **options), measure(y, p, sample_weight=w, **options))


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@pytest.mark.parametrize("measure", [tn.ece, tn.ace, tn.brier, tn.log_loss, tn.smooth_ece])
def test_matrices_are_averaged_as_the_measure_is(measure, kind):
    rng = np.random.default_rng(1)
    P = rng.dirichlet([0.5, 1, 2], 400)
    y = np.array([rng.choice(3, p=row) for row in P])
    found = tn.bounded(measure, tn.sketch(y, P, kind=kind))
    inside(found, measure(y, P, kind=kind))


def adversary(n, seed):
    """In each cell the events have the lower scores: as unlike a tie as can be."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.random(n))
    y = (np.arange(n) // 20) % 2
    return y, p


@pytest.mark.parametrize("case", [*CASES, *NAMED])
@pytest.mark.parametrize("n", [300, 20_000])
def test_rows_arranged_to_mislead_stay_within_the_limits(case, n):
    measure, options = {**CASES, **NAMED}[case]
    y, p = adversary(n, 2)
    named = case in NAMED
    found = tn.bounded(case.partition(",")[0] if named else measure, tn.sketch(y, p), **options)
    inside(found, measure(y, p) if named else measure(y, p, **options))


def demo(n, seed=0, power=1.2):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 2, n)
    return (rng.random(n) < p**power).astype(int), p


@pytest.mark.parametrize(
    ("measure", "options", "most"),
    [
        (tn.ece, {}, 1e-9),  # all gaps have one sign, so that no arrangement inside cells matters
        (tn.ece, {"bins": 16, "norm": "l2"}, 1e-9),  # edges with few binary digits cut no cell
        (tn.ace, {}, 1e-9),
        (tn.mce, {"bins": 64}, 1e-9),
        (tn.squared_ece, {"bins": 64}, 1e-9),
        (tn.tce, {"bins": 16}, 6.0),
        (tn.smooth_ece, {}, 3e-4),
        (tn.brier, {}, 1e-9),
        (tn.log_loss, {}, 2e-6),
        ("ks", {}, 1e-4),
        ("kuiper", {}, 1e-4),
        ("miscalibration", {}, 1e-3),
    ],
)
def test_limits_are_narrow_where_it_matters(measure, options, most):
    y, p = demo(50_000)
    assert tn.bounded(measure, tn.sketch(y, p), **options).error <= most


@pytest.mark.parametrize("law", [(1, 3), (1, 1), (2, 2), (0.5, 0.5)])
@pytest.mark.parametrize("seed", range(100, 104))
def test_values_are_as_near_as_the_grid_is_fine(law, seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(*law, 200_000)
    y = rng.random(p.size) < p
    s = tn.sketch(y, p)
    for measure, most in ((tn.ece, 3e-4), (tn.ace, 3e-4), (tn.squared_ece, 5e-5), (tn.smooth_ece, 1e-4)):
        assert abs(measure(s) - measure(y, p)) <= most
    for bins, most in ((10, 0.5), (tn.EqualMass(10), 0.5), (None, 3.0)):
        assert abs(tn.tce(s, bins=bins) - tn.tce(y, p, bins=bins)) <= most


@settings(max_examples=30)
@given(rows=st.lists(st.tuples(labels, st.integers(0, 100).map(lambda i: i / 100)), min_size=2, max_size=60))
def test_scores_of_two_decimals_are_exact(rows):
    y, p = arrays(rows)
    s = tn.sketch(y, p)
    for measure in (tn.ece, tn.ace, tn.tce, tn.squared_ece, tn.calibration_slope):
        exact = measure(y, p)
        found = tn.bounded(measure, s)
        assert found.value == pytest.approx(exact, abs=1e-9, nan_ok=True)
        assert found.error <= 1e-9 or math.isnan(exact)


def test_a_cell_that_a_cut_of_equal_mass_may_split_is_in_both_bins():
    """A third of the rows ends inside a cell of two scores, which a sketch cannot tell apart."""
    p = np.concatenate([np.full(30, 0.3), np.full(30, 0.3001), np.full(40, 0.9)])
    y = np.concatenate([np.zeros(30), np.ones(30), np.ones(40)]).astype(int)
    found = tn.bounded(tn.tce, tn.sketch(y, p), bins=tn.EqualMass(3))
    assert found.high - found.low >= 60
    inside(found, tn.tce(y, p, bins=tn.EqualMass(3)))


def test_the_record_says_what_it_is():
    found = tn.bounded(tn.ece, tn.sketch([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]), bins=2)
    assert str(found) == "ece 0.15, of the rows within 0.15 to 0.15 (n = 4)"
    assert found.to_dict() == {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "error": found.error,
        "measure": "ece",
        "n": 4,
    }


MANY = demo(500)


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        (tn.tce, {}, "No limits are known for BlockIsotonic bins of a sketch"),
        (tn.ece, {"bins": tn.Isotonic()}, "No limits are known for Isotonic bins"),
        (tn.tce, {"bins": 10, "test": "t"}, "No limits are known for t tests"),
        (tn.gce, {"loss": lambda b: b.rate}, "`loss` must be 'absolute' or 'squared'"),
        (tn.squared_ece, {"weight_type": "importance"}, "No limits are known for `weight_type='importance'`"),
        (tn.calibration_slope, {}, r"No limits are known for 'calibration_slope' of a sketch\. They are for ece"),
        ("cox", {}, "No limits are known for 'cox'"),
        (lambda s: 1.0, {}, "No limits are known for '<lambda>'"),
        ("ks", {"bins": 10}, "'ks' has no options"),
        (tn.ece, {"bins": tn.Distinct()}, "need every distinct score, which a sketch does not keep"),
    ],
)
def test_what_has_no_limits_is_refused_with_the_reason(measure, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.bounded(measure, tn.sketch(*MANY), **options)


def test_what_has_no_limits_with_fractional_weights_is_refused():
    s = tn.sketch(*MANY, sample_weight=np.full(500, 0.5))
    with pytest.raises(tn.InputError, match="bins of equal mass unless weights are whole numbers that sum"):
        tn.bounded(tn.ace, s)
    with pytest.raises(tn.InputError, match="isotonic fits unless weights are whole numbers that sum"):
        tn.bounded("miscalibration", s)


def test_edges_that_may_leave_rows_out_are_refused():
    s = tn.sketch([0, 1, 1], [0.1001, 0.1002, 0.9])
    with pytest.raises(tn.InputError, match="`bins` must cover every"):
        tn.bounded(tn.ece, s, bins=[0.10015, 0.5, 1])


def test_only_a_sketch_is_taken():
    with pytest.raises(tn.InputError, match="`sketch` must be a Sketch; got Tally"):
        tn.bounded(tn.ece, tn.tally([0, 1], [0.2, 0.7]))
    with warnings.catch_warnings(), pytest.raises(tn.InputError, match="An empty Sketch"):
        tn.bounded(tn.ece, tn.sketch([], []))
    with pytest.raises(tn.InputError, match="An empty Sketch"):
        tn.bounded("ks", tn.sketch([], []))


def test_tiny_smooth_errors_lie_within_their_limits():
    p = np.array([0.99999999999996, 0.999993870905081, 1.97e-19, 1.8e-20, 7.5e-20, 7.5e-14, 0.9999999999999079, 2e-12])
    y = p > 0.5
    found = tn.bounded(tn.smooth_ece, tn.sketch(y, p))
    assert found.low <= tn.smooth_ece(y, p) <= found.high
