"""The omnibus test: against a slow transcription, its laws, its level, and its power beside single tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, ndtri
from scipy.stats import ks_2samp

import trueness as tn
from trueness.infer.test import _omnibus as _omnibus
from trueness.infer.test._omnibus import (
    MANY_DIRECTIONS,
    OmnibusTest,
    _proven_bound,
    combination,
    combined_pvalues,
    extremeness,
    lower_tail,
    omnibus_outcome,
    omnibus_power,
    omnibus_test,
    ranks,
    tail_bound,
)
from trueness.infer.test._omnibus_statistics import NAMES, WORDS, Statistics, entries_of_rows, evidence

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def binned(p, cuts):
    """The number of the cell of each score: how many cuts are at or below it."""
    return np.array([sum(c <= s for c in cuts) for s in p])


def mass_cuts(p, n_bins):
    """Cut j lies after row ⌊jn/B⌋, and a tie that it would split goes whole to the lower bin."""
    ordered = sorted(p)
    cuts = set()
    for j in range(1, n_bins):
        at = j * len(p) // n_bins
        if at > 0:
            above = [s for s in ordered if s > ordered[at - 1]]
            cuts |= {above[0]} if above else set()
    return cuts


def transcription(y, p):
    """Errors, cells, trend, mean, slope and cosines by loops over rows."""
    n = len(p)
    width = max(5, round(n**0.4))
    fine = mass_cuts(p, max(5, round(n**0.5))) | {b / width for b in range(1, width)}
    mass = mass_cuts(p, max(5, round(n**0.4)))
    coarse = mass_cuts(p, max(3, round(n**0.25)))
    distinct = set(p)
    if len(distinct) <= 2 * (len(set(binned(p, fine))) + 1):
        fine = mass = distinct
    u, v = y - p, p * (1 - p)
    errors, cells, trend = [], 0.0, 0.0
    for cuts in (mass, {b / width for b in range(1, width)}):
        groups = [u[binned(p, cuts) == b] for b in set(binned(p, cuts))]
        errors.append(sum((r.sum() ** 2 - (r**2).sum()) / (r.size - 1) for r in groups if r.size > 1))
    for b in set(binned(p, fine)):
        at = binned(p, fine) == b
        cells += u[at].sum() ** 2 / v[at].sum() if v[at].sum() > 0 else 0.0
    for b in set(binned(p, coarse)):
        at = binned(p, coarse) == b
        rows, events, expected = at.sum(), y[at].sum(), p[at].sum()
        for o, e in ((events, expected), (rows - events, rows - expected)):
            trend += 2 * o * math.log(o / e) if o else 0.0
    inside = (p > 0) & (p < 1)
    x = np.where(inside, logit(np.where(inside, p, 0.5)), 0.0)
    slope = np.where(inside, x - (v @ x) / v.sum(), 0.0)
    # The share of the variance below a score, and half of that at the score.
    t = np.array([v[p < s].sum() + v[p == s].sum() / 2 for s in p]) / v.sum()
    forms = [np.ones(n), slope, *(np.cos(np.pi * j * t) for j in range(2, 13))]
    return np.array([*errors, cells, trend, *(a @ u / math.sqrt(a**2 @ v) for a in forms)])


@pytest.mark.parametrize("n", [8, 30, 80, 300])
@pytest.mark.parametrize("digits", [1, 2, 17])
def test_the_statistics_are_those_of_the_transcription(n, digits):
    rng = np.random.default_rng(n + digits)
    p = rng.beta(0.7, 1.2, n).round(digits)
    y = (rng.random(n) < p).astype(int)
    statistics = Statistics(tn.tally(y, p).parts[0])
    hits = statistics.entries.hits[:, np.newaxis]
    np.testing.assert_allclose(statistics(hits)[:, 0], transcription(y, p), rtol=1e-9, atol=1e-9)


def test_the_pvalue_is_the_rank_of_the_combined_ranks():
    values = np.array([[3.0, 1.0, 2.0, 3.0], [0.0, 5.0, 1.0, 0.5]])
    alone, combined = combined_pvalues(values, np.ones(2))
    np.testing.assert_array_equal(alone, [[0.5, 1.0, 0.75, 0.5], [1.0, 0.25, 0.5, 0.75]])
    # Sums of inverse roots: 2.41, 1 + 2 √5 (the leader, five times the second), 2.57, 2.57.
    np.testing.assert_array_equal(combined, [1.0, 0.25, 0.75, 0.75])


def test_forms_are_the_normal_scores_of_their_ranks_and_the_ends_lie_further_out():
    values = np.vstack([np.zeros((4, 5)), np.tile([5.0, -1.0, 0.0, 1.0, 0.0], (13, 1))])
    found = evidence(values)
    end, tied = ndtri(0.9), -ndtri(0.4)  # the two zeros have ranks 2 and 3 of 5
    np.testing.assert_allclose(found[4], [end + 4, end + 1, tied, ndtri(0.7), tied], atol=1e-12)
    squares = found[4] ** 2
    expected = np.max([(k * squares - k) / math.sqrt(2 * k) for k in range(2, 14)], axis=0)
    np.testing.assert_allclose(found[6], expected)


rows = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([0.05, 0.2, 0.35, 0.5, 0.8, 0.97])), min_size=4, max_size=60
)


@given(pairs=rows, seed=st.integers(0, 2**32 - 1))
def test_order_splitting_and_repetition_of_rows_do_not_matter(pairs, seed):
    y, p = (np.array(column) for column in zip(*pairs, strict=True))
    whole = tn.calibration_test(y, p, method="omnibus", resamples=49, seed=1)
    order = np.random.default_rng(seed).permutation(y.size)
    cut = y.size // 2
    merged = tn.tally(y[order][:cut], p[order][:cut]) + tn.tally(y[order][cut:], p[order][cut:])
    assert tn.calibration_test(merged, method="omnibus", resamples=49, seed=1) == whole
    twice = tn.calibration_test(np.repeat(y, 2), np.repeat(p, 2), method="omnibus", resamples=49, seed=1)
    weights = np.full(y.size, 2)
    assert tn.calibration_test(y, p, sample_weight=weights, method="omnibus", resamples=49, seed=1) == twice


def naive_bayes_on_breast_cancer():
    """Labels and scores of Gaussian naive Bayes, half of the rows for training."""
    datasets, model_selection = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.model_selection")
    x, y = datasets.load_breast_cancer(return_X_y=True)
    x, x_new, y, y_new = model_selection.train_test_split(x, y, test_size=0.5, random_state=0)
    model = pytest.importorskip("sklearn.naive_bayes").GaussianNB().fit(x, y)
    return y_new, model.predict_proba(x_new)[:, 1]


def test_naive_bayes_on_breast_cancer_is_refuted_far_below_the_floor():
    found = tn.calibration_test(*naive_bayes_on_breast_cancer(), seed=0)
    assert 0 < found.pvalue < 1e-30
    assert found.too_good == 1


def test_a_proven_tail_replaces_the_floor_and_nothing_else():
    rng = np.random.default_rng(2)
    p = rng.random(400)
    weak, strong = ((rng.random(400) < expit(slope * logit(p))).astype(int) for slope in (0.75, 0.3))
    assert tn.calibration_test(weak, p, resamples=99, seed=0).pvalue >= 0.01
    assert tn.calibration_test(strong, p, resamples=99, seed=0).pvalue < 1e-6
    assert min(tn.calibration_test(strong, p, resamples=99, seed=0).alone.values()) == 0.01


def test_it_names_the_statistic_with_the_strongest_evidence():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < expit(0.4 * logit(p))).astype(int)
    found = tn.calibration_test(y, p, method="omnibus", seed=0)
    alone = omnibus_test(tn.tally(y, p).parts[0], 999, np.random.default_rng(0)).alone
    assert found.statistic == min(alone.values())
    assert found.pvalue <= 0.005
    assert set(alone) == set(NAMES)


def test_it_says_when_near_ties_are_drawn_together():
    rng = np.random.default_rng(0)
    for n, level in ((4_096, "exact at any n"), (4_097, "exact within 0.001, near ties being drawn together")):
        p = rng.random(n)
        found = tn.calibration_test((rng.random(n) < p).astype(int), p, method="omnibus", resamples=19, seed=0)
        assert f"the level is {level}: 19 sets" in found.assumptions


def weighted_rows(n, seed):
    rng = np.random.default_rng(seed)
    p, w = rng.beta(0.6, 1.5, n).round(2), rng.choice([0.5, 1.0, 3.7], n)
    return rng, p, w


def test_equal_fractional_weights_are_the_rows_without_weights():
    rng, p, _ = weighted_rows(150, 1)
    y = (rng.random(150) < p).astype(int)
    plain = tn.calibration_test(y, p, resamples=99, seed=0)
    for scale in (0.5, 2.5):
        found = tn.calibration_test(y, p, sample_weight=np.full(150, scale), resamples=99, seed=0)
        assert (found.pvalue, found.too_good, found.n) == (plain.pvalue, plain.too_good, 150)
        sums = tn.tally(y, p, sample_weight=np.full(150, scale))
        assert tn.calibration_test(sums, resamples=99, seed=0).pvalue == plain.pvalue


def test_fractional_weights_keep_the_level_in_few_runs():
    """300 calibrated data sets; at 0.1 the standard error is 0.017."""
    rng, p, w = weighted_rows(60, 2)
    found = []
    for _ in range(300):
        y = (rng.random(60) < p).astype(int)
        found.append(tn.calibration_test(y, p, sample_weight=w, resamples=49, seed=rng).pvalue)
    assert np.mean(np.array(found) <= 0.1) <= 0.1 + 4.5 * 0.017
    assert np.mean(np.array(found) > 0.5) == pytest.approx(0.5, abs=0.15)


def test_fractional_weights_weigh_the_statistics():
    rng = np.random.default_rng(3)
    p, w = rng.random(400), rng.choice([0.01, 2.5], 400)
    wrong = np.where(w > 1, expit(0.3 * logit(p)), p)
    y = (rng.random(400) < wrong).astype(int)
    order = rng.permutation(400)
    found = tn.calibration_test(y, p, sample_weight=w, seed=0)
    assert found.pvalue <= 0.002
    assert tn.calibration_test(y[order], p[order], sample_weight=w[order], seed=0) == found
    certain = np.append(p[:-1], 1.0)
    assert tn.calibration_test(np.append(y[:-1], 0), certain, sample_weight=w).contradicted == 1


@pytest.mark.all_cases
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
    found = tn.calibration_test(y, p, rounded_to=0.1, **options)
    moved = np.where(p == 0, min(wrong / 40, 0.05), np.where(p == 1, 1 - min(wrong / 50, 0.05), p))
    expected = tn.calibration_test(y, moved, **options)
    assert (found.alone, found.pvalue) == (expected.alone, expected.pvalue)
    assert (found.contradicted, found.too_good) == (2 * wrong, None)


def test_sums_of_rows_with_different_weights_are_refused():
    for unit in (1.0, 0.001):
        sums = tn.tally([0, 1, 1], [0.2, 0.2, 0.7], sample_weight=unit * np.array([0.5, 1, 1]))
        with pytest.raises(tn.InputError, match=r"`sample_weight` must be equal for all rows of a score .* Pass the"):
            tn.calibration_test(sums)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200, 1000])
@pytest.mark.parametrize("law", ["uniform", "rare", "confident", "verbal"])
def test_it_keeps_its_level(law, n):
    runs, level = 1500, 0.05
    rng = np.random.default_rng([n, len(law)])
    rejected = 0
    for _ in range(runs):
        p = {
            "uniform": rng.random(n),
            "rare": rng.beta(0.3, 20, n),
            "confident": rng.beta(12, 0.25, n),
            "verbal": rng.choice(np.arange(21) / 20, n),
        }[law]
        y = (rng.random(n) < p).astype(int)
        rejected += tn.calibration_test(y, p, method="omnibus", resamples=99, seed=rng).pvalue <= level
    assert rejected / runs < level + 4 * math.sqrt(level * (1 - level) / runs)


def share_rejected(truth, scores, n, method, runs=200):
    rejected = 0
    for i in range(runs):
        rng = np.random.default_rng([n, i])
        p = scores(rng, n)
        y = (rng.random(n) < truth(p)).astype(int)
        options = {"resamples": 199, "seed": i} if method in ("omnibus", "exact") else {}
        rejected += tn.calibration_test(y, p, method=method, **options).pvalue <= 0.05
    return rejected / runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        (lambda p: expit(0.7 * logit(p)), lambda rng, n: rng.random(n)),
        (lambda p: expit(logit(p) + 0.3), lambda rng, n: rng.random(n)),
        (lambda p: np.clip(p + 0.3 * (abs(p - 0.6) < 0.04), 0, 1), lambda rng, n: rng.random(n)),
        (lambda p: p + 0.13 * np.sin(6 * np.pi * p) * 4 * p * (1 - p), lambda rng, n: rng.random(n)),
        (lambda p: np.clip(p, 0, 0.985), lambda rng, n: rng.beta(12, 0.5, n)),
        (lambda p: expit(logit(p) + 0.4), lambda rng, n: rng.beta(0.5, 20, n)),
    ],
    ids=["slope", "shift", "bump", "wave", "saturation", "rare shift"],
)
def test_its_power_is_near_that_of_the_best_single_test(truth, scores):
    single = [share_rejected(truth, scores, 1000, m) for m in ("exact", "cox", "kuiper", "ks", "spiegelhalter")]
    assert share_rejected(truth, scores, 1000, "omnibus") >= 0.75 * max(single) - 0.05


def isotonic_fit(x, y):
    """Pool adjacent violators, row by row."""
    blocks = []
    for label in y[np.argsort(x)]:
        blocks.append([float(label), 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            events, size = blocks.pop()
            blocks[-1][0] += events
            blocks[-1][1] += size
    fit = np.empty(x.size)
    fit[np.argsort(x)] = np.concatenate([np.full(size, events / size) for events, size in blocks])
    return fit


@pytest.mark.parametrize("n", [300, 2000])
def test_a_map_judged_on_the_rows_that_fitted_it_is_too_good(n):
    rng = np.random.default_rng(n)
    x = rng.random(n)
    y = (rng.random(n) < x**1.5).astype(int)
    p = isotonic_fit(x, y)
    found = tn.calibration_test(y, p, seed=0)
    assert found.too_good < 0.001
    assert found.pvalue > 0.5


def test_the_lower_tail_keeps_its_level():
    """300 calibrated data sets; at 0.05 the standard error is 0.013."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        p = rng.beta(0.5, 0.8, 80).round(2)
        y = (rng.random(80) < p).astype(int)
        found.append(tn.calibration_test(y, p, resamples=99, seed=rng).too_good)
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 4.5 * 0.013
    assert 0.3 < np.mean(np.array(found) > 0.5) < 0.75


