"""Measures on data that fit in the head, and what is said beside the number."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn

ONES_AND_ZEROS = ([0, 1, 1, 0], [0.0, 1.0, 0.0, 1.0])  # two right, two as wrong as can be


def test_scores_of_exactly_0_and_1():
    y, p = ONES_AND_ZEROS
    assert tn.ece(y, p, bins=2) == 0.5  # each bin is right for one of its two rows
    assert tn.mce(y, p, bins=2) == 0.5
    assert tn.brier(y, p) == 0.5
    assert tn.log_loss(y, p) == math.inf
    assert tn.tce(y, p, bins=2) == 100
    assert tn.smooth_ece(y, p) == pytest.approx(tn.smooth_ece(y[::-1], p[::-1]))
    assert tn.observed_expected(y, p) == 1
    d = tn.corp(y, p, score="log")
    assert (d.score, d.miscalibration) == (math.inf, math.inf)
    assert d.uncertainty == pytest.approx(math.log(2))


def test_log_loss_of_sure_and_right_is_zero():
    assert tn.log_loss([0, 1], [0.0, 1.0]) == 0
    assert str(tn.log_loss([0, 1], [0.0, 1.0])) == "0.0"


def test_log_loss_keeps_digits_near_the_ends():
    p = np.array([1e-300, 1e-17])
    assert tn.log_loss([0, 1], [p[0], 0.5]) == pytest.approx(math.log(2) / 2, rel=1e-15)
    with pytest.warns(tn.OneClassWarning):
        assert tn.log_loss([0, 0], p) == pytest.approx(p.sum() / 2, rel=1e-12)


def test_slope_moves_scores_of_0_and_1_and_says_so():
    y, p = [0, 1, 1, 0, 1, 0], [0.0, 1.0, 0.3, 0.7, 0.6, 0.4]
    with pytest.warns(tn.MovedScoresWarning, match="2 scores are exactly 0 or 1 and were moved inwards by 1e-12"):
        found = tn.calibration_slope(y, p)
    with pytest.warns(tn.MovedScoresWarning, match="by 0.001"):
        assert tn.calibration_slope(y, p, eps=1e-3) != found
    assert 0 < found < 1


def test_slope_without_a_finite_estimate_is_nan_with_a_warning():
    with pytest.warns(tn.NoEstimateWarning, match="slope has no finite estimate"):
        assert math.isnan(tn.calibration_slope([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))
    with pytest.warns(tn.NoEstimateWarning, match="slope has no finite"):
        assert math.isnan(tn.calibration_slope([0, 1], [0.5, 0.5]))
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.calibration_intercept([1, 1], [0.3, 0.5]))
    assert {w.category for w in said} == {tn.OneClassWarning, tn.NoEstimateWarning}


def test_intercept_of_odds_that_are_off_by_a_factor():
    # Scores of 1/4 (odds 1:3), events at 1/2 (odds 1:1): the odds are three times too small.
    assert tn.calibration_intercept([0, 1] * 10, [0.25] * 20) == pytest.approx(math.log(3))


def test_observed_over_expected_without_predictions():
    assert tn.observed_expected([0, 1], [0.0, 0.0]) == math.inf
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.observed_expected([0, 0], [0.0, 0.0]))
    assert {w.category for w in said} == {tn.OneClassWarning, tn.NoEstimateWarning}


def test_brier_of_a_matrix_is_summed_over_classes_and_the_log_loss_is_of_what_came():
    y, P = [0, 2], [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]
    assert tn.brier(y, P) == (0.25 + 0.0625 + 0.0625 + 0.25 + 0.25) / 2
    assert tn.log_loss(y, P) == pytest.approx(math.log(2))


def test_scores_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    P = rng.dirichlet([1, 2, 3], size=500)
    y = rng.integers(0, 3, 500)
    w = rng.random(500)
    assert tn.log_loss(y, P, sample_weight=w) == pytest.approx(metrics.log_loss(y, P, sample_weight=w))
    assert tn.brier(y == 2, P[:, 2], sample_weight=w) == pytest.approx(
        metrics.brier_score_loss(y == 2, P[:, 2], sample_weight=w)
    )


def test_calibration_curve_of_scikit_learn_has_the_same_bins():
    calibration = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(4)
    p = rng.random(2_000)
    y = (rng.random(2_000) < p**1.5).astype(int)
    rate, score = calibration.calibration_curve(y, p, n_bins=15)
    table = tn.bin_table(y, p, bins=15)
    assert table.rate == pytest.approx(rate)
    assert table.score == pytest.approx(score)


def test_float32_sums_do_not_drift():
    """Ten million scores of float32(0.1): sums in float32 would be off by percents."""
    p = np.full(10_000_000, 0.1, dtype=np.float32)
    y = np.zeros(p.size, dtype=np.uint8)
    y[:1_000_000] = 1
    assert tn.ece(y, p) == pytest.approx(float(np.float32(0.1)) - 0.1, rel=1e-6)


def test_one_class_is_a_warning_and_the_number_comes():
    with pytest.warns(tn.OneClassWarning, match="All 3 labels are equal"):
        assert tn.ece([0, 0, 0], [0.1, 0.2, 0.3], bins=1) == pytest.approx(0.2)
    with pytest.warns(tn.OneClassWarning):
        tn.ece([1, 1], [[0.5, 0.5], [0.5, 0.5]], bins=2)
    with pytest.warns(tn.OneClassWarning):
        tn.ece([1, 1], [[0.5, 0.5], [0.5, 0.5]], bins=2, kind="confidence")


def test_fewer_rows_than_bins_is_a_warning():
    with pytest.warns(tn.FewRowsWarning, match=r"fewer rows \(2\) than bins \(10\)") as said:
        tn.ece([0, 1], [0.1, 0.9])
    assert said[0].filename == __file__  # it points at the caller


def test_top_label_of_classes_that_are_never_predicted():
    y, P = [0, 1, 2, 0], [[0.75, 0.25, 0.0], [0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.25, 0.75, 0.0]]
    # Predicted 0: confidence 0.75, right once in two; predicted 1: 0.75, never right; 2: never predicted.
    assert tn.ece(y, P, bins=2, kind="top-label") == pytest.approx((0.25 + 0.75) / 2)
    assert tn.ece(y, P, bins=2, kind="confidence") == pytest.approx(0.5)


def test_confidence_gives_a_tie_to_the_first_class():
    P = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.warns(tn.OneClassWarning):
        assert tn.ece([0, 0], P, bins=2, kind="confidence") == 0.5
    with pytest.warns(tn.OneClassWarning):
        assert tn.ece([1, 1], P, bins=2, kind="confidence") == 0.5
    assert tn.tally([0, 1], P, kind="confidence").parts[0].events.tolist() == [1]


def test_a_users_own_loss_sees_the_bin():
    seen = []

    def loss(bin_):
        seen.append(bin_)
        return 1.0

    assert tn.gce([0, 1, 1, 0], [0.25, 0.25, 0.75, 0.8], bins=4, loss=loss) == 1
    assert [(b.low_edge, b.high_edge, b.n, b.events) for b in seen] == [(0.25, 0.5, 2, 1), (0.75, 1, 2, 1)]
    assert seen[1].scores.tolist() == [0.75, 0.8]
    assert seen[0].score_weights.tolist() == [2]


def test_a_loss_that_returns_no_number_is_an_error():
    with pytest.raises(tn.InputError, match="returned None for bin 0"):
        tn.gce([0, 1], [0.2, 0.3], bins=1, loss=lambda b: None)
    with pytest.raises(tn.InputError, match="`loss` must be 'absolute'"):
        tn.gce([0, 1], [0.2, 0.3], bins=1, loss="cubic")


def test_squared_ece_chooses_bins_by_the_number_of_rows():
    rng = np.random.default_rng(0)
    p = rng.random(1_000)
    y = rng.random(1_000) < p
    assert tn.squared_ece(y, p) == tn.squared_ece(y, p, bins=16)  # 1000 ** 0.4 = 15.8
    assert tn.squared_ece(tn.tally(y, p)) == tn.squared_ece(y, p, bins=16)
    # Importance weights that are all equal have a plain estimate over pairs of rows.
    equal = tn.squared_ece(y, p, sample_weight=np.full(1_000, 0.5), weight_type="importance")
    assert equal == pytest.approx(tn.squared_ece(y, p))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, p: tn.squared_ece(y, p, k=2), "`k` must be None or 1"),
        (lambda y, p: tn.squared_ece(y, p, bins=tn.Isotonic()), "must not look at the labels"),
        (lambda y, p: tn.squared_ece(y, p, sample_weight=[0.5, 1.5, 1]), "must be whole numbers"),
        (lambda y, p: tn.gce(y, p, alpha=7), "`alpha` must lie strictly"),
        (lambda y, p: tn.gce(y, p, test=np.arange(3)), "`test` must be"),
        (lambda y, p: tn.ece(y, p, norm=np.arange(3)), "`norm` must be"),
        (lambda y, p: tn.squared_ece(y, p, sample_weight=[0.5, 1, 1]), "`weight_type='importance'` takes others"),
        (lambda y, p: tn.squared_ece(y, p, weight_type="x"), "'frequency' or 'importance'"),
        (lambda y, p: tn.tce(y, p, sample_weight=[0.5, 1, 1]), "`test='t'`"),
        (lambda y, p: tn.tce(y, p, test="z"), "`test` must be"),
        (lambda y, p: tn.tce(y, p, alpha=0), "`alpha` must lie strictly"),
        (lambda y, p: tn.corp(y, p, score="crps"), "`score` must be 'brier' or 'log'"),
        (lambda y, p: tn.ece(y, p, norm=True), "`norm` must be"),
        (lambda y, p: tn.ece(y, p, norm="rms"), "got 'rms'"),
        (lambda y, p: tn.ece(y, p, norm=0.5), "a number ≥ 1; got 0.5"),
        (lambda y, p: tn.ace(y, p, bins=[0, 1]), "or an EqualMass rule"),
        (lambda y, p: tn.calibration_slope(y, p, eps=0), "`eps` must lie strictly"),
        (lambda y, p: tn.bin_table(y, p, interval="wald"), "'exact', 'wilson' or 'jeffreys'; got 'wald'"),
    ],
)
def test_options_that_are_none(call, message):
    with pytest.raises(tn.InputError, match=message):
        call(np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]))


def test_squared_ece_of_a_matrix_looks_at_the_largest_probability():
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1, 1, 1], size=300)
    y = rng.integers(0, 3, 300)
    right = (P.argmax(axis=1) == y).astype(int)
    assert tn.squared_ece(y, P) == tn.squared_ece(right, P.max(axis=1))
    columns = [tn.squared_ece((y == c).astype(int), P[:, c], bins=5) for c in range(3)]
    assert tn.squared_ece(y, P, kind="classwise", bins=5) == pytest.approx(np.mean(columns))


@pytest.mark.parametrize("times", [[1, 2, 3, 0, 5], [3, 3, 3, 3, 3]])
def test_intervals_of_whole_weights_are_those_of_repeated_rows(times):
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.2, 0.6, 0.7, 0.8])
    weighted = tn.bin_table(y, p, bins=2, sample_weight=times)
    repeated = tn.bin_table(np.repeat(y, times), np.repeat(p, times), bins=2)
    of_tally = tn.bin_table(tn.tally(y, p, sample_weight=times), bins=2)
    assert weighted.interval == repeated.interval == of_tally.interval == "exact"
    for column in ("weight", "rate", "low", "high"):
        assert getattr(weighted, column) == pytest.approx(getattr(repeated, column))
        assert getattr(of_tally, column) == pytest.approx(getattr(repeated, column))


def test_weights_too_large_for_exact_sums_are_still_right():
    y, p = np.array([0, 1, 1]), np.array([0.25, 0.5, 0.75])
    huge = tn.ece(y, p, bins=2, sample_weight=np.array([1, 2, 1]) * 2.0**60)
    assert huge == pytest.approx(tn.ece(y, p, bins=2, sample_weight=[1, 2, 1]))
    tally = tn.tally(y, p, sample_weight=np.array([1, 2, 1]) * 2.0**60)
    assert tn.ece(tally, bins=2) == pytest.approx(huge)


def test_an_eps_below_the_last_bit_of_one():
    with pytest.warns(tn.MovedScoresWarning):
        found = tn.calibration_slope([0, 1, 1, 0], [0.0, 1.0, 0.0, 1.0], eps=1e-30)
    assert found == pytest.approx(0, abs=1e-9)


def test_observed_over_expected_of_the_smallest_scores():
    assert tn.observed_expected([0, 1], [1e-20, 1e-20]) == pytest.approx(0.5e20)
    assert tn.observed_expected(tn.binned([0, 1, 1], [0.5, 0.25, 0.25])) == 2


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        tn.ece([0, 1], [0.1, 0.9], weights=[1, 1])


def test_signatures_spell_out_the_row_options():
    import inspect

    for name in ("ece", "tce", "brier", "bin_table", "tally"):
        parameters = inspect.signature(getattr(tn, name)).parameters
        assert parameters["kind"].default == "classwise"
        assert {"labels", "pos_label", "sample_weight", "missing", "from_logits"} <= parameters.keys()
        assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())


@pytest.mark.parametrize("seed", range(20))
def test_t_tests_of_weighted_rows_that_all_came_true_refute_every_score_but_one(seed):
    """The effective number of events is that of rows, to the last bit."""
    y, p = np.repeat([0, 1], 9), np.repeat([1e-10, 1 - 1e-10], 9)
    w = np.random.default_rng(seed).random(18)
    assert tn.tce(y, p, sample_weight=w, bins=2, test="t") == pytest.approx(100)


@pytest.mark.parametrize("small", [1e-6, 1.3e-6, 3e-8])
def test_a_row_of_nearly_all_the_weight_leaves_products_of_at_least_minus_1(small):
    """Both rows are as wrong as can be; squares nearly cancel."""
    w = [1.3, small]
    assert tn.squared_ece([0, 1], [1.0, 0.0], sample_weight=w, weight_type="importance", bins=1) >= -1


@pytest.mark.parametrize(
    ("y", "p", "w", "bins", "pairs"),
    [
        ([0, 1], [0.2, 0.7], [1.0, 1e-17], 1, [(1, -0.2 * 0.3)]),
        ([0, 1], [0.3, 0.301], [1e8, 1e-8], 1, [(1, -0.3 * 0.699)]),
        ([1, 0], [0.3, 0.301], [1e-30, 1e30], 1, [(1, -0.7 * 0.301)]),
        ([0, 1, 0, 1], [0.2, 0.2003, 0.7, 0.7003], [1, 1e-17, 1, 1], 2, [(1, -0.2 * 0.7997), (2, -0.7 * 0.2997)]),
    ],
)
def test_a_pair_of_rows_counts_however_unequal_their_weights(y, p, w, bins, pairs):
    by_hand = sum(weight * product for weight, product in pairs) / sum(weight for weight, _ in pairs)
    found = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=bins)
    assert found == pytest.approx(by_hand, rel=1e-13)


def test_tied_rows_whose_pairs_are_lost_in_rounding_are_one_row():
    assert tn.squared_ece([0, 1], [0.3, 0.3], sample_weight=[1.0, 1e-17], weight_type="importance", bins=1) == 0
    y, p, w = [0, 1, 1], [0.3, 0.3, 0.6], [1.0, 1e-17, 1e-10]
    found = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=1)
    assert found == pytest.approx(-0.3 * 0.4, rel=1e-9)


unequal = st.tuples(st.booleans(), st.floats(0, 1), st.integers(-20, 20))


@given(st.lists(unequal, min_size=2, max_size=8, unique_by=lambda row: row[1]))
def test_importance_is_the_mean_over_pairs_in_whole_fractions(rows):
    y, p, w = [r[0] for r in rows], [r[1] for r in rows], [2.0 ** r[2] for r in rows]
    u = [Fraction(int(a)) - Fraction(b) for a, b in zip(y, p, strict=True)]
    both = [(Fraction(w[i]) * Fraction(w[j]), u[i] * u[j]) for i in range(len(u)) for j in range(i)]
    mean = sum(a * b for a, b in both) / sum(a for a, _ in both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        found = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=1)
    assert found == pytest.approx(float(mean), rel=1e-12, abs=1e-12)


def test_a_score_of_1_is_refuted_by_any_number_of_rows_without_events():
    with pytest.warns(tn.OneClassWarning):
        assert tn.tce([0, 0], [1.0, 0.3], sample_weight=[10**8] * 2, bins=1) == 100
