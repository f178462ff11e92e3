"""The statistics of the omnibus test against loops over the rows: weights, limited cells, sums of cells, near ties."""

import math

import numpy as np
import pytest
from scipy.special import logit, ndtri

import trueness as tn
from trueness.infer.test._omnibus_matrix import _Column
from trueness.infer.test._omnibus_statistics import (
    Statistics,
    entries_of_cells,
    entries_of_equal_weights,
    entries_of_rows,
    evidence,
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cell_numbers(p, cuts):
    """The number of the cell of each score: how many cuts are at or below it."""
    return np.searchsorted(sorted(cuts), p, side="right")


def mass_cuts(p, n_bins):
    """Cut j lies after row ⌊jn/B⌋, and a tie that it would split goes whole to the lower bin."""
    ordered = np.sort(p)
    cuts = set()
    for at in {j * p.size // n_bins for j in range(1, n_bins)} - {0}:
        above = ordered[ordered > ordered[at - 1]]
        cuts |= {float(above[0])} if above.size else set()
    return cuts


def cuts_of(p, most=None):
    """The cuts of the fine cells, of those of equal mass and of equal width, and of the coarse cells."""
    n = p.size
    width, coarse = max(5, round(n**0.4)), max(3, round(n**0.25))
    fine = mass_cuts(p, max(5, round(n**0.5))) | {b / width for b in range(1, width)}
    mass = mass_cuts(p, width)
    distinct = set(p)
    if len(distinct) <= 2 * (len(set(cell_numbers(p, fine))) + 1):
        fine = mass = distinct
    if most is not None and len(set(cell_numbers(p, fine))) > most:
        fine = mass = mass_cuts(p, most)
        width, coarse = min(width, most), min(coarse, most // 2)
    return fine, mass, {b / width for b in range(1, width)}, mass_cuts(p, coarse)


def means(values, cell):
    """The mean of the cell of each row."""
    return (np.bincount(cell, values) / np.maximum(np.bincount(cell), 1))[cell]


def slow_statistics(y, p, w=None, *, most=None, by_cells=False):
    """Errors, cells, trend and forms by loops; `by_cells` knows only the events of the finest cells."""
    w = np.ones(p.size) if w is None else w
    cuts = cuts_of(p, most)
    fine, mass, width, coarse = (cell_numbers(p, one) for one in cuts)
    finest = cell_numbers(p, set().union(*cuts))
    scale = w.sum() / (w @ w)
    u, v = w * (y - p), w * w * p * (1 - p)
    square = u**2
    if by_cells:  # an event adds 1 − 2p to p²: within a cell, its mean
        square = p**2 + means(y, finest) * means(1 - 2 * p, finest)
    errors, cells, trend = [], 0.0, 0.0
    for number in (mass, width):
        sizes = {b: scale * w[number == b].sum() for b in set(number)}
        errors.append(
            sum(
                (u[number == b].sum() ** 2 - square[number == b].sum()) / max(n - 1, 1)
                for b, n in sizes.items()
                if n > 1
            )
        )
    for b in set(fine):
        at = fine == b
        cells += u[at].sum() ** 2 / v[at].sum() if v[at].sum() > 0 else 0.0
    for b in set(coarse):
        at = coarse == b
        rows, events, expected = w[at].sum(), w[at] @ y[at], w[at] @ p[at]
        for o, e in ((events, expected), (rows - events, rows - expected)):
            trend += 2 * scale * o * math.log(o / e) if o > 1e-12 else 0.0
    inside = (p > 0) & (p < 1)
    x = np.where(inside, logit(np.where(inside, p, 0.5)), 0.0)
    slope = np.where(inside, x - (v @ x) / v.sum(), 0.0)
    # The share of the variance below rows of the same score and weight, and half of theirs.
    below = [v[(p < s) | ((p == s) & (w < each))].sum() for s, each in zip(p, w, strict=True)]
    own = [v[(p == s) & (w == each)].sum() for s, each in zip(p, w, strict=True)]
    place = (np.array(below) + np.array(own) / 2) / v.sum()
    forms = [np.ones(p.size), slope, *(np.cos(np.pi * j * place) for j in range(2, 13))]
    if by_cells:
        forms = [means(a * v, finest) / np.maximum(means(v, finest), 1e-300) for a in forms]
    return np.array([*errors, cells, trend, *(a @ u / math.sqrt(a**2 @ v) for a in forms)])


def some_rows(n, digits, seed=0):
    rng = np.random.default_rng([n, digits, seed])
    p = rng.beta(0.7, 1.2, n).round(digits)
    return rng, (rng.random(n) < p).astype(int), p


def of_observed(statistics):
    return statistics(statistics.entries.hits[:, np.newaxis])[:, 0]


@pytest.mark.all_cases
@pytest.mark.parametrize(("n", "digits"), [(12, 17), (18, 17), (22, 2), (28, 17), (80, 1), (80, 2), (150, 17)])
def test_the_statistics_of_weighted_rows(n, digits):
    rng, y, p = some_rows(n, digits)
    w = rng.choice([0.5, 1.0, 3.7], n)
    cells = tn.tally(y, p, sample_weight=w).parts[0]
    found = Statistics(tn.tally(y, p).parts[0], entries_of_rows(y, p, w))
    np.testing.assert_allclose(of_observed(found), slow_statistics(y, p, w), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.total.sum(), cells.totals.weight)


@pytest.mark.all_cases
@pytest.mark.parametrize("most", [6, 8, 12])
@pytest.mark.parametrize(("n", "digits"), [(60, 1), (200, 17), (900, 2)])
def test_the_statistics_of_a_limited_number_of_cells(n, digits, most):
    _, y, p = some_rows(n, digits)
    found = Statistics(tn.tally(y, p).parts[0], most=most)
    np.testing.assert_allclose(of_observed(found), slow_statistics(y, p, most=most), rtol=1e-9, atol=1e-9)
    assert np.diff(np.append(found.fine_at, found.low.size)).sum() == found.low.size


@pytest.mark.all_cases
@pytest.mark.parametrize(("n", "digits"), [(15, 17), (90, 1), (120, 2), (200, 17)])
@pytest.mark.parametrize(("columns", "most"), [(2, 10_000), (2_500, 8), (100_000, 8)])
def test_the_statistics_of_a_column_know_the_events_of_its_cells_only(n, digits, columns, most):
    _, y, p = some_rows(n, digits)
    column = _Column(p, y == 1, columns)
    found = column.values(column.hits[:, np.newaxis])[:, 0]
    np.testing.assert_allclose(found, slow_statistics(y, p, most=most, by_cells=True), rtol=1e-9, atol=1e-9)


def test_scores_of_zero_and_one_leave_a_column_nothing_to_chance():
    assert not _Column(np.repeat([0.0, 1.0], 10), np.repeat([False, True], 10), 3).varies
    assert _Column(np.repeat([0.0, 0.01, 1.0], 10), np.repeat([False, True, True], 10), 3).varies


def test_near_ties_that_are_drawn_together_hardly_change_the_statistics():
    rng, y, p = some_rows(4_200, 17)
    cells = tn.tally(y, p).parts[0]
    pooled, single = Statistics(cells), Statistics(cells, pooled=False)
    assert pooled.entries.z.size < 2_000 < single.entries.z.size
    assert (pooled.low == single.low).all()
    moved = np.abs(of_observed(pooled) - of_observed(single)) / single.drawn(50, rng).std(axis=1)
    assert moved[3] < 1e-9  # the trend knows only the sums of cells, which are the same
    assert moved[:6].max() < 0.02
    assert moved.max() < 0.05


def test_from_4097_scores_on_near_ties_are_drawn_together():
    for n in (4_096, 4_097):
        p = np.linspace(0.3, 0.31, n)
        cells = tn.tally(np.arange(n) % 3 == 0, p).parts[0]
        assert (Statistics(cells).entries.z.size == n) == (n == 4_096)


def test_values_of_cells_are_averaged_over_the_rows_of_entries():
    rng = np.random.default_rng(0)
    p, count = np.linspace(0.001, 0.999, 5_000), rng.integers(1, 5, 5_000)
    cells = tn.tally((rng.random(5_000) < p).astype(int), p, sample_weight=count).parts[0]
    statistics, values = Statistics(cells), rng.random(5_000)
    rows = np.repeat(values, count)
    means = [one.mean() for one in np.split(rows, np.cumsum(statistics.entries.rows)[:-1])]
    np.testing.assert_allclose(statistics.mean_of_entries(cells, values), means)
    few = tn.tally([0, 1, 1], [0.1, 0.5, 0.9]).parts[0]
    assert Statistics(few).mean_of_entries(few, np.array([0.3, 0.2, 0.1])).tolist() == [0.3, 0.2, 0.1]


def test_entries_are_rows_of_the_same_score_and_weight():
    y, p = np.array([1, 0, 1, 1, 0, 1]), np.array([0.7, 0.2, 0.2, 0.7, 0.2, 0.9])
    w = np.array([1.5, 0.5, 2.5, 1.5, 0.5, 0.0])
    found = entries_of_rows(y, p, w)
    assert [column.tolist() for column in found] == [[0.2, 0.2, 0.7], [2, 1, 2], [0.5, 2.5, 1.5], [0, 1, 2]]
    assert [column.tolist() for column in entries_of_rows(y[:1], p[:1], w[:1])] == [[0.7], [1], [1.5], [1]]
    counted = entries_of_cells(tn.tally(y, p, sample_weight=[1, 2, 3, 4, 5, 6]).parts[0])
    assert [column.tolist() for column in counted] == [[0.2, 0.7, 0.9], [10, 5, 6], [1, 1, 1], [3, 5, 6]]
    equal = entries_of_equal_weights(tn.tally(y, p, sample_weight=[1.5, 0.1, 0.1, 1.5, 0.1, 0.7]).parts[0])
    np.testing.assert_allclose(np.array(equal), [[0.2, 0.7, 0.9], [3, 2, 1], [0.1, 1.5, 0.7], [1, 2, 1]])


def test_forms_ranked_among_others_are_normal_scores_of_each_alone():
    """By hand: of 0, 1, 1, 3 two are below 1.5 and none equals it; beside them its rank is 4 of 5, in the middle."""
    among = np.vstack([np.zeros((4, 4)), np.tile([1.0, 0.0, 3.0, 1.0], (13, 1))])
    values = np.vstack([np.arange(12.0).reshape(4, 3), np.tile([1.5, 1.0, -2.0], (13, 1))])
    found = evidence(values, among)
    scores = np.abs(ndtri([3.5 / 5, 2.5 / 5, 0.5 / 5]))
    assert (found[:4] == values[:4]).all()
    np.testing.assert_allclose(found[4:6], [scores, scores], atol=1e-12)
    waves = [max(k * (s**2 - 1) / math.sqrt(2 * k) for k in range(2, 14)) for s in scores]
    np.testing.assert_allclose(found[6], waves, atol=1e-12)


def test_forms_that_differ_by_rounding_are_equal_and_others_are_not():
    """By hand: of five, the second and third largest are equal in nine digits, the next differs in the seventh."""
    row = [1.0, 1.0 + 1e-12, 3.0, -2.0, 0.999999]
    found = evidence(np.vstack([np.zeros((4, 5)), np.tile(row, (13, 1))]))
    tied = ndtri(0.6)
    np.testing.assert_allclose(found[4], np.abs([tied, tied, ndtri(0.9) + 2, ndtri(0.1) - 2.999999, ndtri(0.3)]))


def test_scores_that_are_nearly_impossible_have_finite_statistics():
    p = np.array([5e-324, 1e-300, 0.2, 0.2, 1.0])
    values = of_observed(Statistics(tn.tally([1, 0, 0, 1, 1], p).parts[0]))
    assert np.isfinite(values).all()


def test_log_odds_that_differ_by_rounding_only_have_no_slope():
    p = np.array([0.3, np.nextafter(0.3, 1)] * 4)
    values = of_observed(Statistics(tn.tally([0, 1] * 4, p).parts[0]))
    assert values[5] == 0
    assert values[4] == pytest.approx((4 - 2.4) / math.sqrt(8 * 0.21))


def test_residuals_of_either_sign_count_the_same_in_the_symmetric_trend():
    rng, y, p = some_rows(200, 17)
    statistics = Statistics(tn.tally(y, p).parts[0])
    excess = rng.normal(size=(statistics.low.size, 5))
    forms, squares = np.zeros((13, 5)), [0.0, 0.0]
    trend = statistics.of_sums(excess, forms, squares, symmetric=True)[3]
    assert (statistics.of_sums(-excess, forms, squares, symmetric=True)[3] == trend).all()
    coarse = cell_numbers(statistics.low, cuts_of(p)[3])
    variance = [(p * (1 - p))[cell_numbers(p, cuts_of(p)[3]) == b].sum() for b in set(coarse)]
    sums = [excess[coarse == b].sum(axis=0) for b in set(coarse)]
    np.testing.assert_allclose(trend, sum(s**2 / v for s, v in zip(sums, variance, strict=True)))