def test_the_default_is_the_omnibus_test():
    y, p = [0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.6, 0.4, 0.5, 0.25]
    found = tn.calibration_test(y, p, seed=1)
    assert found == tn.calibration_test(y, p, method="omnibus", seed=1)
    assert found.method == "omnibus"
    assert set(found.alone) == set(NAMES)
    assert found.strongest in found.assumptions
    other = tn.calibration_test(y, p, method="cox")
    assert (other.alone, other.strongest, other.too_good, other.contradicted) == ({}, "", None, 0)


def test_the_power_is_the_share_of_alternative_labels_that_are_rejected():
    rng = np.random.default_rng(1)
    p = rng.random(300)
    truth = expit(0.6 * logit(p))
    cells = tn.tally((rng.random(300) < p).astype(int), p).parts[0]
    at = np.searchsorted(cells.score, p)
    alternative = np.empty(300)
    alternative[at] = truth
    power = omnibus_power(cells, alternative, 0.05, draws=399, rng=rng)
    labels = (rng.random((150, 300)) < truth).astype(int)
    share = np.mean([tn.calibration_test(y, p, resamples=199, seed=rng).pvalue <= 0.05 for y in labels])
    assert power == pytest.approx(share, abs=0.15)
    assert omnibus_power(cells, cells.score, 0.05, draws=399, rng=rng) < 0.05 + 4.5 * math.sqrt(0.05 * 0.95 / 399)


