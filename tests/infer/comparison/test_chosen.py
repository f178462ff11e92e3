"""The best of several models: limits that allow for the choice."""

import math

import numpy as np
import pytest

import trueness as tn


def rows(seed=0, n=200, models=4):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n)
    noisy = {f"m{i}": np.clip(p + rng.normal(0, 0.1, n), 0.01, 0.99) for i in range(models)}
    return rng.random(n) < p, noisy


@pytest.mark.parametrize("measure", ["brier", "log_loss", "squared_ece", "auc", "scaled_brier"])
def test_the_limits_are_those_of_the_model_at_the_level_for_all(measure):
    y, models = rows()
    found = tn.compare(y, models, measure=measure, level=0.8, resamples=99)
    best = max if found.better == "more" else min
    name = best(found.estimates, key=found.estimates.get)
    alone = tn.estimate(measure, y, models[name], level=1 - 0.2 / 4, floor=False)
    assert found.chosen.value == pytest.approx(found.estimates[name], rel=1e-9)
    assert (found.chosen.low, found.chosen.high) == (alone.low, alone.high)
    assert found.chosen.level == 0.8
    assert "best of 4" in found.chosen.method


def test_nothing_is_chosen_where_neither_less_nor_more_is_better():
    y, models = rows()
    assert tn.compare(y, models, measure="observed_expected", resamples=239).chosen is None
    assert (
        tn.compare(y, models, measure=lambda tally: tn.brier(tally), resamples=239).chosen is None
    )


def test_a_measure_without_limits_is_chosen_without_limits():
    y, models = rows()
    found = tn.compare(y, models, measure="smooth_ece", resamples=239)
    assert found.chosen.value == min(found.estimates.values())
    assert math.isnan(found.chosen.high)


def test_clusters_and_weights_are_those_of_the_comparison():
    y, models = rows()
    cluster = np.arange(200) // 4
    found = tn.compare(y, models, measure="brier", cluster=cluster)
    name = min(found.estimates, key=found.estimates.get)
    alone = tn.estimate("brier", y, models[name], cluster=cluster, level=1 - 0.05 / 4)
    assert found.chosen.high == pytest.approx(alone.high)


@pytest.mark.slow
@pytest.mark.parametrize(("models", "n"), [(5, 100), (20, 100), (5, 400)])
def test_limits_of_the_best_hold_as_often_as_their_level_says(models, n):
    """Equally good models, of which the luckiest is chosen; its true loss is known."""
    rng = np.random.default_rng(31)
    runs = 400
    held = 0
    for _ in range(runs):
        q = rng.uniform(0.1, 0.9, n)
        y = rng.random(n) < q
        scores = {str(i): np.clip(q + rng.normal(0, 0.15, n), 0.02, 0.98) for i in range(models)}
        found = tn.compare(y, scores, measure="log_loss")
        name = min(found.estimates, key=found.estimates.get)
        p = scores[name]
        truth = -float(np.mean(q * np.log(p) + (1 - q) * np.log(1 - p)))
        held += found.chosen.low <= truth <= found.chosen.high
    assert held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
