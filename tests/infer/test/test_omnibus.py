"""The omnibus test: against a slow transcription, proven tails, its laws, its level, and its power."""

import itertools
import math

import numpy as np
import omnibus_transcription as slow
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

import trueness as tn
from trueness import calibration_test

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
DRAWS = 1_999


def near(found, expected, draws=DRAWS):
    """Whether two Monte-Carlo p-values agree.

    Those of the slope on tied scores vary more than a binomial share: eight seeds gave 0.88 to 0.93, with a standard
    deviation of 0.018 where that of a share is 0.007.
    """
    p = (found + expected) / 2
    return abs(found - expected) <= 8 * math.sqrt(2 * p * (1 - p) / draws) + 3 / draws


def agrees(found, pvalue, alone, too_good, draws=DRAWS):
    assert {
        name: near(found.alone[name], alone[name], draws) for name in slow.NAMES
    } == dict.fromkeys(slow.NAMES, True)
    assert near(found.pvalue, pvalue, draws)
    assert near(found.too_good, too_good, draws)
    assert found.statistic == min(found.alone.values())


CASES = {
    "ties": lambda rng: (rng.beta(0.7, 1.2, 80).round(1).clip(0.05, 0.95), 1.25, None),
    "two digits": lambda rng: (rng.random(150).round(2).clip(0.01, 0.99), 0.9, None),
    "continuous": lambda rng: (rng.random(300), 1.1, None),
    "rare": lambda rng: (rng.beta(0.3, 8, 200), 1.1, None),
    "few rows": lambda rng: (rng.random(30), 0.7, None),
    "weights": lambda rng: (
        rng.beta(0.6, 1.5, 120).clip(0.01, 0.99),
        1.15,
        rng.choice([0.5, 1.0, 3.7], 120),
    ),
    "weights and ties": lambda rng: (
        rng.integers(1, 9, 90) / 10,
        0.85,
        rng.choice([0.25, 1.5], 90),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pvalues_are_those_of_the_transcription_with_other_draws(case):
    rng = np.random.default_rng(len(case))
    p, power, w = CASES[case](rng)
    y = (rng.random(p.size) < p**power).astype(int)
    found = calibration_test(y, p, sample_weight=w, resamples=DRAWS, seed=1)
    labels = np.column_stack([y, rng.random((p.size, DRAWS)) < p[:, None]]).astype(float)
    agrees(found, *slow.answers(slow.values(labels, p, w), np.average(p, weights=w)))


def test_equal_fractional_weights_are_the_rows_without_weights():
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 1.5, 150).round(2)
    y = (rng.random(150) < p).astype(int)
    plain = calibration_test(y, p, resamples=99, seed=0)
    for scale in (0.5, 2.5):
        found = calibration_test(y, p, sample_weight=np.full(150, scale), resamples=99, seed=0)
        assert (found.pvalue, found.too_good, found.n) == (plain.pvalue, plain.too_good, 150)
        sums = tn.tally(y, p, sample_weight=np.full(150, scale))
        assert calibration_test(sums, resamples=99, seed=0).pvalue == plain.pvalue


@pytest.mark.parametrize("unit", [0.7, 1 / 3, 1e6 * math.pi])
def test_cells_of_one_weighted_row_add_nothing_in_any_unit(unit):
    """Their debiased errors are 0 but for rounding, which had ranks of its own: p was 0.08, 0.215 or 0.285."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p, w = rng.random(8).round(2).clip(0.05, 0.95), rng.gamma(1, 1, 8).round(1) + 0.1
        y = (rng.random(8) < p).astype(int)
        found = [
            calibration_test(y, p, sample_weight=w * c, resamples=99, seed=1) for c in (1, unit)
        ]
        assert (found[0].pvalue, found[0].alone) == (found[1].pvalue, found[1].alone)


def test_fractional_weights_in_any_order_and_of_any_unit():
    rng = np.random.default_rng(3)
    p, w = rng.random(400), rng.choice([0.01, 2.5], 400)
    y = (rng.random(400) < np.where(w > 1, expit(0.3 * logit(p)), p)).astype(int)
    order, found = (
        rng.permutation(400),
        calibration_test(y, p, sample_weight=w, resamples=199, seed=0),
    )
    assert found.pvalue == 1 / 200
    assert (
        calibration_test(y[order], p[order], sample_weight=w[order], resamples=199, seed=0) == found
    )
    assert calibration_test(
        y, p, sample_weight=3.7 * w, resamples=199, seed=0
    ).alone == pytest.approx(found.alone)
    some = np.append(w, [0.0, 0.0])  # rows of weight 0 are left out
    assert (
        calibration_test(
            [*y, 0, 1], [*p, 0.5, 0.5], sample_weight=some, resamples=199, seed=0
        ).alone
        == found.alone
    )
    certain = np.append(p[:-1], 1.0)
    assert calibration_test(np.append(y[:-1], 0), certain, sample_weight=w).contradicted == 1
    for unit in (1.0, 0.001):
        sums = tn.tally([0, 1, 1], [0.2, 0.2, 0.7], sample_weight=unit * np.array([0.5, 1, 1]))
        with pytest.raises(
            tn.InputError,
            match=r"`sample_weight` must be equal for all rows of a score .* Pass the",
        ):
            calibration_test(sums)


@pytest.mark.parametrize("weight", [None, 0.5, 3.7])
@pytest.mark.parametrize("wrong", [1, 4])
def test_certain_scores_move_to_the_share_of_their_rows_by_half_a_unit_at_most(wrong, weight):
    """Scores are rounded to tenths; some rows of score 0, and as many of score 1, have the impossible label."""
    rng = np.random.default_rng(4)
    p = np.repeat([0.0, 0.3, 0.4, 0.7, 1.0], [40, 20, 20, 20, 50])
    y, w = (rng.random(150) < p).astype(int), np.full(150, 0.5)
    at = [*range(wrong), *range(150 - wrong, 150)]
    y[at], w[at] = 1 - y[at], weight or 0.5
    options = {"sample_weight": None if weight is None else w, "resamples": 99, "seed": 0}
    found = calibration_test(y, p, rounded_to=0.1, **options)
    moved = np.where(p == 0, min(wrong / 40, 0.05), np.where(p == 1, 1 - min(wrong / 50, 0.05), p))
    expected = calibration_test(y, moved, **options)
    assert (found.alone, found.pvalue) == (expected.alone, expected.pvalue)
    assert (found.contradicted, found.too_good) == (2 * wrong, None)


# ---- proven tails, below the floor of redrawn labels


def kl(o, n, e):
    """O log(O / E) + (N − O) log((N − O) / (N − E))."""
    return sum(a * math.log(a / b) for a, b in ((o, e), (n - o, n - e)) if a)


def direction_bound(y, p, a):
    """The smallest of Chernoff's bounds on either side, by brute force over t."""
    s = float(((y - p) * a).sum())

    def exponent(log_t):
        t = math.copysign(math.exp(log_t), s) * a
        grown = np.where(t > 30, t + np.log(p), np.log1p(p * np.expm1(np.minimum(t, 30))))
        return float((grown - t * p).sum()) - math.exp(log_t) * abs(s)

    best = minimize_scalar(exponent, bounds=(-12, 6), options={"xatol": 1e-10}).fun if s else 0.0
    return min(1.0, 2 * math.exp(best))


def proven(y, p):
    """Seven bounds at most: all rows, fine and coarse cells by sum and by maximum, and two directions; Bonferroni."""
    x, v, bounds = logit(p), p * (1 - p), []
    fine, _, _, coarse = slow.partitions(p)
    for cells in (np.zeros(p.size, int), fine, coarse):
        d = [
            kl(y[at].sum(), at.sum(), p[at].sum()) for at in (cells == b for b in np.unique(cells))
        ]
        bounds.append(stats.gamma.sf(max(0.0, sum(d) - len(d) * math.log(2)), len(d)))
        bounds += [2 * len(d) * math.exp(-max(d))] if len(d) > 1 else []
    flat = np.ptp(x) == 0
    bounds += [
        1.0 if flat else direction_bound(y, p, x - (v @ x) / v.sum()),
        direction_bound(y, p, 1 - 2 * p),
    ]
    return min(1.0, len(bounds) * min(bounds))


@pytest.mark.parametrize(
    "error", ["shift", "slope", "one cell", "all cells", "Brier", "one score", "all events"]
)
def test_at_the_floor_the_pvalue_is_a_proven_bound(error):
    rng = np.random.default_rng(0)
    p = (
        np.full(400, 0.3)
        if error == "one score"
        else rng.choice([0.1, 0.25, 0.4, 0.5, 0.8, 0.93], 400)
    )
    truth = {
        "shift": p / 2,
        "slope": expit(0.3 * logit(p)),
        "one cell": np.where(p == 0.4, 0.95, p),
        "all cells": np.where(
            (10 * p).astype(int) % 2, p + 0.17 * (p < 0.8), np.maximum(p - 0.2, 0.01)
        ),
        "Brier": 0.5 + 0.6 * (p - 0.5),
        "one score": np.full(400, 0.55),
        "all events": np.ones(400),
    }[error]
    y = (rng.random(400) < truth).astype(int)
    found = calibration_test(y, p, resamples=19, seed=0)
    expected = min(0.05, proven(y, p))
    assert math.log(found.pvalue) == pytest.approx(math.log(expected), rel=1e-5)
    assert expected < 0.04
    assert ("The p-value, which is smaller, is a proven bound." in found.assumptions) == (
        expected < 0.05
    )
    assert min(found.alone.values()) == 0.05


def test_the_bound_of_one_score_is_chernoffs():
    """1,000 events among 2,000 rows of score 0.3: five bounds, of which four are 2 exp(−n KL(0.5, 0.3))."""
    found = calibration_test(np.arange(2_000) % 2, np.full(2_000, 0.3), seed=0)
    assert math.log(found.pvalue) == pytest.approx(math.log(10) - kl(1_000, 2_000, 600), rel=1e-9)
    far = calibration_test(np.ones(4_000), np.full(4_000, 0.1), seed=0)
    assert far.pvalue == 2.2250738585072014e-308  # the smallest number stands for what is smaller
    rare = calibration_test([1, 1, 0, 0], [1e-320, 1e-200, 1 - 1e-16, 0.5], seed=0)
    assert 0 < rare.pvalue < 1e-150


def test_proven_pvalues_keep_every_level_by_enumeration():
    """Under calibration P(p ≤ α) ≤ α: all label vectors of six rows, each with its probability."""
    p = np.sort(np.random.default_rng(0).beta(0.5, 1, 6).clip(0.01, 0.99))
    every = np.array(list(itertools.product([0, 1], repeat=6)))
    chance = np.where(every == 1, p, 1 - p).prod(axis=1)
    found = np.array([calibration_test(y, p, resamples=1, seed=0).pvalue for y in every])
    bound = np.array([proven(y, p) for y in every])
    assert (found >= np.minimum(bound, 0.5) * (1 - 1e-6)).all()
    order = np.argsort(bound)
    assert (np.cumsum(chance[order]) <= bound[order] + 1e-9).all()


@pytest.mark.slow
def test_very_many_scores_have_the_proven_bound_of_their_cells():
    """Beyond 10⁵ distinct scores no directions are tried: five bounds in place of seven."""
    for n, directions in ((10**5, True), (10**5 + 1, False)):
        p = np.linspace(0.01, 0.99, n)
        y = np.arange(n) % 100 < 52
        found = calibration_test(y, p, resamples=9, seed=0)
        whole = math.log(2) - kl(y.sum(), n, p.sum())
        assert found.pvalue <= math.exp(whole) * (7 if directions else 5) * (1 + 1e-9)


def test_above_the_floor_nothing_is_replaced():
    rng = np.random.default_rng(2)
    p = rng.random(400)
    weak, strong = (
        (rng.random(400) < expit(slope * logit(p))).astype(int) for slope in (0.75, 0.3)
    )
    found = calibration_test(weak, p, resamples=99, seed=0)
    assert found.pvalue * 100 == pytest.approx(round(found.pvalue * 100))
    assert found.pvalue >= 0.01
    assert "bound" not in found.assumptions
    assert calibration_test(strong, p, resamples=99, seed=0).pvalue < 1e-6


def naive_bayes_on_breast_cancer():
    """Labels and scores of Gaussian naive Bayes, half of the rows for training."""
    datasets, model_selection = (
        pytest.importorskip("sklearn.datasets"),
        pytest.importorskip("sklearn.model_selection"),
    )
    x, y = datasets.load_breast_cancer(return_X_y=True)
    x, x_new, y, y_new = model_selection.train_test_split(x, y, test_size=0.5, random_state=0)
    model = pytest.importorskip("sklearn.naive_bayes").GaussianNB().fit(x, y)
    return y_new, model.predict_proba(x_new)[:, 1]


def test_naive_bayes_on_breast_cancer_is_refuted_far_below_the_floor():
    found = calibration_test(*naive_bayes_on_breast_cancer(), seed=0, resamples=99)
    assert 0 < found.pvalue < 1e-30
    assert found.too_good == 1


# ---- the record


def test_the_default_is_the_omnibus_test_and_it_names_its_strongest_evidence():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < expit(0.4 * logit(p))).astype(int)
    found = calibration_test(y, p, seed=1)
    assert found == calibration_test(y, p, method="omnibus", seed=1)
    assert set(found.alone) == set(slow.NAMES)
    assert f"Strongest evidence: {found.strongest} (p = 0.001 alone)." in found.assumptions
    assert (
        found.strongest == "slope of the log-odds"
    )  # of several at the floor, the one that is easiest to explain
    shifted = calibration_test(rng.random(400) < p / 2, p, seed=1)
    assert shifted.strongest == "observed against expected events"
    other = calibration_test(y, p, method="cox")
    assert (other.alone, other.strongest, other.too_good, other.contradicted) == ({}, "", None, 0)