def test_the_power_of_very_many_scores_uses_pooled_entries():
    p = np.linspace(0.001, 0.999, 9_999)
    cells = tn.tally((np.arange(p.size) % 2).astype(int), p).parts[0]
    statistics = Statistics(cells)
    assert statistics.entries.rows.size < 9_999
    np.testing.assert_allclose(statistics.mean_of_entries(cells, p), statistics.entries.z, rtol=1e-12)
    assert omnibus_power(cells, expit(logit(p) + 0.5), 0.05, draws=19, null_draws=99, rng=np.random.default_rng(0)) == 1


@pytest.mark.parametrize("law", ["uniform", "rare", "confident", "two-sided"])
def test_drawing_near_ties_together_changes_the_distribution_of_labels_by_less_than_a_thousandth(law):
    """Ehm's bound on the total variation distance of the sum of an entry's labels from a binomial number, added up."""
    rng = np.random.default_rng(3)
    p = {"uniform": (1, 1), "rare": (0.3, 20), "confident": (12, 0.25), "two-sided": (0.2, 0.2)}[law]
    p = np.clip(rng.beta(*p, 50_000), 1e-12, 1 - 1e-12)
    cells = tn.tally((rng.random(p.size) < p).astype(int), p).parts[0]
    entries = Statistics(cells).entries
    first = np.cumsum(entries.rows) - entries.rows
    assert cells.totals.weight == entries.rows.sum()
    assert cells.totals.events == entries.hits.sum()
    q, reached = np.repeat(entries.z, entries.rows), np.cumsum(cells.weight)
    score = cells.score[np.searchsorted(reached, np.arange(p.size), side="right")]
    spread = np.add.reduceat((score - q) ** 2, first)
    assert (spread / ((entries.rows + 1) * entries.z * (1 - entries.z))).sum() < 0.001


