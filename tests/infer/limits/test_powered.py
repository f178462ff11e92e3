"""Few human labels and many of a judge: the formula by loops, laws, refusals, and levels by simulation."""

import math
from dataclasses import fields

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError, SelectedRowsWarning

JUDGES = {
    "good": lambda y, p, rng: np.where(rng.random(p.size) < 0.92, y, 1 - y),
    "poor": lambda y, p, rng: np.where(rng.random(p.size) < 0.65, y, 1 - y),
    "useless": lambda y, p, rng: rng.integers(0, 2, p.size),
    "too high": lambda y, p, rng: np.maximum(y, rng.random(p.size) < 0.35),
    "too low": lambda y, p, rng: y * (rng.random(p.size) < 0.6),
    "leaning on the score": lambda y, p, rng: np.maximum(y, rng.random(p.size) < 0.25 + 0.5 * p),
    "a score": lambda y, p, rng: 2 * y + rng.normal(size=p.size),
}


def data(n, rows, judge="good", seed=0, truth=lambda p: p):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 1, rows)
    y = (rng.random(rows) < truth(p)).astype(float)
    human = np.full(rows, np.nan)
    chosen = rng.choice(rows, n, replace=False)
    human[chosen] = y[chosen]
    return human, JUDGES[judge](y, p, rng).astype(float), p


def numbers(found):
    single = [getattr(found, one.name) for one in fields(found)]
    ends = [
        end
        for one in single
        if isinstance(one, tn.results.Estimate)
        for end in (one.value, one.low, one.high)
    ]
    return np.concatenate(
        [[found.pvalue, found.selection_pvalue], ends, found.gap, found.low, found.high]
    )


def predictions(human, judge, p, weight, cluster):
    """Ridge regression by hand: one fit for each row, without its cluster."""
    known = ~np.isnan(human)
    judge = judge - judge.mean()
    s, c = np.sqrt(p * (1 - p)), p - 0.5
    x = np.column_stack([s, s * c, s * judge, s * c * judge, judge])
    x /= np.sqrt((x**2).mean(axis=0))
    weight = weight * known.sum() / weight[known].sum()
    found = []
    for i in range(p.size):
        some = np.flatnonzero(known & (cluster != cluster[i]))
        square = np.eye(5) + sum(weight[j] * np.outer(x[j], x[j]) for j in some)
        found.append(
            p[i]
            + x[i]
            @ np.linalg.solve(square, sum(weight[j] * x[j] * (human[j] - p[j]) for j in some))
        )
    return np.array(found)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_estimates_are_the_formula(clustered):
    human, judge, p = data(30, 60)
    chance = 0.3 + 0.5 * p
    cluster = np.arange(60) // 2 if clustered else np.arange(60)
    found = tn.powered(
        human, judge, p, human_prob=chance, cluster=cluster if clustered else None, seed=0
    )
    m, known = predictions(human, judge, p, 1 / chance, cluster), ~np.isnan(human)

    def mean(some, factor):
        label = np.average((factor * (human - m))[known & some], weights=1 / chance[known & some])
        return np.mean((factor * (m - p))[some]) + label

    every, one = np.ones(60, bool), np.ones(60)
    if clustered:  # of independent rows there are so few events that the judge is shrunk
        assert found.event_rate.value == pytest.approx(p.mean() + mean(every, one), abs=1e-12)
        assert found.observed_expected.value == pytest.approx(
            1 + mean(every, one) / p.mean(), abs=1e-12
        )
    assert found.brier.value == pytest.approx(
        np.mean(p * (1 - p)) + mean(every, 1 - 2 * p), abs=1e-12
    )
    gaps = [
        mean((p >= low) & (p <= high), one)
        for low, high in zip(found.low_score, found.high_score, strict=True)
    ]
    rates = np.clip(gaps + found.score, 0, 1)
    assert found.rate == pytest.approx(rates, abs=1e-12)
    assert found.gap == pytest.approx(rates - found.score, abs=1e-12)


def test_with_a_human_label_in_every_row_the_judge_does_not_matter():
    human, judge, p = data(200, 200, "too high")
    found = tn.powered(human, judge, p, seed=0)
    assert found.event_rate.value == pytest.approx(human.mean())
    assert found.brier.value == pytest.approx(tn.brier(human, p))
    assert found.gap == pytest.approx(tn.bin_table(human, p, bins=tn.EqualMass(5)).gap)
    assert found.selection_pvalue == 1


