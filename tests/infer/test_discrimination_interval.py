"""Limits of the discrimination of the CORP decomposition."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness._tally.cells import Cells
from trueness.infer._discrimination_interval import discrimination_interval

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
