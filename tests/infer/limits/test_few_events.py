"""`powered` where few events are expected among the human labels."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaincinv, expit, log_expit, logit

import trueness as tn


def drawn(seed, *, law=(1, 60), humans=100, rows=1_500, judge="false alarms", odds=1.0):
    """Labels of humans, of a judge and scores; calibrated unless the odds are multiplied."""
    rng = np.random.default_rng([seed, humans])
    p = np.maximum(rng.beta(*law, rows), 1e-9)
    truth = p * odds / (1 - p + p * odds)
    y = (rng.random(rows) < truth).astype(float)
    verdict = {
        "false alarms": np.where(rng.random(rows) < p, 1.0, y),
        "misses": y * (rng.random(rows) < 0.6),
        "useless": (rng.random(rows) < 0.3).astype(float),
        "constant": np.zeros(rows),
        "perfect": y,
        "flips": np.where(rng.random(rows) < 0.1, 1 - y, y),
        "leans": np.maximum(y, rng.random(rows) < 0.5 * np.sqrt(p)),
        "score": y + 0.5 * rng.normal(size=rows),
    }[judge]
    return np.where(np.arange(rows) < humans, y, np.nan), verdict, p


def judge_given_score(judge, p):
    """P(judge says 1 | score), by logistic regression on the log-odds."""
    x = logit(p)

    def loss(line):
        eta = line[0] + line[1] * x
        return -(judge * log_expit(eta) + (1 - judge) * log_expit(-eta)).sum()

    line = minimize(loss, [0.0, 1.0], tol=1e-12).x
    return expit(line[0] + line[1] * x)


def test_the_event_rate_is_that_of_the_humans_with_the_judge_shrunk_twice():
    human, judge, p = drawn(3, law=(0.5, 15), rows=400)
    known = ~np.isnan(human)
    n, rows = known.sum(), p.size
    f = judge - judge_given_score(judge, p)
    u = human[known] - p[known]
    events = min(human[known].sum(), n - human[known].sum())
    assert 0 < events < 10
    weight = events / (events + 3)
    products, squares = f[known] * u, f[known] ** 2
    of_rows = np.full(rows, weight * products.sum() / squares.sum())
    of_rows[known] = [
        weight * np.delete(products, i).sum() / np.delete(squares, i).sum() for i in range(n)
    ]
    value = p.mean() + (of_rows * f).mean() + (u - of_rows[known] * f[known]).mean()
    slope = weight * products.sum() / squares.sum()
    rate = max(value, 1 / (2 * n))
    gain = weight * (2 * slope * products.mean() - slope**2 * squares.mean()) * (1 - n / rows)
    size = n * rate * (1 - rate) / (rate * (1 - rate) - max(gain, 0))
    low = betaincinv(value * size, size - value * size + 1, 0.025)
    high = betaincinv(value * size + 1, size - value * size, 0.975)
    found = tn.powered(human, judge, p)
    assert found.event_rate.value == pytest.approx(value, rel=1e-3)
    assert (found.event_rate.low, found.event_rate.high) == pytest.approx((low, high), rel=5e-3)
    ratio = found.observed_expected
    assert (ratio.value, ratio.high) == pytest.approx(
        (found.event_rate.value / p.mean(), found.event_rate.high / p.mean())
    )


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_without_an_event_the_limits_are_the_exact_ones_of_the_humans():
    human, judge, p = drawn(0, judge="useless")
    found = tn.powered(np.where(np.isnan(human), human, 0), judge, p).event_rate
    assert (found.value, found.low) == pytest.approx((0, 0), abs=1e-12)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 100))


@pytest.mark.parametrize("judge", ["constant", "score"])
def test_neither_the_order_of_rows_nor_the_unit_of_the_judge_matters(judge):
    human, verdict, p = drawn(5, judge=judge)
    order = np.random.default_rng(0).permutation(p.size)
    found = tn.powered(human, verdict, p)
    again = tn.powered(human[order], 7 + 100 * verdict[order], p[order])
    assert 0 < found.pvalue == again.pvalue
    assert again.event_rate.high == pytest.approx(found.event_rate.high)


def test_the_method_depends_on_the_scores_and_not_on_the_labels():
    human, judge, p = drawn(1)
    method = tn.powered(human, judge, p).event_rate.method
    assert "few events" in method
    many = np.where(np.isnan(human), human, np.arange(p.size) % 2)
    assert tn.powered(many, judge, p).event_rate.method == method
    more = drawn(1, law=(2, 3))
    assert "few events" not in tn.powered(*more).event_rate.method


def test_many_more_events_than_expected_are_seen():
    human, judge, p = drawn(2, odds=12)
    assert tn.powered(human, judge, p).pvalue <= 0.01


SETTINGS = [
    ((1, 60), 100, "false alarms"),
    ((0.5, 15), 60, "false alarms"),
    ((0.5, 15), 100, "misses"),
    ((0.8, 40), 150, "leans"),
    ((0.3, 6), 60, "flips"),
    ((0.7, 25), 80, "score"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize(("law", "humans", "judge"), SETTINGS)
def test_the_level_and_the_limits_hold_with_few_events(law, humans, judge):
    runs = 150
    rate = law[0] / sum(law)
    rejected = covered = 0
    for seed in range(runs):
        given = drawn(seed, law=law, humans=humans, judge=judge)
        found = tn.powered(*given, seed=seed)
        rejected += found.pvalue <= 0.05
        covered += found.event_rate.low <= rate <= found.event_rate.high
    assert rejected / runs <= 0.065 + 3 * math.sqrt(0.065 * 0.935 / runs)
    assert covered / runs >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / runs)
