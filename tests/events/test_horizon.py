"""Risks by a horizon: weights against slow, obvious estimates, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.errors import InputError, TruenessWarning

followed = st.lists(
    st.tuples(st.integers(1, 8), st.integers(0, 2), st.floats(0, 1)), min_size=3, max_size=40
)


def survival(time, event, horizon):
    """Kaplan-Meier at the horizon, one event time after the other."""
    stays = 1.0
    for t in np.unique(time[event > 0]):
        if t <= horizon:
            stays *= 1 - ((time == t) & (event > 0)).sum() / (time >= t).sum()
    return stays


def incidence(time, event, horizon, cause):
    """Aalen-Johansen at the horizon, one event time after the other."""
    stays, found = 1.0, 0.0
    for t in np.unique(time[event > 0]):
        if t <= horizon:
            at_risk = (time >= t).sum()
            found += stays * ((time == t) & (event == cause)).sum() / at_risk
            stays *= 1 - ((time == t) & (event > 0)).sum() / at_risk
    return found


def columns(rows):
    time, event, risk = map(np.array, zip(*rows, strict=True))
    return time.astype(float), event, risk


def is_estimable(time, event, horizon):
    return (event == 1).any() and (time >= horizon).any()


@given(rows=followed, horizon=st.integers(1, 8))
def test_the_weighted_event_rate_is_that_of_aalen_and_johansen(rows, horizon):
    time, event, risk = columns(rows)
    if not is_estimable(time, event, horizon):
        return
    found = tn.events.at_horizon(time, event, risk, horizon=horizon, strata=None)
    weight = np.ones(time.size) if found.weight is None else found.weight
    rate = (weight * found.event).sum() / time.size
    assert weight.sum() == pytest.approx(time.size, rel=1e-12)
    assert rate == pytest.approx(incidence(time, event, horizon, cause=1), abs=1e-12)


@given(rows=followed, horizon=st.integers(1, 8))
def test_with_one_cause_the_weighted_event_rate_is_one_minus_kaplan_meier(rows, horizon):
    time, event, risk = columns(rows)
    event = np.minimum(event, 1)
    if not is_estimable(time, event, horizon):
        return
    found = tn.events.at_horizon(time, event, risk, horizon=horizon, strata=None)
    weight = np.ones(time.size) if found.weight is None else found.weight
    rate = (weight * found.event).sum() / time.size
    assert rate == pytest.approx(1 - survival(time, event, horizon), abs=1e-12)


def test_with_strata_the_weighted_event_rate_is_the_mean_over_strata():
    rng = np.random.default_rng(0)
    time, event = rng.integers(1, 30, 400).astype(float), rng.integers(0, 2, 400)
    strata = rng.choice(["a", "b", "c"], 400)
    risk = rng.random(400)
    found = tn.events.at_horizon(time, event, risk, horizon=12, strata=strata)
    each = [
        (strata == name).mean() * (1 - survival(time[strata == name], event[strata == name], 12))
        for name in "abc"
    ]
    assert (found.weight * found.event).mean() == pytest.approx(sum(each), abs=1e-12)
    assert tn.estimate("observed_expected", found).value * risk_mean(found) == pytest.approx(
        sum(each), abs=1e-12
    )


def risk_mean(events):
    return np.average(events.p, weights=events.weight)


def test_the_weighted_brier_score_is_that_of_graf_and_others():
    rng = np.random.default_rng(1)
    time, event = rng.integers(1, 30, 300).astype(float), rng.integers(0, 2, 300)
    risk = rng.random(300)
    found = tn.events.at_horizon(time, event, risk, horizon=10, strata=None)
    uncensored = {
        t: np.prod(
            [
                1
                - ((time == s) & (event == 0)).sum()
                / ((time >= s) & ~((time == s) & (event == 1))).sum()
                for s in np.unique(time[event == 0])
                if s < t
            ]
        )
        for t in np.unique(np.minimum(time, 10))
    }
    score = 0.0
    for t, d, p in zip(time, event, risk, strict=True):
        if t <= 10 and d:
            score += (1 - p) ** 2 / uncensored[t]
        elif t >= 10:
            score += p**2 / uncensored[10]
    assert tn.brier(found) == pytest.approx(score / found.weight.sum(), abs=1e-12)
    assert found.weight.sum() == pytest.approx(300, abs=1e-9)


def test_a_row_censored_exactly_at_the_horizon_has_survived_it():
    found = tn.events.at_horizon([5, 5, 5, 2], [0, 0, 1, 1], [0.5] * 4, horizon=5)
    assert found.weight is None
    assert found.event.tolist() == [0, 0, 1, 1]
    assert found.left_out == {}


def test_a_competing_event_is_a_known_non_event():
    found = tn.events.at_horizon([1, 2, 3, 6], [2, 1, 2, 0], [0.5] * 4, horizon=5)
    assert found.event.tolist() == [0, 1, 0, 0]
    assert found.weight is None


def test_rows_of_weight_zero_stay_so_that_columns_match():
    by = ["a", "b", "a", "b", "b", "a"]
    rows = [1, 5, 2, 4, 5, 6], [1, 0, 0, 1, 0, 0], [0.2, 0.1, 0.3, 0.6, 0.2, 0.1]
    found = tn.events.at_horizon(*rows, horizon=5)
    assert found.left_out == {"censored before the horizon": 1}
    assert found.event.size == 6
    assert sorted(tn.segments(found, by=by).value) == ["a", "b"]


def test_several_horizons_are_problems_of_their_own():
    time, event, risk = [1, 5, 2, 4, 5], [1, 0, 0, 1, 0], np.full((5, 2), [0.2, 0.5])
    found = tn.events.at_horizons(time, event, risk, horizons=[2, 5])
    alone = tn.events.at_horizon(time, event, risk[:, 1], horizon=5)
    assert list(found) == [2.0, 5.0]
    np.testing.assert_array_equal(found[5.0].weight, alone.weight)


def test_strata_of_the_risk_need_rows_enough_and_a_note_says_which_were_used():
    rng = np.random.default_rng(2)
    risk = rng.beta(2, 5, 800)
    time = rng.exponential(5 / risk)
    censoring = rng.uniform(0, 20, 800)
    rows = np.minimum(time, censoring), (time <= censoring).astype(int), risk
    assert "4 strata" in tn.events.at_horizon(*rows, horizon=5).notes[0]
    for size, words in ((199, "3 strata"), (120, "2 strata"), (80, "one estimate")):
        few = [column[:size] for column in rows]
        assert words in tn.events.at_horizon(*few, horizon=5).notes[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"followup": [-1, 5, 2, 4, 5]}, r"`followup` must lie at or above 0; 1 of 5 .* row 0"),
        ({"followup": [[0, 1]] * 5}, "left truncation"),
        ({"followup": [1, 5, np.nan, 4, 5]}, "`followup` must not have missing values"),
        ({"event": [0.5, 0, 0, 1, 0]}, "`event` must be whole numbers"),
        ({"event": [0, 0, 0, 0, 0]}, "`event` must have rows with the predicted event, 1"),
        ({"event": [1, 0, 0, 1]}, r"`event` must have one entry per row \(5\); got 4"),
        ({"risk": [20, 10, 30, 60, 20]}, r"`risk` must lie in \[0, 1\]"),
        ({"horizon": 9}, "`horizon` must be at most the longest follow-up; got 9"),
        ({"horizon": 0}, "`horizon` must be a finite number above 0"),
        ({"strata": "risk"}, "`strata` must be 'auto', None or a column"),
        ({"strata": ["a", "a", "b", "a", "a"]}, "followed up to the horizon in stratum b"),
        ({"cause": 0}, "`cause` must be a whole number"),
    ],
)
def test_bad_input_is_refused_with_the_reason(changes, message):
    given = {
        "followup": [1, 5, 2, 4, 5],
        "event": [1, 0, 0, 1, 0],
        "risk": [0.2, 0.1, 0.3, 0.6, 0.2],
        "horizon": 5,
    }
    with pytest.raises(InputError, match=message):
        tn.events.at_horizon(**{**given, **changes})


def test_rows_that_are_all_censored_before_the_horizon_are_refused():
    with pytest.raises(InputError, match="followed up to the horizon"):
        tn.events.at_horizon([1, 2, 3, 5], [1, 0, 0, 0], [0.5] * 4, horizon=5, strata=[0, 0, 0, 1])
    with pytest.raises(InputError, match="predicted event, 1; the codes are \\[0\\]"):
        tn.events.at_horizon([1, 2, 3], [0, 0, 0], [0.5] * 3, horizon=3)


def test_heavy_weights_warn():
    time = np.concatenate([np.arange(1, 60), [100.0]])
    event = np.zeros(60, int)
    event[0] = 1
    with pytest.warns(TruenessWarning, match="largest weight is 5"):
        tn.events.at_horizon(time, event, np.full(60, 0.1), horizon=80, strata=None)


def test_models_with_weights_of_their_own_cannot_be_compared():
    rng = np.random.default_rng(3)
    risk, other = rng.beta(2, 5, (2, 800))
    time, censoring = rng.exponential(5 / risk), rng.uniform(0, 20, 800)
    rows = np.minimum(time, censoring), (time <= censoring).astype(int)
    auto = {"a": tn.events.at_horizon(*rows, risk, horizon=5)}
    auto["b"] = tn.events.at_horizon(*rows, other, horizon=5)
    with pytest.raises(InputError, match=r"the same weights.*strata=None"):
        tn.compare(auto)
    alike = {
        name: tn.events.at_horizon(*rows, column, horizon=5, strata=None)
        for name, column in (("a", risk), ("b", other))
    }
    assert tn.compare(alike, measure="brier")["a", "b"].difference < 0