@pytest.mark.slow
def test_pooled_labels_have_the_null_distribution_of_single_ones():
    """Two thousand sets of labels of 5,000 scores, drawn one by one and in entries: every statistic, by KS."""
    rng = np.random.default_rng(8)
    p = rng.beta(0.7, 2, 5_000)
    cells = tn.tally((rng.random(p.size) < p).astype(int), p).parts[0]
    single, pooled = Statistics(cells, pooled=False).drawn(2_000, rng), Statistics(cells).drawn(2_000, rng)
    assert min(ks_2samp(a, b).pvalue for a, b in zip(single, pooled, strict=True)) > 1e-5


@pytest.mark.slow
def test_600_uniform_scores_of_slope_seven_tenths_are_refuted_almost_as_often_as_by_coxs_test():
    """200 data sets, all methods on the same: the standard error of a difference is about 0.03."""
    rng = np.random.default_rng(7)
    ours = cox = 0
    for _ in range(200):
        p = rng.random(600)
        y = (rng.random(600) < expit(0.7 * logit(p))).astype(int)
        ours += tn.calibration_test(y, p, resamples=99, seed=rng).pvalue <= 0.05
        cox += tn.calibration_test(y, p, method="cox", resamples=99, seed=rng).pvalue <= 0.05
    assert ours / 200 >= cox / 200 - 0.09
    assert ours / 200 > 0.8


