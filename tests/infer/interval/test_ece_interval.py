"""Confidence sets for the calibration error: laws, defaults and messages of all methods."""

import itertools
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows, weighted_rows

import trueness as tn
from trueness import ece_interval, simulate

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
METHODS = pytest.mark.parametrize("method", ["score", "analytic"])


def asked(*args, **options):
    """The interval, or None where the rows say nothing."""
    try:
        return ece_interval(*args, **options)
    except tn.InputError as error:
        if "No bin holds two rows" not in str(error):
            raise
        return None


@METHODS
@given(pairs=rows, cut=st.integers(0, 40), seed=st.integers(0, 99))
def test_a_tally_in_any_order_and_split_gives_the_same_bits(method, pairs, cut, seed):
    y, p = arrays(pairs)
    order = np.random.default_rng(seed).permutation(y.size)
    cut %= y.size
    merged = tn.tally(y[:cut], p[:cut]) + tn.tally(y[cut:], p[cut:])
    options = {"bins": 3, "method": method, "seed": seed, "squared": True}
    found = asked(y, p, **options)
    assert asked(merged, **options) == asked(y[order], p[order], **options) == found
    if found is not None:
        assert found.estimate == pytest.approx(tn.squared_ece(y, p, bins=3), abs=1e-12)
        assert found.low <= max(found.estimate, 0) + 1e-15
        assert max(found.estimate, 0) <= found.high + 1e-15
        assert ece_interval(y, p, **options | {"squared": False}) == found.root()


@METHODS
@given(data=weighted_rows())
def test_a_whole_number_weight_repeats_the_row(method, data):
    y, p, w = data
    times = w.astype(int)
    weighted = asked(y, p, sample_weight=w, bins=4, method=method, seed=1)
    repeated = asked(np.repeat(y, times), np.repeat(p, times), bins=4, method=method, seed=1)
    if repeated is None:
        assert weighted is None
        return
    assert (weighted.n, weighted.includes_zero, weighted.bins) == (
        repeated.n,
        repeated.includes_zero,
        repeated.bins,
    )
    assert (weighted.estimate, weighted.low, weighted.high) == pytest.approx(
        (repeated.estimate, repeated.low, repeated.high), abs=1e-7
    )


@METHODS
def test_a_whole_number_weight_repeats_the_row_of_a_matrix(method):
    d = simulate.multiclass(80, 3, distortion=simulate.LabelNoise(0.9), seed=3)
    w = np.random.default_rng(0).integers(0, 3, 80)
    options = {"k": 2, "bins": 3, "method": method, "squared": True, "seed": 1}
    a = ece_interval(d.y_true, d.y_prob, sample_weight=w, **options)
    b = ece_interval(np.repeat(d.y_true, w), np.repeat(d.y_prob, w, axis=0), **options)
    assert (a.n, a.includes_zero, a.bins) == (b.n, b.includes_zero, b.bins)
    assert (a.estimate, a.low, a.high) == pytest.approx((b.estimate, b.low, b.high), abs=1e-12)


@METHODS
def test_the_confidence_of_two_classes_is_that_of_a_tally_of_confidences(method):
    d = simulate.multiclass(400, 2, distortion=simulate.Temperature(2), seed=2)
    tally = tn.tally(d.y_true, d.y_prob, kind="confidence")
    for options in ({"k": 1}, {"kind": "confidence"}):
        found = ece_interval(d.y_true, d.y_prob, method=method, seed=4, **options)
        # Of the rows, the interval also says that two columns were taken for their top label.
        assert "top label" in found.note
        assert replace(found, note="") == ece_interval(tally, method=method, seed=4)


def test_wrong_scores_are_rejected_and_a_higher_level_gives_a_larger_set():
    d = simulate.binary(3000, distortion=simulate.Logit(slope=0.4), seed=1)
    for method in ("score", "analytic"):
        sets = [
            ece_interval(d.y_true, d.y_prob, method=method, level=level, seed=0)
            for level in (0.6, 0.9, 0.99)
        ]
        assert all(a.hull[0] >= b.hull[0] and a.high <= b.high for a, b in itertools.pairwise(sets))
        assert not sets[-1].includes_zero
        assert d.true_ece("l2") in sets[-1]


