"""Limits of the discrimination of the CORP decomposition."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import trueness as tn
from trueness._tally.cells import Cells
from trueness.infer.limits._discrimination import discrimination_interval

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def test_the_limits_hold_the_value_and_shrink_with_the_number_of_rows():
    n, events = np.full(9, 40), np.array([2, 6, 11, 17, 19, 26, 28, 31, 37])
    widths = []
    for times in (1, 25):
        cells = Cells(np.arange(1, 10) / 10, times * n, times * n, times * events)
        value = tn.corp(tn.Tally("binary", (cells,))).discrimination
        low, high, error = discrimination_interval(cells, value, 0.95, np.random.default_rng(0))
        assert low < value - error < value + error < high
        widths.append(high - low)
    assert widths[0] > 4 * widths[1]


def test_one_class_has_no_narrower_limits_than_all_possible_values():
    cells = tn.tally([0] * 20, np.linspace(0.1, 0.9, 20)).parts[0]
    assert discrimination_interval(cells, 0.0, 0.95, np.random.default_rng(0))[:2] == (0.0, 0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "n"), [(1.0, 200), (0.6, 200), (1.0, 1_000), (0.6, 1_000)])
def test_the_limits_cover_the_variance_of_the_true_probabilities(slope, n):
    rng, runs = np.random.default_rng(0), 300
    truth = float(expit(slope * logit((np.arange(20_000) + 0.5) / 20_000)).var())
    held = 0
    for _ in range(runs):
        p = rng.random(n)
        tally = tn.tally((rng.random(n) < expit(slope * logit(p))).astype(int), p)
        low, high, _ = discrimination_interval(tally.parts[0], tn.corp(tally).discrimination, 0.95, rng)
        held += low <= truth <= high
    assert 0.90 <= held / runs <= 1.0  # 0.94 less three standard errors


def rows_of(n, events):
    """Rates of cells that no drawn set of labels puts in another order."""
    n, events = np.array(n), np.array(events)
    cells = Cells(np.arange(1, n.size + 1) / 10, n, n, events)
    rate = np.repeat(events / n, n)
    y = np.concatenate([np.arange(k) < e for k, e in zip(n, events, strict=True)])
    return cells, y, rate


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(("n", "events"), [((200, 300, 250), (10, 150, 235)), ((400, 100, 300), (20, 30, 210))])
def test_the_limits_are_student_s_t_of_the_rows_and_the_lower_one_takes_off_the_gain_of_fitting(n, events, level):
    cells, y, rate = rows_of(n, events)
    value = tn.corp(tn.Tally("binary", (cells,))).discrimination
    low, high, error = discrimination_interval(cells, value, level, np.random.default_rng(0))
    better = (y.mean() - y) ** 2 - (rate - y) ** 2
    freedom = y.size - 3
    expected = np.sqrt(((better - better.mean()) ** 2).sum() / freedom / y.size)
    reach = stats.t.isf((1 - level) / 2, freedom) * expected
    assert value == pytest.approx(better.mean())
    assert error == pytest.approx(expected)
    assert high == pytest.approx(value + reach)
    # Labels drawn from the rates r of the cells move each of them by a variance of r(1 - r)/n.
    each = np.array(events) / n
    gain = (each * (1 - each)).sum() / y.size
    assert value - reach - low == pytest.approx(gain, rel=0.6)


def test_blocks_of_the_isotonic_fit_and_not_cells_cost_degrees_of_freedom():
    """Cells of rates 0.5, 0.25 and 1: the first two are one block."""
    cells, y, _ = rows_of((20, 20, 20), (10, 5, 20))
    rate = np.repeat([0.375, 1.0], [40, 20])
    value = tn.corp(tn.Tally("binary", (cells,))).discrimination
    _, high, error = discrimination_interval(cells, value, 0.95, np.random.default_rng(0))
    better = (y.mean() - y) ** 2 - (rate - y) ** 2
    assert error == pytest.approx(np.sqrt(((better - better.mean()) ** 2).sum() / 58 / 60))
    assert high == pytest.approx(value + stats.t.isf(0.025, 58) * error)


def test_the_limits_stay_between_0_and_a_quarter():
    cells, _, _ = rows_of((10, 10), (0, 10))
    low, high, error = discrimination_interval(cells, 0.25, 0.95, np.random.default_rng(0))
    assert (low, high, error) == (0.25, 0.25, 0)
    cells, _, _ = rows_of((10, 10), (4, 6))
    low, high, _ = discrimination_interval(cells, 0.01, 0.95, np.random.default_rng(0))
    assert (low, high < 0.25) == (0, True)
    one_row_each = Cells(np.array([0.2, 0.8]), np.ones(2, int), np.ones(2, int), np.array([0, 1]))
    low, high, error = discrimination_interval(one_row_each, 0.25, 0.95, np.random.default_rng(0))
    assert (low, high) == (0, 0.25)
    assert np.isnan(error)
    events = tn.tally([1] * 20, np.linspace(0.1, 0.9, 20)).parts[0]
    assert discrimination_interval(events, 0.0, 0.95, np.random.default_rng(0))[:2] == (0, 0.25)