def test_no_evidence_is_not_called_the_strongest():
    found = tn.calibration_test([1] * 50 + [0] * 50, np.full(100, 0.5), seed=0)
    assert found.pvalue == 1
    assert found.strongest == ""
    assert "Strongest" not in found.assumptions


def test_a_p_value_below_what_draws_can_give_is_explained():
    p = np.full(2_000, 0.3)
    far, near = np.arange(2_000) % 2, np.arange(2_000) % 10 < 3
    found = tn.calibration_test(far, p, seed=0)
    assert found.pvalue < min(found.alone.values())
    assert "The p-value, which is smaller, is a proven bound." in found.assumptions
    assert "bound" not in tn.calibration_test(near, p, seed=0).assumptions


def test_a_largest_value_has_a_lead_only_over_a_positive_second():
    """By hand: the lead is the logarithm of the ratio to the second largest value."""
    values = np.array([[1.0, 4.0, 2.0], [0.0, 5.0, 0.0], [-1.0, -2.0, 3.0], [0.5, 0.1, 2.0]])
    logs = -np.log([[1, 1 / 3, 2 / 3], [1, 1 / 3, 1], [2 / 3, 1, 1 / 3], [2 / 3, 1, 1 / 3]])
    logs[0, 1] += np.log(2)
    logs[3, 2] += np.log(4)
    np.testing.assert_allclose(extremeness(values), logs, atol=1e-12)