def test_neither_the_order_of_rows_nor_the_scale_of_the_judge_matters_and_a_constant_probability_is_none():
    human, judge, p = data(80, 400, "a score")
    known, order = (
        numbers(tn.powered(human, judge, p, seed=0)),
        np.random.default_rng(1).permutation(400),
    )
    for same in (
        tn.powered(human[order], judge[order], p[order], seed=0),
        tn.powered(human, 7 - 100 * judge, p, seed=0),
        tn.powered(human, judge, p, human_prob=np.full(400, 0.2), seed=0),
        tn.powered(human, judge, p, cluster=np.arange(400), seed=0),
        tn.powered([None if h != h else bool(h) for h in human], judge, p, seed=0),
        tn.powered(human, judge, np.column_stack([1 - p, p]), seed=0),
    ):
        assert numbers(same) == pytest.approx(known, abs=1e-9)


def test_a_judge_may_use_the_words_of_the_humans():
    human, judge, p = data(80, 400)
    words = [["no", "yes"][int(one)] if one == one else None for one in human]
    said = tn.powered(words, np.array(["no", "yes"])[judge.astype(int)], p, pos_label="yes", seed=0)
    assert numbers(said) == pytest.approx(numbers(tn.powered(human, judge, p, seed=0)))


def test_with_the_classes_swapped_everything_is_mirrored():
    human, judge, p = data(80, 640)
    one, other = (
        tn.powered(human, judge, p, seed=0),
        tn.powered(1 - human, 1 - judge, 1 - p, seed=0),
    )
    assert other.pvalue == pytest.approx(one.pvalue, abs=1e-9)
    assert other.brier.low == pytest.approx(one.brier.low)
    assert (other.event_rate.low, other.event_rate.high) == pytest.approx(
        (1 - one.event_rate.high, 1 - one.event_rate.low)
    )
    assert other.low[::-1] == pytest.approx(-one.high)


@pytest.mark.filterwarnings(
    "ignore::trueness.errors.SelectedRowsWarning"
)  # of repeated rows, taken as independent
def test_rows_in_clusters_have_wider_limits():
    human, judge, p = data(120, 600)
    twice, cluster = [np.repeat(one, 4) for one in (human, judge, p)], np.repeat(np.arange(600), 4)
    apart, together = tn.powered(*twice, seed=0), tn.powered(*twice, cluster=cluster, seed=0)
    assert together.event_rate.standard_error > 1.7 * apart.event_rate.standard_error
    alone = tn.powered(human, judge, p, seed=0).event_rate.standard_error
    assert together.event_rate.standard_error == pytest.approx(alone, rel=0.1)


def test_equal_human_labels_have_limits_too():
    rng = np.random.default_rng(0)
    human, p = np.where(np.arange(400) < 40, 1.0, np.nan), rng.uniform(0.9, 1, 400)
    found = tn.powered(human, rng.integers(0, 2, 400), p, seed=0)  # no warning
    assert 0.8 < found.event_rate.low < 0.95 < found.event_rate.value <= found.event_rate.high == 1
    assert found.pvalue > 0.05


def test_a_perfect_judge_lets_the_test_see_what_the_limits_see():
    rng = np.random.default_rng(0)
    p, y = rng.beta(2, 1, 400), (rng.random(400) < 0.8) * 1.0
    human = np.where(rng.random(400) < 0.25, y, np.nan)
    perfect, useless = (tn.powered(human, judge, p, seed=0) for judge in (y, np.zeros(400)))
    assert perfect.observed_expected.low > 1.1
    assert perfect.pvalue <= useless.pvalue < 0.001


def test_rows_that_were_chosen_by_score_are_told_and_their_probability_repairs_it():
    rng = np.random.default_rng(3)
    _, judge, p = data(10, 2_000, "useless")
    y, chance = (rng.random(2_000) < p**3).astype(float), 0.02 + 0.3 * p**4
    human = np.where(rng.random(2_000) < chance, y, np.nan)
    with pytest.warns(
        SelectedRowsWarning,
        match=r"differ in score or judge \(p = .*random sample, or `human_prob`",
    ):
        tn.powered(human, judge, p, seed=0)
    found = tn.powered(human, judge, p, human_prob=chance, seed=0)  # no warning
    assert found.selection_pvalue > 0.01
    assert found.event_rate.low < np.mean(p**3) < found.event_rate.high


