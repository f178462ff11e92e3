"""Which labels next: the design by hand, its probabilities by repetition, and limits that hold."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import beta, norm, t

import trueness as tn


def rows(rng, n=2_000, law=(0.5, 15), judge=(0.93, 0.97)):
    """Scores, labels, and those of a judge who is right so often about events and other rows."""
    p = rng.beta(*law, n)
    y = (rng.random(n) < p).astype(float)
    right = rng.random(n) < np.where(y == 1, judge[0], judge[1])
    return p, y, np.where(right, y, 1 - y)


def test_labels_are_allotted_by_size_and_spread():
    p = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5], 100)
    found = tn.next_labels(p, budget=50)
    spread = np.sqrt(np.unique(p) * (1 - np.unique(p)))
    # Half of the labels go to all strata alike, five each.
    expected = 5 + 25 * spread / spread.sum()
    assert np.abs(found.chosen - expected).max() < 1
    assert found.chosen.sum() == 50
    assert found.size.tolist() == [100] * 5
    assert (found.low_score == found.high_score).all()


def test_a_judge_divides_the_scores():
    rng = np.random.default_rng(0)
    p, _, judge = rows(rng)
    found = tn.next_labels(p, judge, budget=200)
    for h in range(found.size.size):
        inside = found.stratum == h
        assert inside.sum() == found.size[h]
        assert set(judge[inside]) == {found.judge[h]}
        assert (p[inside].min(), p[inside].max()) == (found.low_score[h], found.high_score[h])
    flagged = found.judge == 1
    rate = found.chosen / found.size
    assert rate[flagged].mean() > 2 * rate[~flagged].mean()


@pytest.mark.parametrize("budget", [1, 2, 5, 19, 60, 1_999, 2_000])
def test_exactly_the_budget_is_chosen_with_probabilities_above_zero(budget):
    p, _, judge = rows(np.random.default_rng(1))
    found = tn.next_labels(p, judge, budget=budget)
    assert found.index.size == len(set(found.index.tolist())) == budget
    assert found.human_prob.shape == (2_000,)
    assert found.human_prob.sum() == pytest.approx(budget)
    assert 0 < found.human_prob.min() <= found.human_prob.max() <= 1


def test_rows_that_have_a_label_are_not_chosen_again():
    p, _, judge = rows(np.random.default_rng(2), n=400)
    labelled = np.arange(400) % 3 == 0
    found = tn.next_labels(p, judge, budget=100, labelled=labelled)
    assert not labelled[found.index].any()
    assert found.index.size == 100
    assert found.human_prob.min() > 0
    assert found.human_prob.sum() == pytest.approx(100)
    every = tn.next_labels(p, judge, budget=int((~labelled).sum()), labelled=labelled)
    assert every.index.tolist() == np.flatnonzero(~labelled).tolist()
    with pytest.raises(tn.InputError, match="`budget` must be at most 266"):
        tn.next_labels(p, judge, budget=267, labelled=labelled)


def test_rows_are_chosen_as_often_as_stated():
    p, _, judge = rows(np.random.default_rng(3), n=60)
    times = np.zeros(60)
    for seed in range(600):
        found = tn.next_labels(p, judge, budget=20, seed=seed)
        times[found.index] += 1
    error = np.sqrt(found.human_prob * (1 - found.human_prob) / 600)
    assert (np.abs(times / 600 - found.human_prob) <= 4.5 * error + 1e-12).all()
    again = tn.next_labels(p, judge, budget=20, seed=599)
    assert again == found


def test_what_to_expect_is_said():
    rng = np.random.default_rng(4)
    p, _, judge = rows(rng)
    rare = tn.next_labels(p, judge, budget=100)
    assert rare.relative_length < 0.9
    assert "times as long as with random labels" in rare.sentence
    common = tn.next_labels(rng.uniform(0.4, 0.6, 500), budget=50)
    assert common.relative_length > 0.97
    assert "hardly any gain" in str(common)


def test_powered_estimates_the_rate_by_strata():
    p, y, judge = rows(np.random.default_rng(5))
    chosen = tn.next_labels(p, judge, budget=300)
    human = np.full(p.size, np.nan)
    human[chosen.index] = y[chosen.index]
    found = tn.powered(human, judge, p, human_prob=chosen)
    plain = tn.powered(human, judge, p, human_prob=chosen.human_prob)
    strata = range(chosen.size.size)
    rates = [np.nanmean(human[chosen.stratum == h]) for h in strata]
    expected = float(np.average(rates, weights=chosen.size))
    assert found.event_rate.value == pytest.approx(expected)
    assert found.event_rate.method == "by strata, effective Clopper-Pearson"
    assert found.event_rate.low < found.event_rate.value < found.event_rate.high
    assert (found.brier, found.pvalue) == (plain.brier, plain.pvalue)
    with pytest.raises(tn.InputError, match="must be of the same rows"):
        tn.powered(human[1:], judge[1:], p[1:], human_prob=chosen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "`budget` must be a whole number ≥ 1"),
        ({"budget": 5}, "`budget` must be at most 4, the rows without a label; got 5"),
        ({"y_prob": [0.1, 1.2, 0.2, 0.3]}, r"`y_prob` must lie in \[0, 1\]"),
        ({"y_prob": []}, "`y_prob` must have at least one row"),
        ({"judge": [0.5, 0, 1, 1]}, "`judge` must be 0 or 1.*Scores need a cut first"),
        ({"judge": [0, 1]}, "`judge` must have one entry per row"),
        ({"labelled": [0, 1, 2, 0]}, "`labelled` must be 0 or 1.*np.isnan"),
        ({"seed": -1}, "`seed` must be"),
    ],
)
def test_bad_input(options, message):
    valid = {"y_prob": [0.1, 0.2, 0.3, 0.4], "judge": [0, 0, 1, 1], "budget": 2}
    with pytest.raises(tn.InputError, match=message):
        tn.next_labels(**{**valid, **options})


SETTINGS = [
    ((0.5, 15), (0.93, 0.97), 0.93),
    ((0.5, 15), (0.6, 0.99), 0.90),
    ((2, 5), (0.93, 0.97), 0.93),
    ((6, 1), (0.3, 0.7), 0.93),
]


@pytest.mark.slow
@pytest.mark.parametrize(("law", "judge", "promise"), SETTINGS)
@pytest.mark.parametrize("budget", [50, 300])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_limits_by_strata_cover(law, judge, promise, budget):
    rng = np.random.default_rng(6)
    runs = 300
    covered = 0
    for seed in range(runs):
        p, y, labels = rows(rng, 3_000, law, judge)
        chosen = tn.next_labels(p, labels, budget=budget, seed=seed)
        human = np.full(p.size, np.nan)
        human[chosen.index] = y[chosen.index]
        rate = tn.powered(human, labels, p, human_prob=chosen).event_rate
        covered += law[0] / sum(law) in rate
    assert covered / runs >= promise - 2 * math.sqrt(promise * (1 - promise) / runs)


def test_labels_that_are_certain_are_as_good_at_random():
    p = np.array([0.0, 1, 0, 1] * 5)
    assert tn.next_labels(p, p, budget=4).relative_length == 1


def test_labels_chosen_in_clusters_have_wider_limits():
    rng = np.random.default_rng(0)
    p = rng.random(240)
    cluster = np.arange(240) // 6
    y = (np.repeat(rng.random(40), 6) < p).astype(float)
    design = tn.next_labels(p, p > 0.5, budget=120)
    human = np.full(240, np.nan)
    human[design.index] = y[design.index]
    ask = partial(tn.powered, human, p > 0.5, p, human_prob=design)
    alone, clustered = ask().event_rate, ask(cluster=cluster).event_rate
    assert clustered.value == pytest.approx(alone.value)
    assert clustered.high - clustered.low > 1.1 * (alone.high - alone.low)
    own = ask(cluster=np.arange(240)).event_rate
    assert own.high - own.low == pytest.approx(alone.high - alone.low, rel=0.03)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_rate_by_strata_has_the_limits_of_its_variance(level, clustered):
    p, y, judge = rows(np.random.default_rng(8), 400, (2, 6), (0.8, 0.9))
    chosen = tn.next_labels(p, judge, budget=60)
    human = np.full(400, np.nan)
    human[chosen.index] = y[chosen.index]
    cluster = {"cluster": np.arange(400) // 4} if clustered else {}
    rate = tn.powered(human, judge, p, human_prob=chosen, level=level, **cluster).event_rate
    value = middle = squares = variance = 0.0
    residual = np.full(400, np.nan)
    for h in range(chosen.size.size):
        inside = chosen.stratum == h
        share = inside.mean()
        labels = human[inside][~np.isnan(human[inside])]
        means = p[inside].mean(), (p[inside] + judge[inside]).mean() / 2
        expected = max(means, key=lambda m: m * (1 - m))
        q = (labels.sum() + 2 * expected) / (labels.size + 2)
        value += share * labels.mean()
        middle += share * q
        squares += share * q * q
        variance += share**2 * q * (1 - q) / labels.size
        residual[inside] = human[inside] - labels.mean()
    variance += (squares - middle**2) / 400
    tail = (1 - level) / 2
    if clustered:
        known = ~np.isnan(residual)
        sums = np.bincount(np.unique((np.arange(400) // 4)[known], return_inverse=True)[1],
                           residual[known])  # fmt: skip
        factor = max((sums**2).sum() / (residual[known] ** 2).sum(), 1)
        variance *= factor * (t.isf(tail, sums.size - 1) / norm.isf(tail)) ** 2
    variance *= (t.isf(tail, 60 - chosen.size.size) / norm.isf(tail)) ** 2
    n = middle * (1 - middle) / variance
    assert (rate.value, rate.standard_error) == pytest.approx((value, math.sqrt(variance)))
    assert (rate.low, rate.high) == pytest.approx(
        (
            beta.ppf(tail, value * n, n - value * n + 1),
            beta.isf(tail, value * n + 1, n - value * n),
        )
    )


def allotted(size, room, deviation, budget):
    """Half of the labels evenly, at least two; the rest by size and spread, none beyond its room."""
    least = [
        min(max(2, budget * n / sum(size) / 2), free) for n, free in zip(size, room, strict=True)
    ]
    if sum(least) > budget:
        least = [min(2, free) for free in room]
        least = [n * budget / sum(least) for n in least]
        deviation = [1.0] * len(size)
    wanted = list(least)
    while budget - sum(wanted) > 1e-9:
        left = budget - sum(wanted)
        open_ = [h for h in range(len(size)) if room[h] - wanted[h] > 1e-9]
        weight = {h: max(size[h] * deviation[h], 1e-12) for h in open_}
        for h in open_:
            wanted[h] = min(wanted[h] + left * weight[h] / sum(weight.values()), room[h])
    whole = [math.floor(n + 1e-9) for n in wanted]
    order = sorted(range(len(size)), key=lambda h: -(wanted[h] - whole[h]))
    for h in order[: budget - sum(whole)]:
        whole[h] += 1
    return whole


@pytest.mark.parametrize("budget", [10, 21, 37, 90, 200, 330])
@pytest.mark.parametrize("labelled", [False, True])
def test_labels_follow_neymans_rule_with_a_floor_and_a_ceiling(budget, labelled):
    p, _, judge = rows(np.random.default_rng(9), 600, (0.6, 3))
    has_label = (np.arange(600) % 9 < 4) if labelled else np.zeros(600, bool)
    found = tn.next_labels(p, judge, budget=budget, labelled=has_label)
    deviation, variance = [], []
    for h in range(found.size.size):
        inside = found.stratum == h
        means = p[inside].mean(), (p[inside] + judge[inside]).mean() / 2
        deviation.append(max(math.sqrt(m * (1 - m)) for m in means))
        variance.append(means[1] * (1 - means[1]))
    room = np.bincount(found.stratum, ~has_label)
    assert found.chosen.tolist() == allotted(found.size.tolist(), room.tolist(), deviation, budget)
    assert found.human_prob == pytest.approx((found.chosen / found.size)[found.stratum])
    share = found.size / 600
    designed = (share**2 * variance / found.chosen).sum()
    at_random = (share * variance).sum() / budget
    assert found.relative_length == pytest.approx(math.sqrt(designed / at_random))


@pytest.mark.parametrize(
    ("budget", "strata"),
    [(20, 10), (19, 5), (10, 5), (9, 4), (8, 4), (7, 3), (6, 3), (5, 2), (4, 2), (3, 1), (1, 1)],
)
def test_strata_are_fifths_of_the_scores_by_label_as_far_as_the_budget_allows(budget, strata):
    """Each stratum can have two labels."""
    p = (np.arange(240) + 0.5) / 240
    found = tn.next_labels(p, np.arange(240) % 2, budget=budget)
    assert found.size.tolist() == [240 // strata] * strata
    assert np.isnan(found.judge).all() == (strata < 10)


def test_a_judge_with_a_single_row_of_one_label_makes_no_strata():
    p = (np.arange(100) + 0.5) / 100
    for rows_of_label, strata in ((1, 5), (2, 6)):
        judge = np.arange(100) < rows_of_label
        found = tn.next_labels(p, judge, budget=40)
        assert found.size.size == strata
    free = np.arange(100) >= 1  # one of the two is taken
    assert tn.next_labels(p, np.arange(100) < 2, budget=40, labelled=~free).size.size == 5
