"""Rows to accept a calibrated model: laws, messages, progress, and the power that fresh rows have."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import trueness as tn
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness.infer.plan import _acceptance_power as home
from trueness.infer.plan._acceptance_power import _bracket, acceptance_power, acceptance_size
from trueness.infer.plan._score_law import ScoreLaw, score_law
from trueness.infer.test._equivalence import margin


def test_the_power_rises_with_the_rows_and_the_margin():
    law, rng = score_law(None, None, (-1, 1), None), np.random.default_rng(0)
    powers = [acceptance_power(law, "ece", 0.1, n, 0.05, rng) for n in (50, 200, 1_000)]
    assert powers == sorted(powers)
    assert (powers[0], powers[-1]) == (0, 1)
    few = [acceptance_power(law, "ece", within, 200, 0.05, rng) for within in (0.02, 0.2)]
    assert few == [0, 1]


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
        log_odds=(-1, 1), accept_ece=0.2, seed=0, progress=lambda done, total: seen.append((done, total))
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
        found = margin(Evidence.of((rng.random(n) < p).astype(int), p, {}), criterion, within)
        accepted += found.pvalue <= 0.05
    assert accepted / runs == pytest.approx(0.8, abs=0.05 + 3 * math.sqrt(0.16 / runs))


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (0, (20, 20)),
        (125, (31.25, 125)),
        (126, (125, 500)),
        (2_000, (500, 2_000)),
        (2_001, (2_000, 8_000)),
        (9_999_999, (8_192_000, 10**7)),
        (10**8, (32_768_000, None)),
    ],
)
def test_the_least_number_of_rows_is_bracketed_by_factors_of_four(least, expected):
    assert _bracket(lambda n: n >= least) == expected


def planned(monkeypatch, power_of, power=0.8, criterion="ece"):
    """The planned number of rows if the power is known, and the calls for it."""
    calls = []

    def known(law, criterion, within, n, alpha, rng, few):
        calls.append((n, alpha, few))
        return power_of(n)

    steps = []
    monkeypatch.setattr(home, "acceptance_power", known)
    size = acceptance_size(None, criterion, 0.1, 0.9, power, None, lambda: steps.append(1))
    assert len(steps) == len(calls)
    return size, calls


@pytest.mark.all_cases
@pytest.mark.parametrize("rows", [40, 150, 900, 2_500, 30_000, 4_000_000])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("steepness", [0.7, 1.5])
def test_a_power_whose_quantile_is_linear_in_log_rows_is_solved_exactly(monkeypatch, rows, power, steepness):
    # The nearest four powers lie inside what 100 sets of labels can show.
    size, calls = planned(monkeypatch, lambda n: ndtr(ndtri(power) + steepness * math.log(n / rows)), power)
    assert size == pytest.approx(rows, rel=0.01, abs=1.5)
    assert all(n == int(n) for n, _, _ in calls)
    assert [(alpha, few) for _, alpha, few in calls] == [(pytest.approx(0.1), 20 if power <= 0.9 else 100)] * len(calls)
    assert len(calls) < 14


def test_a_high_power_takes_all_draws_of_its_criterion(monkeypatch):
    for criterion, draws in (("l2", 100), ("ece", 100), ("band", 40)):
        for power, few in ((0.9, 20), (0.91, draws)):
            _, calls = planned(monkeypatch, lambda n: float(n > 300), power, criterion)
            assert {used for _, _, used in calls} == {few}


@pytest.mark.all_cases
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95, 0.996, 0.9999])
@pytest.mark.parametrize("least", [30, 300, 1_999, 5_000, 123_456, 9_000_000])
def test_a_power_that_jumps_is_found_within_two_steps_of_a_tenth(monkeypatch, power, least):
    size, _ = planned(monkeypatch, lambda n: float(n >= least), power)
    assert least / 1.1**2 - 1 <= size <= least * 1.1**2 + 1


@pytest.mark.parametrize("power", [0.8, 0.996])
def test_equal_powers_say_nothing_about_the_slope(monkeypatch, power):
    # The four nearest powers are 1, for more than 300 rows.
    size, _ = planned(monkeypatch, lambda n: float(n >= 300), power)
    assert 300 <= size <= 331


def test_rows_that_are_always_or_never_accepted(monkeypatch):
    assert planned(monkeypatch, lambda _: 1.0)[0] == 20
    assert planned(monkeypatch, lambda _: 0.0)[0] is None
    assert planned(monkeypatch, lambda n: float(n > 10**7))[0] is None
    assert planned(monkeypatch, lambda n: 0.8 if n >= 2_000 else 0.0)[0] < 2_500


@pytest.mark.all_cases
@pytest.mark.parametrize(("accepted", "few", "expected", "used"), [
    ([True] * 100, 20, 1.0, 20),
    ([False] * 100, 20, 0.0, 20),
    ([True] * 19 + [False] * 81, 20, 0.19, 100),
    ([False] * 19 + [True] * 81, 20, 0.81, 100),
    ([True] * 99 + [False], 0, 0.99, 100),
    ([False] * 100, 0, 0.0, 100),
    ([True] * 100, 100, 1.0, 100),
])  # fmt: skip
def test_the_first_few_draws_decide_if_they_agree(monkeypatch, accepted, few, expected, used):
    left = list(accepted)
    monkeypatch.setattr(home, "_keeps", lambda *_: left.pop(0))
    found = acceptance_power(score_law(None, None, (-1, 1), None), "ece", 0.1, 50, 0.05, np.random.default_rng(0), few)
    assert (found, 100 - len(left)) == (expected, used)


def test_labels_are_drawn_from_the_scores(monkeypatch):
    seen = []
    monkeypatch.setattr(home, "_keeps", lambda cells, *_: seen.append(cells) or True)
    law = ScoreLaw(np.array([0.2, 0.7]), np.array([0.25, 0.75]))
    assert acceptance_power(law, "band", 0.1, 400, 0.05, np.random.default_rng(0)) == 1
    assert len(seen) == 40
    for cells in seen:
        assert cells.score.tolist() == [0.2, 0.7]
        assert cells.weight.tolist() == cells.count.tolist() == [100, 300]
    events = np.mean([cells.events for cells in seen], axis=0)
    assert events == pytest.approx([20, 210], abs=5 * math.sqrt(63 / 40))


@pytest.mark.parametrize("criterion", ["l2", "ece", "band"])
def test_rows_are_kept_if_the_equivalence_test_accepts_them(criterion):
    rng = np.random.default_rng(0)
    found = []
    for n in (100, 400):
        p = rng.choice(np.linspace(0.1, 0.9, 30), n)
        y = (rng.random(n) < p).astype(int)
        cells = tn.tally(y, p).parts[0]
        for within in (0.05, 0.1, 0.15, 0.2, 0.3, 0.6, 0.8):
            accepted = margin(Evidence.of(y, p, {}), criterion, within).pvalue <= 0.1
            assert home._keeps(cells, criterion, within, 0.1) == accepted
            found.append(accepted)
    assert 0 < sum(found) < len(found)


def test_a_band_within_the_margin_at_exactly_the_share_is_kept(monkeypatch):
    cells = Cells(np.array([0.5]), *[np.array([10])] * 2, np.array([5]))
    for share, kept in ((home.SHARE, True), (home.SHARE - 1e-15, True), (home.SHARE - 1e-6, False)):
        monkeypatch.setattr(home.BandRuns, "share_within", lambda *_, share=share: share)
        assert home._keeps(cells, "band", 0.1, 0.05) is kept


def test_planned_rows_have_the_quantiles_of_the_law():
    dense = ScoreLaw((np.arange(200) + 0.5) / 200, np.full(200, 1 / 200))
    score, count = home._rows(dense, 50)
    assert score == pytest.approx((np.arange(50) + 0.5) / 50)
    assert count.tolist() == [1] * 50
    for n in (3_000, 200_000):
        score, count = home._rows(dense, n)
        assert count.sum() == n
        assert np.ptp(count[1:-1]) <= 1
        assert np.diff(score)[2:-2] == pytest.approx(1 / score.size, rel=0.01)
        # Four scores for each of the n ** 0.65 cells of the interval.
        assert score.size == pytest.approx(max(1024, 4 * n**0.65), rel=0.01)
        assert count @ score / n == pytest.approx(0.5, abs=1e-3)


def test_planned_rows_keep_the_scores_that_many_rows_share():
    tied = ScoreLaw(np.array([0.1, 0.4, 0.9]), np.array([0.5, 0.3, 0.2]))
    score, count = home._rows(tied, 1_000)
    assert (score.tolist(), count.tolist()) == ([0.1, 0.4, 0.9], [500, 300, 200])
    # One score shared by three rows of a hundred, among scores that are all different.
    share = np.append(np.full(97, 0.01), 0.03)
    score, count = home._rows(ScoreLaw(np.linspace(0.1, 0.8, 98), share), 100)
    assert set(score) <= set(np.linspace(0.1, 0.8, 98))
    assert count[-1] == 3
