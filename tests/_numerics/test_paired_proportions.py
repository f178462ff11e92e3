"""Differences of two proportions of the same rows: by the definition, by enumeration, and against a search."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from trueness._numerics.paired_proportions import noninferiority, score_limits, score_statistic


def statistic_by_search(up, down, n, difference):
    """The likelihood maximised by search over P(down), then the studentised difference."""

    def loss(q):
        chances = np.array([q + difference, q, 1 - 2 * q - difference])
        counts = np.array([up, down, n - up - down])
        return -np.sum(counts[counts > 0] * np.log(np.maximum(chances[counts > 0], 1e-300)))

    low = max(0.0, -difference)
    found = optimize.minimize_scalar(
        loss, bounds=(low, (1 - difference) / 2), method="bounded", options={"xatol": 1e-12}
    )
    variance = (2 * found.x + difference - difference**2) / n
    return ((up - down) / n - difference) / math.sqrt(variance)


@pytest.mark.parametrize(
    ("up", "down", "n", "difference"),
    [(3, 5, 40, 0.1), (12, 4, 200, 0.02), (0, 7, 50, 0.05), (9, 1, 90, -0.03), (5, 5, 30, -0.2)],
)
def test_the_statistic_is_that_of_a_search_for_the_likeliest_nuisance(up, down, n, difference):
    expected = statistic_by_search(up, down, n, difference)
    assert score_statistic(up, down, n, difference) == pytest.approx(expected, rel=1e-5)


def test_without_disagreements_the_pvalue_is_that_of_a_binomial():
    for n, margin in ((20, 0.1), (298, 0.01), (299, 0.01)):
        assert noninferiority(0, 0, n, margin) == pytest.approx((1 - margin) ** n, rel=1e-12)


def slow_pvalue(up, down, n, margin):
    """The largest tail over the nuisance, outcome by outcome."""
    outcomes = [(u, v) for u in range(n + 1) for v in range(n + 1 - u)]
    z = float(score_statistic(up, down, n, margin))
    extreme = [(u, v) for u, v in outcomes if float(score_statistic(u, v, n, margin)) <= z + 1e-9]
    tails = []
    for q in np.linspace(0, 1, 81) ** 2 * (1 - margin) / 2:
        law = stats.multinomial(n, [q + margin, q, max(1 - 2 * q - margin, 0)])
        tails.append(sum(law.pmf([u, v, n - u - v]) for u, v in extreme))
    return max(*tails, stats.norm.cdf(z))


def test_few_disagreements_are_judged_by_enumeration():
    for up, down in ((0, 0), (1, 3)):
        expected = slow_pvalue(up, down, 9, 0.2)
        assert noninferiority(up, down, 9, 0.2) == pytest.approx(min(expected, 1), rel=1e-9)


def test_more_harm_never_helps():
    up, down = np.indices((12, 8)).reshape(2, -1)
    pvalue = noninferiority(up, down, 150, 0.03).reshape(12, 8)
    assert (np.diff(pvalue, axis=0) >= -1e-12).all()
    assert (np.diff(pvalue, axis=1) <= 1e-12).all()


def test_limits_are_the_differences_that_the_statistic_does_not_reject():
    low, high = score_limits([5, 0, 150], [3, 0, 86], 1600, 0.95)
    reach = stats.norm.ppf(0.975)
    for end, sign in ((low, 1), (high, -1)):
        z = score_statistic([5, 0, 150], [3, 0, 86], 1600, end)
        np.testing.assert_allclose(z, sign * reach, rtol=1e-6)
    # Without a disagreement the ends have a closed form.
    assert high[1] == pytest.approx(reach**2 / (1600 + reach**2), rel=1e-9)
    mirrored = score_limits([3, 0, 86], [5, 0, 150], 1600, 0.95)
    np.testing.assert_allclose(mirrored[0], -high, atol=1e-12)


SIZES = [(n, margin) for n in (10, 30, 60) for margin in (0.02, 0.05, 0.15)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "margin"), [*SIZES, (100, 0.01), (200, 0.005), (400, 0.02)])
def test_no_law_rejects_a_true_hypothesis_more_often_than_promised(n, margin):
    """All outcomes with their probabilities, on a grid of nuisances that the function does not use."""
    most = min(n, 200)
    up, down = (each.ravel() for each in np.indices((most + 1, most + 1)))
    inside = up + down <= most
    up, down = up[inside], down[inside]
    rejected = noninferiority(up, down, n, margin) <= 0.05
    largest = 0.0
    for q in np.linspace(0, min((1 - margin) / 2, 60 / n), 173):
        chances = [q + margin, q, max(1 - 2 * q - margin, 0.0)]
        law = stats.multinomial(n, chances)
        largest = max(largest, law.pmf(np.stack([up, down, n - up - down], 1))[rejected].sum())
    # Between two nuisances of the function's grid the tail may be a little larger.
    assert largest <= 0.0505


@pytest.mark.slow
def test_two_thresholds_one_after_the_other_break_their_promise_no_more_often():
    """Fixed sequence, by enumeration of five kinds of rows: harm and gain above both, and between."""
    n, margin, alpha = 24, 0.12, 0.05
    counts = np.array(
        [c for c in itertools.product(range(n + 1), repeat=4) if sum(c) <= n], dtype=float
    )
    first = noninferiority(counts[:, 0], counts[:, 1], n, margin) <= alpha
    second = noninferiority(counts[:, 0] + counts[:, 2], counts[:, 1] + counts[:, 3], n, margin)
    both = first & (second <= alpha)
    log_ways = math.lgamma(n + 1) - np.array(
        [sum(math.lgamma(x + 1) for x in (*c, n - sum(c))) for c in counts]
    )
    largest = 0.0
    for harm, gain, more in itertools.product((0.0, 0.05, 0.1, 0.2), (0.0, 0.05), (0.0, 0.1)):
        # The lower threshold loses exactly the margin; the upper one less, or as much.
        rest = margin - (harm - gain) + more
        if rest < 0 or harm + gain + rest + more > 1:
            continue
        chances = np.array([harm, gain, rest, more, 1 - harm - gain - rest - more])
        table = np.column_stack([counts, n - counts.sum(axis=1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(table > 0, table * np.log(chances), 0).sum(axis=1)
        broken = both if harm - gain < margin - 1e-12 else first
        largest = max(largest, float(np.exp(log_ways + log)[broken].sum()))
    assert largest <= alpha + 5e-4
