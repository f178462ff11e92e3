"""Following the advice ends it: the simulation of benchmarks/cases/advice.py, at a small size."""

import numpy as np
import pytest
from cases import advice

RUNS = 20


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 5_000])
def test_who_follows_the_advice_is_rarely_advised_again(n):
    outcomes = advice.followed(n, runs=1, settings=RUNS)
    again = advice.advised_again(outcomes)
    error = np.sqrt(advice.MOST_AGAIN * (1 - advice.MOST_AGAIN) / len(again))
    assert len(again) >= 4
    assert np.mean(again) <= advice.MOST_AGAIN + 3 * error


@pytest.mark.slow
def test_a_large_gain_is_rarely_missed():
    lost = advice.missed(advice.followed(5_000, runs=1, settings=RUNS))
    error = np.sqrt(advice.MOST_MISSED * (1 - advice.MOST_MISSED) / len(lost))
    assert np.mean(lost) <= advice.MOST_MISSED + 3 * error
