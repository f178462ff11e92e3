"""A sketch depends on its rows alone, not on their order or partition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, labels, matrices, rows, weighted_rows

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@given(rows=rows, cuts=st.lists(st.integers(0, 40), max_size=3), seed=st.integers(0, 9))
def test_order_and_partition_do_not_change_a_byte(rows, cuts, seed):
    y, p = arrays(rows)
    order = np.random.default_rng(seed).permutation(y.size)
    ends = [0, *sorted(min(c, y.size) for c in cuts), y.size]
    pieces = [tn.sketch(y[order][a:b], p[order][a:b]) for a, b in itertools.pairwise(ends)]
    assert sum(pieces).to_bytes() == sum(reversed(pieces)).to_bytes() == tn.sketch(y, p).to_bytes()


@given(a=rows, b=rows, c=rows)
def test_addition_is_associative_and_commutative(a, b, c):
    a, b, c = (tn.sketch(*arrays(part)) for part in (a, b, c))
    assert (a + b) + c == a + (b + c) == c + (b + a)
    assert a + tn.sketch([], []) == a == 0 + a


@given(weighted_rows())
def test_whole_weights_are_repeated_rows(rows):
    y, p, w = rows
    weighted = tn.sketch(y, p, sample_weight=w)
    repeated = tn.sketch(np.repeat(y, w.astype(int)), np.repeat(p, w.astype(int)))
    assert np.array_equal(weighted.parts[0].table, repeated.parts[0].table)


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@given(rows=matrices())
def test_a_matrix_has_a_part_for_each_problem(kind, rows):
    y, P = rows
    s = tn.sketch(y, P, kind=kind)
    assert tn.brier(s) == pytest.approx(tn.brier(y, P, kind=kind), abs=1e-15)
    assert (s.n, s.kind) == (y.size, kind)


@given(rows=rows)
def test_what_needs_only_sums_is_exact(rows):
    y, p = arrays(rows)
    s = tn.sketch(y, p)
    assert tn.brier(s) == tn.brier(y, p)
    for bins in (1, 2, 8, 64, 512, [0, 0.25, 1]):
        assert tn.ece(s, bins=bins) == tn.ece(y, p, bins=bins)
        assert tn.squared_ece(s, bins=bins) == tn.squared_ece(y, p, bins=bins)


# The largest differences between a sketch and its rows in the experiments of docs/reference/sums.md.
NEAR = {
    "ece": (tn.ece, {}, 3e-4),
    "ace": (tn.ace, {}, 3e-4),
    "ece, isotonic bins": (tn.ece, {"bins": tn.Isotonic()}, 4e-4),
    "ece, isotonic blocks": (tn.ece, {"bins": tn.BlockIsotonic()}, 4e-4),
    "mce": (tn.mce, {}, 7e-4),
    "mce, isotonic bins": (tn.mce, {"bins": tn.Isotonic()}, 6e-3),
    "squared ece": (tn.squared_ece, {}, 3e-5),
    "squared ece, importance": (tn.squared_ece, {"weight_type": "importance"}, 3e-5),
    "smooth ece": (tn.smooth_ece, {}, 9e-5),
    "log loss": (tn.log_loss, {}, 6e-6),
    "auc": (tn.auc, {}, 5e-6),
    "miscalibration": (lambda sums: tn.corp(sums).miscalibration, {}, 5e-5),
    "ici": (tn.ici, {}, 9e-6),
    "e90": (tn.measure.e90, {}, 3e-5),
    "emax": (tn.measure.emax, {}, 4e-5),
    "ks": (lambda sums: tn.calibration_test(sums, method="ks").statistic, {}, 4e-5),
    "kuiper": (lambda sums: tn.calibration_test(sums, method="kuiper").statistic, {}, 6e-5),
    "slope": (tn.calibration_slope, {}, 3e-5),
    "intercept": (tn.calibration_intercept, {}, 2e-8),
    "tce": (tn.tce, {}, 2.6),
    "tce, ten bins": (tn.tce, {"bins": 10}, 0.35),
    "tce, equal mass": (tn.tce, {"bins": tn.EqualMass(10)}, 0.35),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", [(1, 3), (1, 1), (2, 2), (0.5, 0.5)])
@pytest.mark.parametrize("seed", range(100, 104))
def test_values_are_as_near_as_documented(law, seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(*law, 200_000)
    y = rng.random(p.size) < p
    sketch, tally = tn.sketch(y, p), tn.tally(y, p)
    for name, (measure, options, most) in NEAR.items():
        assert abs(measure(sketch, **options) - measure(tally, **options)) <= most, name


@given(
    rows=st.lists(
        st.tuples(labels, st.integers(0, 100).map(lambda i: i / 100)), min_size=2, max_size=60
    )
)
def test_scores_of_two_decimals_are_exact(rows):
    y, p = arrays(rows)
    s = tn.sketch(y, p)
    for measure in (tn.ece, tn.ace, tn.tce, tn.squared_ece, tn.calibration_slope, tn.auc):
        assert measure(s) == pytest.approx(measure(y, p), abs=1e-9, nan_ok=True)


def test_memory_is_bounded():
    rng = np.random.default_rng(0)
    p = rng.beta(0.2, 0.2, 500_000)
    assert tn.sketch(rng.random(p.size) < p, p).parts[0].size <= 7684


def test_weights_of_one_make_another_sketch_with_the_same_measures():
    y, p = [0, 1, 1], [0.2, 0.3001, 0.7]
    plain, weighted = tn.sketch(y, p), tn.sketch(y, p, sample_weight=[1, 1, 1])
    assert plain != weighted
    for measure in (tn.ece, tn.ace, tn.brier, tn.tce, tn.squared_ece):
        assert measure(plain) == measure(weighted)


def test_a_sketch_in_place_of_rows_takes_no_rows():
    s = tn.sketch([0, 1], [0.2, 0.7])
    with pytest.raises(tn.InputError, match="`y_prob` must be left out when a Sketch is passed"):
        tn.ece(s, [0.2, 0.7])
    with pytest.raises(tn.InputError, match="`sample_weight` describes rows; this Sketch already"):
        tn.ece(s, sample_weight=[1, 1])
    with pytest.raises(tn.InputError, match="`kind` is 'confidence', but this Sketch"):
        tn.ece(s, kind="confidence")
    with pytest.raises(tn.InputError, match="An empty Sketch has no calibration error"):
        tn.ece(tn.sketch([], []))
    with pytest.raises(tn.InputError, match=r"a Sketch has none\. Pass labels and scores"):
        tn.squared_ece(s, k=2)
    with pytest.raises(
        tn.InputError, match='`ties="printed"` need the rows in order; a sketch has none'
    ):
        tn.tce(s, bins=tn.BlockIsotonic(ties="split"))
    with pytest.raises(TypeError, match="unsupported operand"):
        s + tn.tally([0, 1], [0.2, 0.7])


def test_more_rows_than_sixty_four_bits_hold_are_refused():
    s = tn.sketch([1, 1], [0.7, 0.7])
    s.parts[0].table[0, 1, 0] = 2**36
    with pytest.raises(tn.InputError, match="at most 68,719,476,736 rows of one cell"):
        s + tn.sketch([1], [0.7])


def test_a_class_that_is_never_predicted_has_no_cells():
    found = tn.sketch(
        [0, 1], [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]], kind="top-label", labels=[0, 1, 2]
    )
    assert [part.size for part in found.parts] == [1, 1, 0]
    assert [part.ends.tolist() for part in found.parts] == [[[0.9, 0.9]], [[0.8, 0.8]], []]
    assert tn.sources.Sketch.from_bytes(found.to_bytes()) == found