def test_values_that_differ_by_rounding_of_the_largest_are_equal():
    assert ranks(np.array([0.0, 0.0, 1.0, 1 + 1e-13])).tolist() == [1, 1, 0.5, 0.5]
    assert ranks(np.array([-1.0, -1 - 1e-13, 0.0, 0.0])).tolist() == [1, 1, 0.5, 0.5]
    assert ranks(np.array([0.0, 1.0, 1 + 1e-6, np.inf])).tolist() == [1, 0.75, 0.5, 0.25]


def test_values_ranked_among_others_count_themselves():
    assert ranks(np.array([0.5, 2.0, 9.0]), np.array([1.0, 2.0, 3.0])).tolist() == [1, 0.75, 0.25]


def test_an_impossible_label_has_statistic_and_p_value_zero():
    found = tn.calibration_test([0, 1, 1, 0], [0.0, 0.31234567, 0.7654321, 1.0], seed=0)
    assert (found.statistic, found.pvalue, found.strongest) == (0, 0, "labels that are impossible under the scores")


def test_999_sets_of_labels_are_drawn_by_default():
    found = tn.calibration_test([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], seed=1)
    assert "999 sets of labels" in found.assumptions
    assert found.smallest_pvalue == 0.001


def test_a_lower_tail_at_its_floor_is_ranked_among_ten_times_as_many_draws(monkeypatch):
    """Twenty scores, each with exactly the events that it predicts: no drawn labels agree as well."""
    p = np.repeat(np.arange(2, 22) / 25, 100)
    y = np.tile(np.arange(100), 20) < np.repeat(np.arange(2, 22) * 4, 100)
    assert tn.calibration_test(y, p, resamples=19, seed=0).too_good == 1 / 200
    for most, smallest in ((20 * 199, 1 / 200), (20 * 199 - 1, 1 / 20)):
        monkeypatch.setattr(_omnibus, "_MOST_LABELS", most)
        assert tn.calibration_test(y, p, resamples=19, seed=0).too_good == smallest


def test_the_lower_tail_is_the_rank_of_the_product_of_ranks():
    rng = np.random.default_rng(3)
    for _ in range(5):
        values = np.vstack([rng.gamma(2, 1, (4, 15)), rng.normal(size=(13, 15))])
        small = [values[2], values[3], abs(values[4]), abs(values[5]), (values[4:] ** 2).sum(axis=0)]
        product = np.prod([[np.mean(row <= one) for one in row] for row in small], axis=0)
        assert lower_tail(values) == pytest.approx(np.mean(product <= product[0] * (1 + 1e-9)))


def test_the_p_values_of_weighted_rows_are_ranks_of_their_statistics():
    rng, p, w = weighted_rows(70, 6)
    y = (rng.random(70) < p).astype(int)
    found = tn.calibration_test(y, p, sample_weight=w, resamples=59, seed=5)
    statistics = Statistics(tn.tally(y, p).parts[0], entries_of_rows(y, p, w))
    alone, combined = combined_pvalues(evidence(statistics.observed_and_drawn(59, np.random.default_rng(5))))
    assert list(found.alone.values()) == alone[:, 0].tolist()
    assert found.pvalue == combined[0]


def test_an_impossible_label_has_p_value_zero_before_any_words():
    cells = tn.tally([0, 1, 1, 0], [0.0, 0.31234567, 0.7654321, 1.0]).parts[0]
    found = omnibus_test(cells, 19, np.random.default_rng(0))
    assert (found.pvalue, found.contradicted, found.alone, found.too_good) == (0, 1, {}, None)


def outcome(**changes):
    alone = dict.fromkeys(NAMES, 0.9) | {"trend": 0.3}
    return omnibus_outcome(OmnibusTest(0.4, alone, 0.7, 99)._replace(**changes), "Assumed.")


def test_the_outcome_in_words():
    found = outcome()
    assert (found.statistic, found.pvalue, found.smallest) == (0.3, 0.4, 0.01)
    assert found.assumptions == "Assumed. Strongest evidence: deviance in coarse cells (p = 0.3 alone)."
    assert (found.details["strongest"], found.details["too_good"]) == (WORDS["trend"], 0.7)
    none = outcome(alone=dict.fromkeys(NAMES, 0.5), pvalue=0.5)
    assert (none.assumptions, none.details["strongest"]) == ("Assumed.", "")
    assert "proven bound" not in outcome(pvalue=0.3).assumptions
    assert "proven bound" in outcome(pvalue=0.29).assumptions
    assert outcome(contradicted=1, impossible="1 row", unit=0.1).assumptions.startswith("Labels are impossible")


