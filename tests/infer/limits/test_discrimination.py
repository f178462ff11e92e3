"""Limits of the discrimination of the CORP decomposition."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def rows_of(n, events):
    """Labels, scores and the rates of cells that no drawn set of labels puts in another order."""
    n, events = np.array(n), np.array(events)
    y = np.concatenate([np.arange(k) < e for k, e in zip(n, events, strict=True)])
    return y, np.repeat(np.arange(1, n.size + 1) / 10, n), np.repeat(events / n, n)


def limits(y, p, level=0.95, seed=0):
    found = tn.estimate("discrimination", y, p, level=level, seed=seed)
    return found.value, found.low, found.high, found.standard_error


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "n"), [(1.0, 200), (0.6, 200), (1.0, 1_000), (0.6, 1_000)])
def test_the_limits_cover_the_variance_of_the_true_probabilities(slope, n):
    rng, runs = np.random.default_rng(0), 300
    truth = float(expit(slope * logit((np.arange(20_000) + 0.5) / 20_000)).var())
    held = 0
    for _ in range(runs):
        p = rng.random(n)
        _, low, high, _ = limits((rng.random(n) < expit(slope * logit(p))).astype(int), p, seed=rng)
        held += low <= truth <= high
    assert 0.90 <= held / runs <= 1.0  # 0.94 less three standard errors


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(
    ("n", "events"), [((200, 300, 250), (10, 150, 235)), ((400, 100, 300), (20, 30, 210))]
)
def test_the_limits_are_student_s_t_of_the_rows_and_the_lower_one_takes_off_the_gain_of_fitting(
    n, events, level
):
    y, p, rate = rows_of(n, events)
    value, low, high, error = limits(y, p, level)
    better = (y.mean() - y) ** 2 - (rate - y) ** 2
    freedom = y.size - 3
    expected = np.sqrt(((better - better.mean()) ** 2).sum() / freedom / y.size)
    reach = stats.t.isf((1 - level) / 2, freedom) * expected
    assert (value, error, high) == pytest.approx((better.mean(), expected, value + reach))
    # Labels drawn from the rates r of the cells move each of them by a variance of r(1 - r)/n.
    each = np.array(events) / n
    gain = (each * (1 - each)).sum() / y.size
    assert value - reach - low == pytest.approx(gain, rel=0.6)


def test_blocks_of_the_isotonic_fit_and_not_cells_cost_degrees_of_freedom():
    """Cells of rates 0.5, 0.25 and 1: the first two are one block."""
    y, p, _ = rows_of((20, 20, 20), (10, 5, 20))
    better = (y.mean() - y) ** 2 - (np.repeat([0.375, 1.0], [40, 20]) - y) ** 2
    value, _, high, error = limits(y, p)
    assert error == pytest.approx(np.sqrt(((better - better.mean()) ** 2).sum() / 58 / 60))
    assert high == pytest.approx(value + stats.t.isf(0.025, 58) * error)


def test_the_limits_stay_between_0_and_a_quarter():
    assert limits(*rows_of((10, 10), (0, 10))[:2]) == pytest.approx((0.25, 0.25, 0.25, 0))
    _, low, high, _ = limits(*rows_of((10, 10), (4, 6))[:2])
    assert (low, high < 0.25) == (0, True)
    assert limits([0, 1], [0.2, 0.8]) == pytest.approx((0.25, 0, 0.25, np.nan), nan_ok=True)
    for label in (0, 1):
        assert limits([label] * 20, np.linspace(0.1, 0.9, 20))[1:3] == (0, 0.25)
