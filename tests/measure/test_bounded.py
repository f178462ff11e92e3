"""The limits of a measure of a sketch include the measure of the rows."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import arrays, labels, scores

import trueness as tn
from trueness._kernels.grid import cell_of

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
    "auc": (tn.auc, {}),
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
    "squared ece": (tn.squared_ece, {}),
    "squared ece, mass": (tn.squared_ece, {"bins": tn.EqualMass(5)}),
    "squared ece, ten": (tn.squared_ece, {"bins": 10}),
    "brier": (tn.brier, {}),
    "log loss": (tn.log_loss, {}),
    "observed / expected": (tn.observed_expected, {}),
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
def test_walks_and_parts_of_scores_lie_within_the_limits(case, rows):
    exact, options = NAMED[case]
    y, p = arrays(rows)
    inside(tn.bounded(case.partition(",")[0], tn.sketch(y, p), **options), exact(y, p))


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


# The squared error of repeated rows needs whole-number weights.
ANY_WEIGHTS = {name: case for name, case in (CASES | NAMED).items() if case[0] is not tn.squared_ece}
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


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@pytest.mark.parametrize("measure", [tn.ece, tn.ace, tn.mce, tn.brier, tn.log_loss, tn.auc])
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


@pytest.mark.all_cases
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
        (tn.brier, {}, 1e-9),
        (tn.log_loss, {}, 2e-6),
        (tn.auc, {}, 1e-3),
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
        (tn.ace, {"norm": "l2"}, 4e-3),
        ("miscalibration", {}, 1e-3),
        ("discrimination", {}, 1e-3),
    ],
)
def test_limits_are_narrow_with_any_weights(measure, options, most):
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


def test_tiny_scores_of_weighted_rows_have_a_ratio_within_its_limits():
    y, p, w = np.array([1, 0]), np.array([3e-17, 2e-17]), np.array([0.3, 0.4])
    inside(
        tn.bounded(tn.observed_expected, tn.sketch(y, p, sample_weight=w)), tn.observed_expected(y, p, sample_weight=w)
    )


NEAR = {
    "ece": (tn.ece, {}, 3e-4),
    "ace": (tn.ace, {}, 3e-4),
    "ece, isotonic bins": (tn.ece, {"bins": tn.Isotonic()}, 4e-4),
    "ece, isotonic blocks": (tn.ece, {"bins": tn.BlockIsotonic()}, 4e-4),
    "mce, isotonic bins": (tn.mce, {"bins": tn.Isotonic()}, 6e-3),
    "squared ece": (tn.squared_ece, {}, 2e-5),
    "squared ece, importance": (tn.squared_ece, {"weight_type": "importance"}, 2e-5),
    "smooth ece": (tn.smooth_ece, {}, 9e-5),
    "slope": (tn.calibration_slope, {}, 3e-5),
    "intercept": (tn.calibration_intercept, {}, 2e-8),
    "tce": (tn.tce, {}, 2.6),
    "tce, ten bins": (tn.tce, {"bins": 10}, 0.35),
    "tce, equal mass": (tn.tce, {"bins": tn.EqualMass(10)}, 0.35),
}


@pytest.mark.parametrize("law", [(1, 3), (1, 1), (2, 2), (0.5, 0.5)])
@pytest.mark.parametrize("seed", range(100, 104))
def test_values_are_as_near_as_documented(law, seed):
    """The experiments of docs/guide/sketch.md, whose largest errors `bounded` quotes."""
    rng = np.random.default_rng(seed)
    p = rng.beta(*law, 200_000)
    y = rng.random(p.size) < p
    sketch, tally = tn.sketch(y, p), tn.tally(y, p)
    for name, (measure, options, most) in NEAR.items():
        assert abs(measure(sketch, **options) - measure(tally, **options)) <= most, name


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
        "note": "",
    }


MANY = demo(500)


@pytest.mark.parametrize(
    ("measure", "options", "largest"),
    [
        (tn.tce, {}, "2.6 percentage points"),
        (tn.tce, {"bins": 10, "test": "t"}, "0.35 in ten bins"),
        (tn.ece, {"bins": tn.Isotonic()}, "4e-4"),
        (tn.mce, {"bins": tn.BlockIsotonic()}, "6e-3"),
        (tn.squared_ece, {"weight_type": "importance"}, "2e-5"),
        (tn.smooth_ece, {}, "9e-5"),
        (tn.calibration_slope, {}, "3e-5"),
        (tn.calibration_intercept, {}, "2e-8"),
    ],
)
def test_without_limits_the_note_says_how_near_values_were(measure, options, largest):
    sketch = tn.sketch(*MANY)
    result = tn.bounded(measure, sketch, **options)
    assert result.value == measure(sketch, **options)
    assert all(map(math.isnan, (result.low, result.high, result.error)))
    assert result.note.startswith("No limits known. The largest error in the experiments of docs/guide/sketch.md (")
    assert largest in result.note
    assert str(result) == f"{measure.__name__} {result.value:.6g}, no limits known (n = 500)"


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        (lambda sums: tn.ece(sums) + 1, {}),
        (tn.gce, {"loss": lambda b: b.rate}),
        (tn.gce, {"loss": "rejection"}),
    ],
)
def test_a_function_or_loss_of_ones_own_has_a_value_without_limits(measure, options):
    sketch = tn.sketch(*MANY)
    result = tn.bounded(measure, sketch, **options)
    assert result.value == measure(sketch, **options)
    assert math.isnan(result.low)
    assert result.note.startswith("No limits known; rows are taken to lie at the mean score")


def test_a_function_of_ones_own_is_exact_where_no_cell_holds_two_scores():
    y, p = MANY
    p = p.round(2)
    result = tn.bounded(lambda sums: tn.ece(sums) + 1, tn.sketch(y, p))
    assert (result.value, result.note) == (pytest.approx(tn.ece(y, p) + 1), "")
    assert result.error <= 1e-9


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("cox", {}, "`measure` must be a function or one of 'ks', 'kuiper', .*; got 'cox'"),
        ("ks", {"bins": 10}, "`options` must be empty for 'ks'; got bins"),
        (tn.squared_ece, {"bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        (tn.ece, {"bins": tn.Distinct()}, "need every distinct score, which a sketch does not keep"),
    ],
)
def test_what_has_no_value_is_refused_with_the_reason(measure, options, message):
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
@pytest.mark.parametrize("bins", [10, tn.EqualMass(10)], ids=str)
def test_powers_of_high_degree_do_not_vanish(bins, norm):
    y, p = demo(2_000)
    found = tn.bounded(tn.ece, tn.sketch(y, p), bins=bins, norm=norm)
    inside(found, tn.ece(y, p, bins=bins, norm=norm))
    assert found.low > 0
    small = 0.3 + np.arange(1000) * 1e-6  # gaps of 5e-4 at most
    y = np.arange(1000) % 10 < 3
    inside(tn.bounded(tn.ece, tn.sketch(y, small), bins=bins, norm=norm), tn.ece(y, small, bins=bins, norm=norm))


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


def cut_rows(n=120):
    """Rows in cells that edges of ten bins cut."""
    rng = np.random.default_rng(9)
    p = rng.choice([0.1, 0.2, 0.3, 0.6, 0.9], n) + rng.uniform(-2e-4, 2e-4, n)
    return rng.integers(0, 2, n), p


def test_limits_by_default_are_those_of_the_measures_default_bins():
    y, p = cut_rows()
    sketch = tn.sketch(y, p)
    for measure, bins in ((tn.ece, 10), (tn.ace, 10), (tn.ace, tn.EqualMass(10)), (tn.mce, 10), (tn.gce, 10)):
        assert tn.bounded(measure, sketch) == tn.bounded(measure, sketch, bins=bins)
    assert tn.bounded(tn.squared_ece, sketch) == tn.bounded(tn.squared_ece, sketch, bins=7)  # 120^0.4
    assert tn.bounded(tn.gce, sketch) == dataclasses.replace(tn.bounded(tn.ece, sketch), measure="gce")
    for bins in (9, 11):
        for measure in (tn.ece, tn.ace, tn.mce, tn.gce):
            assert tn.bounded(measure, sketch, bins=bins).high != tn.bounded(measure, sketch).high


def test_the_error_is_the_distance_to_the_farther_limit():
    y, p = cut_rows()
    for measure, options in ((tn.ece, {}), (tn.mce, {}), (tn.auc, {}), ("ks", {}), ("kuiper", {}), (tn.log_loss, {})):
        found = tn.bounded(measure, tn.sketch(y, p), **options)
        assert found.low < found.high
        assert found.low <= found.value <= found.high
        assert found.error == max(found.value - found.low, found.high - found.value)
        assert found.n == 120


def test_the_room_for_rounding_grows_with_the_value():
    """A value of 1e20 keeps its first twelve digits; the limits of whole weights leave room for those."""
    found = tn.bounded(tn.observed_expected, tn.sketch([1, 1], [1e-20, 1e-20]))
    assert found.high - found.low == pytest.approx(2e-12 * 1e20, rel=1e-3)
    small = tn.bounded(tn.observed_expected, tn.sketch([0, 1, 1], [0.25, 0.5, 0.75]))
    assert small.high - small.low == pytest.approx(2e-12 * 4 / 3, rel=1e-3)
    below = tn.bounded(tn.ece, tn.sketch([0, 1], [0.25, 0.5]), bins=1)
    assert below.high - below.low == pytest.approx(2e-12, rel=1e-3)
    other = tn.bounded(tn.ece, tn.sketch([0, 1], [0.25, 0.5], sample_weight=[0.5, 0.7]), bins=1)
    assert other.high - other.low == pytest.approx(2e-10, rel=1e-3)


def test_walks_are_of_one_problem_with_rows():
    rng = np.random.default_rng(10)
    p = rng.random(30)
    P, y = np.column_stack([1 - p, p]), rng.integers(0, 2, 30)
    for name in ("ks", "kuiper"):
        with pytest.raises(tn.InputError, match=f"must be of a binary problem or of the top label .* for '{name}'"):
            tn.bounded(name, tn.sketch(y, P))
        with pytest.raises(tn.InputError, match="An empty Sketch has no calibration error"):
            tn.bounded(name, tn.sketch([], []))
        with pytest.raises(tn.InputError, match=f"`options` must be empty for '{name}'; got bins"):
            tn.bounded(name, tn.sketch(y, p), bins=3)
        assert tn.bounded(name, tn.sketch([1], [0.3])).value == pytest.approx(0.7)
        top = tn.bounded(name, tn.sketch(y, P, kind="confidence"))
        alone = tn.bounded(name, tn.sketch(y == P.argmax(axis=1), P.max(axis=1)))
        assert (top.low, top.value, top.high) == (alone.low, alone.value, alone.high)


def test_the_log_loss_of_classes_has_the_limits_of_the_labels_own_probability():
    """Given the mean of the scores of a class in a cell: all there, or all at the ends of the cell."""
    rng = np.random.default_rng(11)
    centre = rng.choice([0.2, 0.3, 0.45], (200, 2))
    P = centre + rng.uniform(-2e-4, 2e-4, (200, 2))
    P = np.column_stack([P, 1 - P.sum(axis=1)])
    y, w = rng.integers(0, 3, 200), rng.uniform(0.5, 2, 200)
    for weights in (None, w):
        one = np.ones(200) if weights is None else weights
        low = high = 0
        for k in range(3):
            number = cell_of(P[:, k])
            for cell in np.unique(number):
                ends, of = P[number == cell, k], (number == cell) & (y == k)
                if of.any():
                    n, mean = one[of].sum(), np.average(P[of, k], weights=one[of])
                    share = (ends.max() - mean) / np.ptp(ends) if np.ptp(ends) else 0
                    low -= n * np.log(mean)
                    high -= n * (share * np.log(ends.min()) + (1 - share) * np.log(ends.max()))
        found = tn.bounded(tn.log_loss, tn.sketch(y, P, sample_weight=weights))
        assert (found.low, found.high) == pytest.approx((low / one.sum(), high / one.sum()), abs=1e-9)