def test_of_equal_p_values_the_one_that_is_easiest_to_explain_is_the_strongest():
    alone = dict.fromkeys(NAMES, 0.2)
    assert OmnibusTest(0.1, alone, None, 9).strongest == "mean"
    assert OmnibusTest(0.1, alone | {"mean": 0.3, "cells": 0.1, "error": 0.1}, None, 9).strongest == "error"


def test_the_power_ranks_199_sets_of_labels_among_999():
    p = np.repeat([0.2, 0.5, 0.7], 300)
    cells = tn.tally(np.arange(p.size) % 2 == 0, p).parts[0]
    rng = np.random.default_rng(0)
    certain = np.array([0.9, 0.9, 0.99])
    assert omnibus_power(cells, certain, 0.001, rng=rng) == 1
    assert omnibus_power(cells, certain, 0.00099, rng=rng) == 0
    some = 199 * omnibus_power(cells, np.array([0.24, 0.54, 0.74]), 0.1, rng=rng)
    assert some == pytest.approx(round(some))
    assert 20 < some < 190


def test_the_proven_bound_looks_at_all_rows_at_cells_and_at_two_directions():
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.25, 0.5, 0.9], 300)
    for truth in (p / 2, expit(0.3 * logit(p)), 0.8 * p + 0.1, p**2):
        cells = tn.tally(rng.random(300) < truth, p).parts[0]
        statistics = Statistics(cells)
        x, v = logit(cells.score), cells.weight * cells.score * (1 - cells.score)
        every, whole = np.arange(4), np.zeros(1, dtype=np.int64)  # four scores are four fine cells
        directions = x - (v @ x) / v.sum(), 1 - 2 * cells.score
        expected = tail_bound(cells, (whole, every, statistics.partitions[1]), directions)
        assert _proven_bound(cells, statistics) == pytest.approx(expected)
        assert _proven_bound(cells, statistics) < 1


def test_very_many_scores_have_the_proven_bound_of_their_cells():
    """With pooled entries in place of the scores, the sums of all cells are the same."""
    n = MANY_DIRECTIONS + 1
    p = np.linspace(0.01, 0.99, n)
    cells = tn.tally(np.arange(n) % 25 < 13, p).parts[0]
    statistics = Statistics(cells)
    whole = np.zeros(1, dtype=np.int64)
    expected = tail_bound(cells, (whole, *statistics.partitions), ())
    assert math.log(_proven_bound(cells, statistics)) == pytest.approx(math.log(expected), rel=1e-9)


def test_p_values_above_the_floor_are_ranks_and_no_bounds():
    """At the floor, here 1/10, a bound or a rank among more draws replaces them if it is smaller."""
    replaced = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p = np.full(400, 0.5) if seed % 2 == 0 else np.repeat(np.arange(1, 10) / 10, 20)
        y = rng.random(p.size) < (0.565 if seed % 2 == 0 else p)
        values = Statistics(tn.tally(y, p).parts[0]).observed_and_drawn(9, np.random.default_rng(seed))
        found = tn.calibration_test(y, p, resamples=9, seed=seed)
        ranked = combined_pvalues(evidence(values))[1][0], lower_tail(values)
        for pvalue, rank in zip((found.pvalue, found.too_good), ranked, strict=True):
            assert pvalue == rank if rank > 0.11 else pvalue <= rank
            replaced += pvalue < rank
    assert replaced > 3


def test_p_values_are_combined_by_their_weighted_inverse_roots():
    logs = -np.log([[0.25, 1.0], [0.5, 0.1]])
    found = combination(logs, np.array([1.0, 3.0]))
    np.testing.assert_allclose(found, [2 + 3 * math.sqrt(2), 1 + 3 * math.sqrt(10)])
    assert np.isfinite(combination(np.array([[5_000.0]]), np.ones(1))).all()


def test_one_large_value_sets_the_slack_at_either_end():
    """Values equal up to rounding of the largest absolute value, which may be the smallest value."""
    assert ranks(np.array([-1e9, 0.0, 0.5])).tolist() == [1, 2 / 3, 2 / 3]
    assert ranks(np.array([0.0, 0.5, 1e9])).tolist() == [1, 1, 1 / 3]
