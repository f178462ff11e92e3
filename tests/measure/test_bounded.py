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
    "gce, rejection, l2": (tn.gce, {"loss": "rejection", "bins": 3, "norm": "l2", "alpha": 0.3}),
    "gce, rejection, max": (tn.gce, {"loss": "rejection", "bins": tn.EqualMass(4), "norm": "max", "alpha": 0.3}),
    "gce, rejection, t": (tn.gce, {"loss": "rejection", "bins": 3, "norm": 3.5, "test": "t"}),
    "squared ece": (tn.squared_ece, {}),
    "squared ece, mass": (tn.squared_ece, {"bins": tn.EqualMass(5)}),
    "squared ece, ten": (tn.squared_ece, {"bins": 10}),
    "tce": (tn.tce, {"bins": 5}),
    "tce, mass": (tn.tce, {"bins": tn.EqualMass(3), "alpha": 0.3}),
    "tce, ten": (tn.tce, {"bins": 10, "alpha": 0.5}),
    "tce, t": (tn.tce, {"bins": 5, "test": "t"}),
    "tce, t, mass": (tn.tce, {"bins": tn.EqualMass(3), "alpha": 0.3, "test": "t"}),
    "tce, variance": (tn.tce, {"bins": 10, "test": "t-variance-for-deviation"}),
    "tce, variance, mass": (tn.tce, {"bins": tn.EqualMass(4), "test": "t-variance-for-deviation"}),
    "brier": (tn.brier, {}),
    "log loss": (tn.log_loss, {}),
    "observed / expected": (tn.observed_expected, {}),
    "intercept": (tn.calibration_intercept, {}),
    "intercept, eps": (tn.calibration_intercept, {"eps": 0.01}),
    "slope": (tn.calibration_slope, {}),
    "slope, eps": (tn.calibration_slope, {"eps": 0.01}),
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
    off = abs(found.value - exact)
    assert off <= found.error * (1 + 1e-9) or math.isnan(off) or found.value == exact


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


def takes_any_weights(measure, options):
    """The binomial test and the squared error of repeated rows are of whole numbers."""
    counts = measure is tn.tce or options.get("loss") == "rejection"
    return measure is not tn.squared_ece and ("test" in options or not counts)


ANY_WEIGHTS = {name: case for name, case in (CASES | NAMED).items() if takes_any_weights(*case)}
# Random; as good as equal, so that cuts of equal mass fall on ends of cells; and far from equal.
WEIGHTS = [
    lambda rng, n: rng.random(n),
    lambda rng, n: rng.choice([0.1, 0.3, 0.7], n),
    lambda rng, n: np.full(n, 0.1),
    lambda rng, n: np.exp(5 * rng.standard_normal(n)),
]


@pytest.mark.parametrize("case", ANY_WEIGHTS)
@settings(max_examples=20)
@given(rows=rows, weights=st.sampled_from(WEIGHTS), seed=st.integers(0, 99))
def test_any_weights_have_limits(case, rows, weights, seed):
    measure, options = ANY_WEIGHTS[case]
    y, p = arrays(rows)
    w = weights(np.random.default_rng(seed), y.size)
    sketch, named = tn.sketch(y, p, sample_weight=w), case in NAMED
    found = tn.bounded(case.partition(",")[0] if named else measure, sketch, **options)
    inside(found, measure(y, p, sample_weight=w, **({} if named else options)))


IMPORTANCE = {"default": {}, "ten": {"bins": 10}, "mass": {"bins": tn.EqualMass(4)}, "16": {"bins": 16}}