def test_the_lower_end_is_zero_when_zero_is_not_rejected():
    d = simulate.binary(300, seed=1)
    found = ece_interval(d.y_true, d.y_prob, seed=0)
    assert (found.includes_zero, found.low, found.low_closed, found.is_interval) == (
        True,
        0.0,
        True,
        True,
    )
    assert found.bins == "MassAndWidth(mass=10, width=10): 18 bins with rows"


def test_the_result_names_its_bins():
    d, e = simulate.binary(1000, seed=1), simulate.multiclass(1000, 4, seed=1)
    assert ece_interval(d.y_true, d.y_prob, method="analytic").bins.startswith("EqualWidth(n=16)")
    assert ece_interval(e.y_true, e.y_prob, k=2, seed=0).bins.startswith(
        "cubes, 10 cells per axis: "
    )
    simplices = ece_interval(e.y_true, e.y_prob, k=4, bins=3, seed=0).bins
    assert simplices.startswith("simplices of equal volume, 3 per edge")


def test_defaults_are_written_out():
    d = simulate.binary(200, distortion=simulate.Logit(slope=0.4), seed=2)
    default, written = (
        {"seed": 0},
        {"level": 0.95, "method": "score", "squared": False, "weight_type": "auto"},
    )
    assert ece_interval(d.y_true, d.y_prob, **default) == ece_interval(
        d.y_true, d.y_prob, **default, **written
    )
    for method in ("bootstrap", "subsampling", "adaptive-hulc"):
        options = {"method": method, "bins": 5}
        drawn = ece_interval(d.y_true, d.y_prob, **options)
        assert drawn == ece_interval(d.y_true, d.y_prob, resamples=500, **options, **default)
        assert drawn.n == 200
    assert ece_interval(d.y_true, d.y_prob, bins=5, **default) == ece_interval(
        d.y_true, d.y_prob, bins=5, k=1, seed=0
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0.5}, "`level` must lie strictly between 0.5 and 1; got 0.5"),
        ({"level": True}, "`level` must lie"),
        ({"method": "magic"}, "`method` must be"),
        ({"seed": "a"}, "`seed` must be"),
        ({"squared": 1}, "`squared` must be True or False"),
        ({"support": "all"}, "`support` must be 'published' or 'reachable'"),
        ({"k": 2}, "`k` must be None or 1 for a vector"),
        ({"k": 1.0}, "`k` must be a whole number"),
        ({"bins": tn.BlockIsotonic()}, "must not depend on the labels"),
        (
            {"bins": tn.EqualMass(3), "method": "analytic"},
            "must be of equal width for `method='analytic'`",
        ),
        ({"sample_weight": [0.5, 1, 1, 1], "weight_type": "frequency"}, "must be whole numbers"),
        (
            {"sample_weight": [0.5, 1, 1, 1], "method": "analytic"},
            "must be whole numbers .*taken by `method='score'`",
        ),
        (
            {"sample_weight": [1e-7] * 4, "weight_type": "frequency"},
            "must be whole numbers .* `weight_type='importance'`",
        ),
        (
            {"bins": 1000},
            r"No bin holds two rows, .*; 4 rows are in as many bins\. Use fewer `bins`",
        ),
        ({"smoothness": 0.5}, "`smoothness` is not for `method='score'` with k = 1"),
        ({"smoothness": 2, "method": "analytic"}, r"`smoothness` must lie in \(0, 1\]; got 2"),
        (
            {"smoothness": 0.5, "method": "analytic", "bins": 3},
            "`smoothness` sets the default number of bins",
        ),
        ({"level": 1 - 0.9e-9, "method": "analytic"}, "`level` must be at most 1 - 1e-09"),
        ({"level": 0.99991}, r"`level` must be at most 0\.9999 for `method='score'`"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(tn.InputError, match=message):
        ece_interval([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.8], **options)


def test_other_views_of_a_matrix_and_single_rows_are_refused():
    d = simulate.multiclass(30, 3, seed=0)
    for kind in ("classwise", "top-label"):
        with pytest.raises(tn.InputError, match="`kind` must be 'confidence'"):
            ece_interval(d.y_true, d.y_prob, kind=kind)
        with pytest.raises(tn.InputError, match="`kind` must be 'confidence'"):
            ece_interval(tn.tally(d.y_true, d.y_prob, kind=kind), method="analytic")
    with pytest.raises(
        tn.InputError, match="No bin holds two rows, so the error cannot be estimated; 1 rows are"
    ):
        ece_interval([1], [0.4])


def test_rows_that_are_mostly_alone_are_a_warning():
    p = [0.01, 0.011, 0.3, 0.5, 0.7, 0.9]
    with pytest.warns(tn.errors.FewRowsWarning, match="4 of 6 rows are alone in their bin"):
        ece_interval([0, 1, 0, 1, 0, 1], p, bins=6, seed=0)
    with warnings.catch_warnings():  # not a mark: that of the module would come first
        warnings.simplefilter("error", tn.TruenessWarning)
        ece_interval([0, 1, 0, 1], [*p[:2], 0.5, 0.9], bins=4, seed=0)  # half is not most


def test_cells_of_one_row_have_the_set_of_algorithm_1():
    """T = 0, and the plug-in variance is that of ‖U‖² over the rows, since every covariance is zero."""
    y, p = [0, 1, 1], [0.1, 0.5, 0.8]
    with pytest.warns(
        tn.errors.FewRowsWarning,
        match="No bin holds two rows, so the estimate is 0 whatever the labels",
    ):
        found = ece_interval(y, p, bins=10, method="analytic", level=0.9, squared=True)
    s = np.std(np.subtract(y, p) ** 2) / math.sqrt(3)
    assert (found.estimate, found.low, found.includes_zero) == (0, 0, True)
    assert found.high == pytest.approx(1.6448536269514722 * s, rel=1e-12)
    assert "No bin holds two rows" in found.note


def test_smoothness_sets_the_default_cells():
    d, many = simulate.binary(300, seed=0), simulate.multiclass(300, 4, seed=0)
    for s in (1.0, 0.3):
        bins = round(300 ** (2 / (4 * s + 1)))
        for options in ({"method": "analytic"}, {"method": "hulc", "seed": 1}):
            rough = ece_interval(d.y_true, d.y_prob, smoothness=s, **options)
            assert rough == ece_interval(d.y_true, d.y_prob, bins=bins, **options)
        for weights in ({}, {"weight_type": "importance", "sample_weight": np.linspace(1, 2, 300)}):
            rough = tn.squared_ece(d.y_true, d.y_prob, smoothness=s, **weights)
            assert rough == tn.squared_ece(d.y_true, d.y_prob, bins=bins, **weights)
        for k, free in {2: 2, 4: 3}.items():
            bins = round(300 ** (2 / (4 * s + free)))
            several = tn.squared_ece(many.y_true, many.y_prob, k=k, smoothness=s)
            assert several == tn.squared_ece(many.y_true, many.y_prob, k=k, bins=bins)
            rough = ece_interval(many.y_true, many.y_prob, k=k, smoothness=s, method="analytic")
            assert rough == ece_interval(
                many.y_true, many.y_prob, k=k, bins=bins, method="analytic"
            )


@pytest.mark.parametrize("K", [3, 10])
def test_the_rule_for_m_has_the_constant_1_over_the_classes(K):
    """Remark 2.1 is about m; cells per axis are mK for k < K, and m for k = K and for P(positive)."""
    n, s = 500, 0.5
    d, one = simulate.multiclass(n, K, seed=0), simulate.binary(n, seed=0)
    rough = {"smoothness": s, "method": "analytic"}
    for k in (1, 2):
        m = n ** (2 / (4 * s + k)) / K
        assert ece_interval(d.y_true, d.y_prob, k=k, **rough) == ece_interval(
            d.y_true, d.y_prob, k=k, bins=round(m * K), method="analytic"
        )
    m = round(n ** (2 / (4 * s + K - 1)))
    for bins in (None, max(2, m)):
        options = rough if bins is None else {"bins": bins, "method": "analytic"}
        full = ece_interval(d.y_true, d.y_prob, k=K, **options)
        assert full.bins.startswith(f"simplices of equal volume, {max(2, m)} per edge")
    bins = round(n ** (2 / (4 * s + 1)))
    assert ece_interval(one.y_true, one.y_prob, **rough).bins.startswith(f"EqualWidth(n={bins})")


@pytest.mark.parametrize("score", [1e-93, 1e-200, 5e-324])
def test_residuals_whose_squares_vanish_give_the_exact_limit(score):
    found = ece_interval([0, 0, 0, 0], [score] * 4, seed=0)
    assert (found.includes_zero, found.low) == (True, 0)
    assert found.high == pytest.approx(1 - 0.025**0.25)  # none of four
    among_others = ece_interval([0] * 4 + [1, 0, 1] * 9, [score] * 4 + [0.6] * 27, bins=2, seed=0)
    assert among_others.high < 0.4


def test_no_error_is_larger_than_one_and_that_of_several_scores_than_two():
    for squared in (False, True):
        assert ece_interval([0, 1], [0.4, 0.4], seed=0, squared=squared).high == 1
    y = np.arange(30) % 3
    found = ece_interval(y, np.eye(3)[(y + 1) % 3], k=3, bins=2, squared=True, seed=0)
    assert (found.estimate, found.high) == (pytest.approx(2), 2)


def test_resampled_sets_do_not_go_below_0():
    """The estimate of calibrated rows is negative in many resamples."""
    d = simulate.binary(60, seed=1)
    found = ece_interval(d.y_true, d.y_prob, bins=4, method="basic-bootstrap", squared=True, seed=0)
    assert (found.low, found.includes_zero, found.low_closed) == (0, True, True)
    far = ece_interval([1] * 59 + [0], [0.2] * 60, bins=4, method="bootstrap", squared=True, seed=0)
    assert far.low > 0.4
    assert not far.includes_zero


def test_levels_up_to_their_limits_are_accepted():
    y, p = [0, 1, 1, 0], [0.2, 0.4, 0.6, 0.3]
    for level in (0.5000001, 1 - 1e-9):
        assert ece_interval(y, p, level=level, method="analytic", bins=2).level == level
    assert ece_interval(y, p, level=0.9999, bins=2, seed=0).level == 0.9999


def test_small_numbers_are_printed_with_their_digits():
    printed = str(
        ece_interval([1] * 40 + [0] * 19_960, [0.004] * 20_000, level=0.9, squared=True, seed=0)
    )
    assert "[2.23e-06, 6.47e-06]" in printed
    assert "0.0000" not in printed


@pytest.mark.slow
def test_equal_mass_has_more_power_than_equal_width_for_confident_scores():
    power = dict.fromkeys(("score", "analytic"), 0)
    for seed in range(200):
        d = simulate.binary(
            400, scores=simulate.Beta(12, 0.25), distortion=simulate.Logit(shift=-1), seed=seed
        )
        for method in power:
            power[method] += not ece_interval(
                d.y_true, d.y_prob, method=method, level=0.9, seed=0
            ).includes_zero
    assert power["score"] > power["analytic"] + 40


def test_a_printed_interval_has_its_cells_in_words():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    found = tn.ece_interval(rng.random(500) < p, p)
    assert found.bins.startswith("MassAndWidth(mass=")
    assert re.search(
        r"\(score, n = 500, (\d+) bins of equal mass, cut at \1 of equal width: \d+ bins with rows\)",
        str(found),
    )
    edges = tn.Edges(np.linspace(0, 1, 2001))
    assert "(n = 9, bins between given edges)" in str(
        replace(found, method="", n=9, bins=repr(edges))
    )