def test_labels_needed_are_those_of_the_variances():
    found = tn.powered(*data(100, 2_000), seed=0)
    z = 1.959963984540054
    rest, labels = found.row_variance["brier"], found.label_variance["brier"]
    wanted = math.ceil(100 * labels / ((0.01 / z) ** 2 - rest)) - 100
    assert found.labels_needed(0.01, of="brier") == wanted > 0
    assert found.labels_needed(0.5) == 0
    assert found.labels_needed(0.001) is None
    assert (
        found.labels_needed(0.05, power=0.9)
        > found.labels_needed(0.05, power=0.5)
        >= found.labels_needed(0.05)
    )
    more = found.labels_needed(0.04)
    again = tn.powered(*data(100 + more, 2_000, seed=1), seed=0)
    assert again.event_rate.high - again.event_rate.low == pytest.approx(0.08, rel=0.2)
    assert 150 < found.worth < 400


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")  # what is left is no random sample
@pytest.mark.parametrize("ignored", [0, 1])
def test_a_label_to_ignore_leaves_out_rows_that_have_it_and_none_without_a_label(ignored):
    human, judge, p = data(60, 400)
    label = np.where(np.arange(400) % 9 == 0, ignored, human)  # rows whose label is to be ignored
    kept = label != ignored
    found = tn.powered(label, judge, p, ignore_index=ignored, seed=0)
    assert (found.n, found.humans) == (kept.sum(), np.isfinite(label[kept]).sum())
    assert numbers(found) == pytest.approx(
        numbers(tn.powered(label[kept], judge[kept], p[kept], seed=0)), abs=1e-9
    )


HUMAN, JUDGE, P = data(40, 100)
MISTAKES = {
    "a judgement is missing": (
        {"judge": np.where(np.arange(100) == 7, np.nan, JUDGE)},
        "`judge` .*1 of 100 .* row 7",
    ),
    "a judge in words": (
        {"judge": ["yes"] * 100},
        "`judge` must hold numbers, or the two labels of `y_human` .* 'yes'",
    ),
    "too few judgements": (
        {"judge": JUDGE[:50]},
        r"`judge` must have one entry per row \(100\); got shape \(50,\)",
    ),
    "no human": (
        {"y_human": np.full(100, np.nan)},
        "`y_human` must have labels in at least 10 rows; got none",
    ),
    "half labels": (
        {"y_human": np.where(np.isnan(HUMAN), np.nan, 0.5)},
        f"`y_human` must be 0 or 1.*; 40 of 100 .* row {np.flatnonzero(~np.isnan(HUMAN))[0]}\\.",
    ),
    "a single label": (
        {"y_human": np.array(1.0)},
        r"`y_human` must have one value per row; got a single number\.",
    ),
    "a single judgement": (
        {"judge": np.array(1.0)},
        r"`judge` must have one value per row; got a single number\.",
    ),
    "one-hot labels": (
        {"y_human": np.column_stack([1 - HUMAN, HUMAN])},
        r"`y_human` must have one value per row; got shape \(100, 2\)\. Pass the column of the event",
    ),
    "labels in one column": (
        {"y_human": HUMAN[:, None]},
        r"`y_human` must have one value per row; got shape \(100, 1\)",
    ),
    "one-hot judgements": (
        {"judge": np.column_stack([1 - JUDGE, JUDGE])},
        r"`judge` must have one value per row; got shape \(100, 2\)\. Pass the column of the event",
    ),
    "words in columns": (
        {"judge": [["yes", "no"]] * 100},
        r"`judge` must have one value per row; got shape \(100, 2\)",
    ),
    "few humans": (
        {"y_human": np.where(np.arange(100) < 9, 1.0, np.nan)},
        "`y_human` .* at least 10 rows; got 9",
    ),
    "few clusters": ({"cluster": np.arange(100) % 7}, "at least 10 clusters; got 7"),
    "labels of other kinds": (
        {"y_human": np.where(HUMAN == 1, 2.0, HUMAN)},
        "`y_human` must be 0 or 1",
    ),
    "scores beyond 1": ({"y_prob": 2 * P}, r"`y_prob` must lie in \[0, 1\]"),
    "no chance": (
        {"human_prob": np.zeros(100)},
        "`human_prob` must lie above 0 and at most at 1; 100 of 100",
    ),
    "no chance of another": (
        {"human_prob": np.where(np.isnan(HUMAN), 0, 0.4)},
        "at most at 1; 60 of 100",
    ),
    "no known chance": (
        {"human_prob": np.where(np.isnan(HUMAN), np.nan, 0.4)},
        "at most at 1; 60 of 100",
    ),
    "a certain label that is missing": (
        {"human_prob": np.ones(100)},
        "`human_prob` must be below 1 .*; 60 of 100",
    ),
    "one chance": (
        {"human_prob": 0.4},
        r"`human_prob` must have one .* row \(100\); got a number. Leave it out",
    ),
    "weights": ({"sample_weight": np.ones(100)}, "`sample_weight` must be left out"),
    "bins of labels": ({"bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
    "a matrix": ({"y_prob": np.full((100, 3), 1 / 3)}, "`y_prob` must be a vector"),
}


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_used_is_refused_by_name(mistake):
    changed, text = MISTAKES[mistake]
    given = {"y_human": HUMAN, "judge": JUDGE, "y_prob": P} | changed
    with pytest.raises(InputError, match=text):
        tn.powered(**given, seed=0)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"half_width": 0.0}, "`half_width` must be above 0"),
        ({"half_width": 0.1, "of": "ece"}, "`of` must be one of 'event_rate'"),
        ({"half_width": 0.1, "power": 1.0}, "`power` must lie strictly"),
    ],
)
def test_plans_that_cannot_be_made_are_refused(asked, text):
    with pytest.raises(InputError, match=text):
        tn.powered(HUMAN, JUDGE, P, seed=0).labels_needed(**asked)