@pytest.mark.parametrize("case", IMPORTANCE)
@settings(max_examples=30)
@given(
    rows=rows,
    weights=st.sampled_from([None, lambda rng, n: rng.integers(1, 5, n), *WEIGHTS]),
    seed=st.integers(0, 99),
)
def test_so_has_the_squared_error_of_rows_that_matter_unequally(case, rows, weights, seed):
    options = {"weight_type": "importance"} | IMPORTANCE[case]
    y, p = arrays(rows)
    w = None if weights is None else weights(np.random.default_rng(seed), y.size)
    found = tn.bounded(tn.squared_ece, tn.sketch(y, p, sample_weight=w), **options)
    inside(found, tn.squared_ece(y, p, sample_weight=w, **options))


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@pytest.mark.parametrize(
    "measure", [tn.ece, tn.ace, tn.brier, tn.log_loss, tn.smooth_ece, tn.calibration_slope, tn.calibration_intercept]
)
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
        (tn.tce, {"bins": 16, "test": "t"}, 6.0),
        (tn.tce, {"bins": 16, "test": "t-variance-for-deviation"}, 6.0),
        (tn.gce, {"bins": 16, "loss": "rejection", "norm": "l2"}, 6.0),
        (tn.squared_ece, {"bins": 64, "weight_type": "importance"}, 1e-5),
        (tn.calibration_slope, {}, 1e-4),
        (tn.calibration_intercept, {}, 3e-5),
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


@pytest.mark.parametrize(
    ("measure", "options", "most"),
    [
        (tn.ace, {}, 1e-9),
        (tn.ace, {"norm": "l2"}, 1e-3),
        (tn.tce, {"bins": 16, "test": "t"}, 6.0),
        (tn.squared_ece, {"bins": 64, "weight_type": "importance"}, 1e-5),
        (tn.calibration_slope, {}, 1e-4),
        ("miscalibration", {}, 1e-3),
        ("discrimination", {}, 1e-3),
    ],
)
def test_so_they_are_with_any_weights(measure, options, most):
    y, p = demo(50_000)
    w = np.random.default_rng(1).random(y.size)
    assert tn.bounded(measure, tn.sketch(y, p, sample_weight=w), **options).error <= most


