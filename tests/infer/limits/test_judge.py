"""The record of a judge: by hand, by definition, and limits that hold for 50 labels."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness._numerics.paired_proportions import score_limits
from trueness._numerics.proportions import mid_p


def from_table(both, human_only, judge_only, neither):
    """Labels of people and of a judge with these counts."""
    cells = [(1, 1)] * both + [(1, 0)] * human_only + [(0, 1)] * judge_only + [(0, 0)] * neither
    human, judge = np.array(cells, dtype=float).T
    return human, judge


def test_rates_are_those_of_the_table():
    human, judge = from_table(20, 5, 10, 15)
    found = tn.judge(human, judge)
    assert (found.both, found.human_only, found.judge_only, found.neither) == (20, 5, 10, 15)
    # The example of Cohen's kappa in many textbooks: 35 of 50 agree, 25 would by chance.
    assert found.kappa.value == pytest.approx(0.4)
    assert found.sensitivity.value == pytest.approx(20 / 25)
    assert found.specificity.value == pytest.approx(15 / 25)
    assert found.ppv.value == pytest.approx(20 / 30)
    assert found.npv.value == pytest.approx(15 / 20)
    assert found.bias.value == pytest.approx(5 / 50)
    for estimate, k, n in ((found.sensitivity, 20, 25), (found.npv, 15, 20)):
        assert (estimate.low, estimate.high) == tuple(map(float, mid_p(k, n, 0.95)))
    low, high = score_limits(10, 5, 50, 0.95)
    assert (found.bias.low, found.bias.high) == (float(low), float(high))


def test_kappa_has_the_quantiles_of_its_posterior():
    human, judge = from_table(20, 5, 10, 15)
    found = tn.judge(human, judge).kappa
    for end, level, prior in ((found.low, 0.025, 0.5), (found.high, 0.975, 0.25)):
        law = stats.dirichlet([20.5, 5 + prior, 10 + prior, 15.5])
        both, human_only, judge_only, neither = law.rvs(50_000, random_state=1).T
        events = (both + human_only) * (both + judge_only)
        chance = events + (neither + human_only) * (neither + judge_only)
        drawn = (both + neither - chance) / (1 - chance)
        assert end == pytest.approx(np.quantile(drawn, level), abs=0.02)
    assert tn.judge(human, human).kappa.high == 1


def test_a_judge_alone_moves_the_rate_of_events_towards_its_own():
    rng = np.random.default_rng(0)
    truth = rng.random(6_000) < 0.3
    judge = np.where(rng.random(6_000) < 0.95, truth, ~truth)
    human = np.where(np.arange(6_000) < 200, truth, np.nan)
    found = tn.judge(human, judge)
    alone = mid_p(truth[:200].sum(), 200, 0.95)
    assert found.event_rate.high - found.event_rate.low < 0.75 * float(alone[1] - alone[0])
    assert found.event_rate.low < truth.mean() < found.event_rate.high
    useless = tn.judge(human, rng.random(6_000) < 0.5).event_rate
    assert useless.value == pytest.approx(truth[:200].mean(), abs=0.01)


@pytest.mark.parametrize(
    ("table", "within", "replaces"),
    [
        ((150, 20, 20, 210), 0.1, True),
        ((150, 20, 20, 210), 0.02, None),
        ((150, 2, 98, 150), 0.05, False),
        ((150, 98, 2, 150), 0.05, False),
        ((150, 2, 98, 150), None, None),
    ],
)
def test_replaces_is_decided_by_equivalence(table, within, replaces):
    found = tn.judge(*from_table(*table), within=within)
    assert found.replaces is replaces
    words = {True: "may replace people within", False: "must not replace", None: "is open"}
    if within is not None:
        assert words[replaces] in found.sentence
        assert (found.pvalue <= 0.05) is (replaces is True)


def test_repeated_judgements_tell_how_often_a_judge_agrees_with_itself():
    human, judge = from_table(20, 5, 10, 15)
    second = judge.copy()
    second[:5] = 1 - second[:5]
    found = tn.judge(human, np.column_stack([judge, second]))
    assert found.repeatability.value == pytest.approx(45 / 50)
    assert (found.repeatability.low, found.repeatability.high) == tuple(
        map(float, mid_p(45, 50, 0.95))
    )
    third = np.where(np.arange(50) < 10, np.nan, judge)
    of_three = tn.judge(human, np.column_stack([judge, second, third]))
    assert of_three.repeatability.value == pytest.approx(45 / 50)
    assert of_three.kappa == found.kappa == tn.judge(human, judge).kappa
    assert tn.judge(human, judge).repeatability is None


def test_segments_show_where_the_judge_errs():
    rng = np.random.default_rng(2)
    human = (rng.random(1_000) < 0.5).astype(float)
    long = np.arange(1_000) % 4 == 0
    judge = np.where(long & (rng.random(1_000) < 0.5), 1, human)
    found = tn.judge(human, judge, by={"long": long})
    assert list(found.segments) == ["long = False", "long = True"]
    assert found.differences["long = True"].low > 0.1
    assert found.segments["long = True"] == tn.judge(human[long], judge[long], level=0.975)
    assert "long = True: the bias differs" in str(found)


def test_rows_of_a_cluster_count_once_if_they_agree():
    human, judge = from_table(20, 5, 10, 15)
    alone = tn.judge(human, judge, cluster=np.arange(50))
    five = tn.judge(np.repeat(human, 5), np.repeat(judge, 5), cluster=np.repeat(np.arange(50), 5))
    for name in ("sensitivity", "ppv", "kappa"):
        a, b = getattr(alone, name), getattr(five, name)
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.1)
    assert five.bias.high - five.bias.low > 0.9 * (alone.bias.high - alone.bias.low)


def test_no_row_that_could_tell_excludes_nothing():
    found = tn.judge([0] * 10, [0] * 10, within=0.1)
    assert math.isnan(found.sensitivity.value)
    assert (found.sensitivity.low, found.sensitivity.high) == (0, 1)
    assert math.isnan(found.kappa.value)
    assert found.event_rate.value == 0
    assert json.loads(json.dumps(found.to_dict()))["sensitivity"]["value"] is None
    assert "sensitivity" in str(found)


def test_words_are_labels_with_pos_label():
    human, judge = from_table(20, 5, 10, 15)
    words = np.array(["no", "yes"], dtype=object)
    spoken = words[human.astype(int)]
    found = tn.judge(spoken, words[judge.astype(int)], pos_label="yes")
    assert found == tn.judge(human, judge)
    with pytest.raises(tn.InputError, match="`judge` must hold two labels of which `pos_label`"):
        tn.judge(spoken, ["a", "b"] * 25, pos_label="yes")


def test_a_choice_of_rows_that_depends_on_the_judge_is_warned_of():
    human = np.where(np.arange(400) < 100, 1.0, np.nan)
    with pytest.warns(tn.errors.SelectedRowsWarning, match="differ in the judge's labels"):
        tn.judge(human, np.arange(400) < 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_human": [None, None]}, "`y_human` must have a label in at least one row"),
        ({"y_human": [0.5, 1]}, "`y_human` must be 0 or 1"),
        ({"judge": [0.2, 0.7]}, "`judge` must be 0 or 1 in every row.*Scores need a cut first"),
        ({"judge": [0, None]}, "`judge` must not have missing values"),
        ({"judge": [0]}, "`judge` must have one entry per row"),
        ({"within": 0}, "`within` must lie strictly between"),
        ({"level": 2}, "`level` must lie strictly between"),
        ({"cluster": [1, 1]}, "`cluster` must name at least 2 clusters"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.judge(**{"y_human": [0, 1], "judge": [0, 1], **options})


@pytest.mark.slow
@pytest.mark.parametrize("prevalence", [0.03, 0.1, 0.3, 0.5])
@pytest.mark.parametrize(
    ("sensitivity", "specificity"),
    [(0.9, 0.9), (0.6, 0.98), (0.95, 0.8), (0.5, 0.5), (0.98, 0.995)],
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_limits_cover_with_50_labels(prevalence, sensitivity, specificity):
    rng = np.random.default_rng(7)
    runs = 400
    called = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)
    agree = prevalence * sensitivity + (1 - prevalence) * specificity
    chance = prevalence * called + (1 - prevalence) * (1 - called)
    truth = {
        "sensitivity": sensitivity,
        "specificity": specificity,
        "ppv": prevalence * sensitivity / called,
        "npv": (1 - prevalence) * specificity / (1 - called),
        "kappa": (agree - chance) / (1 - chance),
        "event_rate": prevalence,
    }
    covered = dict.fromkeys(truth, 0)
    for _ in range(runs):
        y = rng.random(500) < prevalence
        right = rng.random(500) < np.where(y, sensitivity, specificity)
        human = np.where(np.arange(500) < 50, y, np.nan)
        found = tn.judge(human, np.where(right, y, ~y))
        for name, value in truth.items():
            covered[name] += value in getattr(found, name)
    for name, times in covered.items():
        assert times / runs >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / runs), name


def test_of_two_segments_one_differs_by_the_opposite_of_the_other():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120).astype(float)
    judge = np.where(rng.random(120) < 0.2, 1, y)
    by = np.where(rng.random(120) < 0.4, "a", "b")
    found = tn.judge(y, judge, by=by)
    a, b = found.differences.values()
    assert (a.value, a.low, a.high) == pytest.approx((-b.value, -b.high, -b.low))
    here, there = (found.segments[name].bias for name in found.differences)
    reach = math.hypot(here.value - here.low, there.high - there.value)
    assert a.low == pytest.approx(here.value - there.value - reach)


def test_exchanging_human_and_judge_turns_the_bias_of_clusters_round():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 120)
    judge = np.where(rng.random(120) < 0.3, 1, y)
    cluster = np.arange(120) // 6
    one = tn.judge(y, judge, cluster=cluster, within=0.3)
    other = tn.judge(judge, y, cluster=cluster, within=0.3)
    assert one.bias.value > 0.05
    assert (one.bias.low, one.bias.high) == pytest.approx((-other.bias.high, -other.bias.low))
    assert one.pvalue == pytest.approx(other.pvalue)
    assert one.pvalue > tn.judge(y, judge, within=0.3).pvalue * 0.999