def simulated(judge, n, runs, truth=lambda p: p, humans=False):
    """Shares of runs: rejected, rejected by humans alone, and covered of event rate, O/E, Brier score and all bins."""
    big = np.random.default_rng(99).beta(2, 1, 400_000)
    rate, brier = truth(big).mean(), np.mean(big**2 + (1 - 2 * big) * truth(big))
    found = []
    for seed in range(runs):
        human, judged, p = data(n, 10 * n, judge, 1_000 * n + seed, truth)
        one = tn.powered(human, judged, p, seed=seed)
        known, which = ~np.isnan(human), np.searchsorted(one.low_score, p, side="right") - 1
        gap = np.array([(truth(p) - p)[which == b].mean() for b in range(one.score.size)])
        alone = humans and tn.calibration_test(human[known], p[known], seed=seed).pvalue <= 0.05
        pairs = (
            (one.event_rate, rate),
            (one.observed_expected, rate / big.mean()),
            (one.brier, brier),
        )
        covered = [number.low <= value <= number.high for number, value in pairs]
        found.append(
            [one.pvalue <= 0.05, alone, *covered, ((one.low <= gap) & (gap <= one.high)).all()]
        )
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize(("n", "runs"), [(100, 300), (300, 150), (1_000, 60)])
def test_the_level_holds_for_every_judge(n, runs):
    shares = np.array([simulated(judge, n, runs) for judge in JUDGES])
    error = 3 * math.sqrt(0.065 * 0.935 / runs)
    assert shares[:, 0].max() <= 0.065 + error
    assert shares[:, 0].mean() <= 0.065 + error / math.sqrt(len(JUDGES))
    if n == 100:
        assert shares[:, 2:].min() >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / runs)
        assert shares[:, 2:].mean(axis=0).min() >= 0.93 - 3 * math.sqrt(
            0.93 * 0.07 / runs / len(JUDGES)
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_good_judge_has_more_power_than_humans_alone_and_the_limits_hold_for_wrong_scores():
    shares = simulated("good", 300, 100, lambda p: p**1.25, humans=True)
    assert shares[0] > shares[1] + 2 * math.sqrt(0.25 / 100)
    assert shares[2:].min() >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 100)


def test_ten_human_labels_are_enough_and_nine_are_not():
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(float)
    ten, nine = (np.where(np.arange(60) < labels, y, np.nan) for labels in (10, 9))
    assert 0 < tn.powered(ten, p > 0.5, p).pvalue <= 1
    with pytest.raises(
        tn.InputError, match="`y_human` must have labels in at least 10 rows; got 9"
    ):
        tn.powered(nine, p > 0.5, p)