def test_no_evidence_is_not_called_the_strongest():
    found = calibration_test([1] * 50 + [0] * 50, np.full(100, 0.5), seed=0)
    assert (found.pvalue, found.strongest) == (1, "")
    assert "Strongest" not in found.assumptions


# ---- the lower tail


def test_a_map_judged_on_the_rows_that_fitted_it_is_too_good():
    rng = np.random.default_rng(300)
    x = rng.random(300)
    y = (rng.random(300) < x**1.5).astype(int)
    found = calibration_test(y, tn.IsotonicCalibration().fit(x, y).predict(x), seed=0)
    assert found.too_good < 0.001
    assert found.pvalue > 0.5


def test_a_lower_tail_at_its_floor_is_ranked_among_ten_times_as_many_draws():
    """Twenty scores, each with exactly the events that it predicts: no drawn labels agree as well."""
    p = np.repeat(np.arange(2, 22) / 25, 100)
    y = np.tile(np.arange(100), 20) < np.repeat(np.arange(2, 22) * 4, 100)
    assert calibration_test(y, p, resamples=19, seed=0).too_good == 1 / 200


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, 50, 200, 1000])
@pytest.mark.parametrize("law", ["uniform", "rare", "confident", "verbal"])
def test_both_tails_keep_their_level(law, n, weighted):
    runs, level = 800, 0.05
    rng = np.random.default_rng([n, len(law)])
    rejected = too_good = 0
    for _ in range(runs):
        p = {
            "uniform": rng.random(n),
            "rare": rng.beta(0.3, 20, n),
            "confident": rng.beta(12, 0.25, n),
            "verbal": rng.choice(np.arange(21) / 20, n),
        }[law]
        w = rng.choice([0.5, 1.0, 3.7], n) if weighted else None
        found = calibration_test(
            (rng.random(n) < p).astype(int), p, sample_weight=w, resamples=99, seed=rng
        )
        rejected += found.pvalue <= level
        too_good += found.too_good is not None and found.too_good <= level
    most = level + 4 * math.sqrt(level * (1 - level) / runs)
    assert max(rejected, too_good) / runs < most