@pytest.mark.parametrize("seed", [0, 3, 7, 8])
def test_a_bin_of_next_to_no_weight_may_be_the_worst(seed):
    """Its sums are differences of sums that weigh ten orders more."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, 400)
    y, w = rng.random(400) < 0.05, np.exp(5 * rng.standard_normal(400))
    inside(tn.bounded(tn.mce, tn.sketch(y, p, sample_weight=w)), tn.mce(y, p, sample_weight=w))


def test_where_a_cell_may_separate_the_classes_the_slope_has_no_limits():
    """Three scores without an event, and three with one, share a cell; the last of the first may come after or not."""
    y = np.repeat([0, 1], 4)
    for last, finite in ((2.0, False), (2.2, True)):
        p = np.array([0.1, *(0.3 + 2**-12 * np.array([0, 1, last, 2.1, 3, 4])), 0.9])
        assert math.isfinite(tn.calibration_slope(y, p)) == finite
        found = tn.bounded(tn.calibration_slope, tn.sketch(y, p))
        assert (found.low, found.high, found.error) == (-math.inf, math.inf, math.inf)


def test_where_no_cell_has_both_classes_the_slope_surely_has_no_estimate():
    found = tn.bounded(tn.calibration_slope, tn.sketch([0, 0, 1, 1], [0.1, 0.1001, 0.3, 0.3001]))
    assert all(map(math.isnan, (found.value, found.low, found.high)))


@settings(max_examples=150)
@given(rows=rows)
def test_rows_within_finite_limits_have_a_slope(rows):
    y, p = arrays(rows)
    found = tn.bounded(tn.calibration_slope, tn.sketch(y, p))
    assert math.isnan(tn.calibration_slope(y, p)) <= (not (found.high - found.low < math.inf))


def test_tiny_scores_of_weighted_rows_have_a_ratio_within_its_limits():
    y, p, w = np.array([1, 0]), np.array([3e-17, 2e-17]), np.array([0.3, 0.4])
    inside(
        tn.bounded(tn.observed_expected, tn.sketch(y, p, sample_weight=w)), tn.observed_expected(y, p, sample_weight=w)
    )


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
        (tn.gce, {"loss": lambda b: b.rate}, "`loss` must be 'absolute', 'squared' or 'rejection'"),
        ("cox", {}, r"No limits are known for 'cox' of a sketch\. They are for ece"),
        (lambda s: 1.0, {}, "No limits are known for '<lambda>'"),
        ("ks", {"bins": 10}, "'ks' has no options"),
        (tn.squared_ece, {"bins": tn.Isotonic()}, "`bins` must not look at the labels"),
        (tn.ece, {"bins": tn.Distinct()}, "need every distinct score, which a sketch does not keep"),
    ],
)
def test_what_has_no_limits_is_refused_with_the_reason(measure, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.bounded(measure, tn.sketch(*MANY), **options)


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


def test_a_ratio_to_next_to_nothing_may_be_infinite_and_off_by_as_much():
    y, p = np.array([1, 1, 0]), np.array([1e-100, 1e-200, 5e-321])
    found = tn.bounded(tn.observed_expected, tn.sketch(y, p))
    inside(found, tn.observed_expected(y, p))
    assert (found.value, found.error) == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("y", "p", "w"),
    [
        ([0, 1, 1, 0], [0.2, 0.25, 0.7, 0.701], [1e9 + 0.5, 1, 1e-8, 1.3e-8]),
        ([1, 0, 0, 0], [0.2, 0.3, 0.7, 0.701], [5e10, 5e10, 1, 1]),
        ([1] + [0] * 200_000, [0.2, *np.linspace(0.1, 0.45, 199_999), 0.7], None),
    ],
)
@pytest.mark.parametrize(("measure", "options"), [(tn.mce, {}), (tn.gce, {"loss": "squared", "norm": "max"})])
def test_a_bin_that_weighs_next_to_nothing_keeps_its_digits(y, p, w, measure, options):
    of_rows = measure(y, p, bins=2, sample_weight=w, **options)
    found = tn.bounded(measure, tn.sketch(y, p, sample_weight=w), bins=2, **options)
    assert found.low <= of_rows <= found.high
    assert found.error < 1e-9


@pytest.mark.parametrize("norm", [3.7, 50.0, 1000.0])
@pytest.mark.parametrize("bins", [10, tn.EqualMass(10), tn.Isotonic(), tn.BlockIsotonic()], ids=str)
def test_powers_of_high_degree_do_not_vanish(bins, norm):
    y, p = demo(2_000)
    found = tn.bounded(tn.ece, tn.sketch(y, p), bins=bins, norm=norm)
    inside(found, tn.ece(y, p, bins=bins, norm=norm))
    assert found.low > 0
    small = 0.3 + np.arange(1000) * 1e-6  # gaps of 5e-4 at most
    y = np.arange(1000) % 10 < 3
    inside(tn.bounded(tn.ece, tn.sketch(y, small), bins=bins, norm=norm), tn.ece(y, small, bins=bins, norm=norm))


def test_rejection_in_a_norm_of_high_degree():
    y, p = demo(2_000)
    options = {"loss": "rejection", "norm": 1e6, "bins": 10}
    inside(tn.bounded(tn.gce, tn.sketch(y, p), **options), tn.gce(y, p, **options))


def test_a_single_row_may_be_fewer_than_the_fewest_rows_of_a_block():
    P = np.array([[0.9, 0.1], [0.3, 0.7], [0.2999, 0.7001], [0.2998, 0.7002], [0.2997, 0.7003]])
    s = tn.sketch([1] * 5, P, kind="top-label")
    for measure, options in ((tn.gce, {"loss": "squared"}), (tn.ece, {"norm": "l2"})):
        options["bins"] = tn.BlockIsotonic(n_min=3)
        inside(tn.bounded(measure, s, **options), measure([1] * 5, P, kind="top-label", **options))


@pytest.mark.parametrize(
    ("y", "p", "w"),
    [
        ([1, 0], [0.3, 0.6], [1.0, 1e-17]),
        ([1, 0], [0.3, 0.6], [10**17, 1]),
        ([1, 1, 0], [0.3, 0.301, 0.3005], [10**9, 10**9, 1]),
        ([0, 0, 1], [0.3, 0.301, 0.3005], [10**9, 10**9, 1]),
        ([1, 1, 0], [0.3, 0.301, 0.3005], [1e6, 1e6, 1e-6]),
        ([1, 0, 1], [1e-25, 0.3, 0.3001], None),
        ([1, 0, 0, 1, 1, 1, 1], [1e-300, 0.5 - 2**-54, 0.5 - 2**-54, 0.5 + 2**-53, 0.5, 1e-300, 0.25], None),
        ([1, 1, 0], [1e-300, 1e-299, 1 - 2**-53], [0.1, 0.2, 0.3]),
        ([1, 1, 0], [0.3, 0.3, 0.3], [1e5, 1e5, 1.3e-6]),
        ([0, 1, 1, 0, 0], [1.001e-300, 1.001e-300, 9.99e-26, 9.99e-301, 0.0], [1.0, 1e-12, 1e-12, 1e-17, 1.0]),
        ([0, 1, 1, 0], [1e-300, 1e-300, 0.9, 0.0], None),
    ],
)
def test_intercepts_far_out_lie_within_their_limits(y, p, w):
    found = tn.bounded(tn.calibration_intercept, tn.sketch(y, p, sample_weight=w))
    inside(found, tn.calibration_intercept(y, p, sample_weight=w))
    assert found.low <= found.high


def test_a_label_too_light_to_count_beside_the_other_leaves_the_intercept_open():
    y, w = [1, 1, 0], [1e6, 1e6, 1e-6]
    assert math.isnan(tn.calibration_intercept(y, [0.3, 0.3, 0.3], sample_weight=w))
    assert tn.bounded(tn.calibration_intercept, tn.sketch(y, [0.3, 0.301, 0.3005], sample_weight=w)).high == math.inf


@pytest.mark.parametrize(
    ("y", "p", "w"),
    [
        ([0] * 10 + [1], [1e-10 + i * 1e-14 for i in range(10)] + [0.5], [1.0] * 10 + [1e-16]),
        ([1] * 10 + [0], [1 - 1e-10 - i * 1e-14 for i in range(10)] + [0.5], [1.0] * 10 + [1e-16]),
        ([1] * 10 + [0], [1 - 1e-10 - i * 1e-14 for i in range(10)] + [0.5], [0.1] * 10 + [1e-16]),
        ([0, 0, 1], [0.138, 0.126, 0.1381], [1, 1e-9, 1e-26]),
        ([1, 1, 0], [0.862, 0.874, 0.8619], [1, 1e-9, 1e-26]),
    ],
)
@pytest.mark.parametrize("test", ["t", "t-variance-for-deviation"])
def test_labels_that_agree_but_for_next_to_no_weight_are_not_taken_to_agree(y, p, w, test):
    found = tn.bounded(tn.tce, tn.sketch(y, p, sample_weight=w), bins=1, test=test)
    assert found.low <= tn.tce(y, p, sample_weight=w, bins=1, test=test) <= found.high


def test_labels_that_all_agree_refute_every_score_but_theirs():
    w = [0.1, 0.2, 0.3]
    for label, p in ((0, [0.0, 1e-9, 0.3]), (1, [1.0, 1 - 1e-9, 0.7])):
        found = tn.bounded(tn.tce, tn.sketch([label] * 3, p, sample_weight=w), bins=1, test="t")
        assert (found.low, found.high) == pytest.approx((250 / 3, 250 / 3))


def test_cuts_of_equal_mass_hold_where_millions_of_small_weights_are_lost_in_a_running_sum():
    n = 2_000_000
    p = np.concatenate([[0.1], np.linspace(0.2, 0.3, n), [0.9]])
    y = p > 0.5
    w = np.concatenate([[1.0], np.full(n, 2.0**-53), [1 + 1e-10]])
    of_rows = tn.ace(y, p, bins=2, sample_weight=w)
    assert of_rows < 1e-6  # all in one bin; a sum without rounding makes it two, off by 0.1
    assert tn.ece([0, 1], [0.1, 0.9], bins=2) == pytest.approx(0.1)
    found = tn.bounded(tn.ace, tn.sketch(y, p, sample_weight=w), bins=2)
    assert found.low <= of_rows <= found.high
