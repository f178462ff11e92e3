"""Rows to accept a calibrated model: laws, messages, progress, and the power that fresh rows have."""

import math

import numpy as np
import pytest
from scipy.special import expit

import trueness as tn


@pytest.mark.slow
def test_narrower_margins_and_more_power_need_more_rows_to_be_accepted():
    how = {"log_odds": (-1, 1), "seed": 0, "progress": False}
    wide, narrow = (tn.validation_size(**how, accept_ece=within) for within in (0.1, 0.05))
    strong = tn.validation_size(**how, accept_ece=0.1, power=0.95)
    assert wide.criterion == ("ECE",)
    assert wide.target == ("accepted within 0.1 with probability 0.8",)
    assert wide.n < strong.n
    assert wide.n < narrow.n
    with pytest.raises(tn.InputError, match="`accept_band` needs the spread of the scores"):
        tn.validation_size(prevalence=0.1, accept_band=0.1)
    with pytest.raises(tn.InputError, match="`accept_l2` must be at most 1"):
        tn.validation_size(log_odds=(-1, 1), accept_l2=2)


def test_progress_of_the_simulated_acceptance_ends_at_its_total():
    seen = []
    tn.validation_size(
        log_odds=(-1, 1),
        accept_ece=0.2,
        seed=0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (12, 12)
    assert seen == sorted(seen)


@pytest.mark.slow
@pytest.mark.parametrize(("criterion", "within"), [("l2", 0.05), ("ece", 0.03), ("band", 0.2)])
def test_calibrated_rows_are_accepted_about_as_often_as_planned(criterion, within):
    known = {"log_odds": (-1, 1.3), f"accept_{criterion}": within}
    n = tn.validation_size(**known, seed=0, progress=False).n
    rng, runs, accepted = np.random.default_rng(1), 100, 0
    for _ in range(runs):
        p = expit(rng.normal(-1, 1.3, n))
        y = (rng.random(n) < p).astype(int)
        accepted += (
            tn.equivalence_test(y, p, within=within, criterion=criterion, seed=0).pvalue <= 0.05
        )
    assert accepted / runs == pytest.approx(0.8, abs=0.05 + 3 * math.sqrt(0.16 / runs))