def test_the_level_is_kept_in_few_runs():
    """100 calibrated data sets; at 0.1 the standard error is 0.03."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(100):
        p = rng.beta(0.5, 0.8, 60).round(2)
        found.append(calibration_test((rng.random(60) < p).astype(int), p, resamples=49, seed=rng))
    for pvalue in ("pvalue", "too_good"):
        values = np.array([getattr(one, pvalue) for one in found])
        assert np.mean(values <= 0.1) <= 0.1 + 4 * 0.03
        assert 0.3 < np.mean(values > 0.5) < 0.75


@pytest.mark.slow
def test_near_ties_drawn_together_have_the_pvalues_of_single_labels():
    """More than 4,096 scores."""
    rng = np.random.default_rng(8)
    p = rng.beta(0.7, 2, 4_500).clip(1e-6, 1 - 1e-6)
    y = (rng.random(p.size) < expit(0.97 * logit(p))).astype(int)
    labels = np.column_stack([y, rng.random((p.size, 999)) < p[:, None]]).astype(float)
    agrees(
        calibration_test(y, p, seed=1), *slow.answers(slow.values(labels, p), p.mean()), draws=999
    )


def share_rejected(truth, scores, n, method, runs=200):
    rejected = 0
    for i in range(runs):
        rng = np.random.default_rng([n, i])
        p = scores(rng, n)
        y = (rng.random(n) < truth(p)).astype(int)
        options = {"resamples": 199, "seed": i} if method in ("omnibus", "exact") else {}
        rejected += calibration_test(y, p, method=method, **options).pvalue <= 0.05
    return rejected / runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        (lambda p: expit(0.7 * logit(p)), lambda rng, n: rng.random(n)),
        (lambda p: expit(logit(p) + 0.3), lambda rng, n: rng.random(n)),
        (lambda p: np.clip(p + 0.3 * (abs(p - 0.6) < 0.04), 0, 1), lambda rng, n: rng.random(n)),
        (
            lambda p: p + 0.13 * np.sin(6 * np.pi * p) * 4 * p * (1 - p),
            lambda rng, n: rng.random(n),
        ),
        (lambda p: np.clip(p, 0, 0.985), lambda rng, n: rng.beta(12, 0.5, n)),
        (lambda p: expit(logit(p) + 0.4), lambda rng, n: rng.beta(0.5, 20, n)),
    ],
    ids=["slope", "shift", "bump", "wave", "saturation", "rare shift"],
)
def test_its_power_is_near_that_of_the_best_single_test(truth, scores):
    single = [
        share_rejected(truth, scores, 1000, m)
        for m in ("exact", "cox", "kuiper", "ks", "spiegelhalter")
    ]
    assert share_rejected(truth, scores, 1000, "omnibus") >= 0.75 * max(single) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "truth", "single"),
    [
        ((1, 50), lambda p: 0.4 * p, "spiegelhalter"),
        ((0.5, 20), lambda p: np.where(p >= np.quantile(p, 0.9), 0.4 * p, p), "exact"),
    ],
)
def test_rare_events_that_are_fewer_than_predicted_are_found_nearly_as_often_as_by_the_best_single_test(
    law, truth, single
):
    """With the weights of common events the ratio of powers was 0.86 and 0.64."""
    rng, runs, found = np.random.default_rng(8), 250, {"omnibus": 0, single: 0}
    for _ in range(runs):
        p = rng.beta(*law, 1000).clip(1e-7)
        y = (rng.random(p.size) < truth(p)).astype(int)
        for method in found:
            found[method] += (
                calibration_test(y, p, method=method, resamples=499, seed=rng).pvalue <= 0.05
            )
    # The two tests agree on most data sets: three standard errors of the difference.
    assert found["omnibus"] >= 0.85 * found[single] - 3 * np.sqrt(0.1 * runs)
