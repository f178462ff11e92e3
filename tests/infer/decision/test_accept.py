"""A certified threshold: by its definition, with its promise, and an answer where nothing can be certified."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

import trueness as tn


def rows(rng, n, law="uniform"):
    c = {
        "uniform": lambda: rng.uniform(0.5, 1, n),
        "few": lambda: rng.choice([0.6, 0.8, 0.9, 0.99], n),
    }[law]()
    return rng.uniform(size=n) < c, c


def slow_threshold(correct, confidence, goal, level):
    """Five sequences over the distinct scores, each until its first failure."""
    values = np.unique(confidence)[::-1]
    accepted = [int((confidence >= v).sum()) for v in values]
    fewest = math.ceil(math.log((1 - level) / 5) / math.log(goal))
    found = []
    if accepted[-1] < fewest:
        return math.nan
    for m in np.geomspace(fewest, accepted[-1], 6)[:-1]:
        i = next(k for k, a in enumerate(accepted) if a >= m)
        while i < len(values):
            errors = int((~correct[confidence >= values[i]]).sum())
            if stats.binom.cdf(errors, accepted[i], 1 - goal) > (1 - level) / 5:
                break
            found.append(values[i])
            i += 1
    return min(found, default=math.nan)


@pytest.mark.parametrize("law", ["uniform", "few"])
@pytest.mark.parametrize("goal", [0.8, 0.9])
def test_the_threshold_is_the_lowest_of_five_sequences(law, goal):
    for seed in range(4):
        correct, confidence = rows(np.random.default_rng(seed), 400, law)
        found = tn.accept_threshold(correct, confidence, accuracy=goal, level=0.9)
        expected = slow_threshold(correct, confidence, goal, 0.9)
        assert found.threshold == pytest.approx(expected, nan_ok=True)
        if found.certified:
            accepted = confidence >= found.threshold
            assert found.coverage == accepted.mean()
            assert found.observed == pytest.approx(correct[accepted].mean())
            assert found.coverage_low < found.coverage <= found.coverage_high
        assert tn.accept_threshold(tn.tally(correct, confidence), accuracy=goal, level=0.9) == found


def test_what_cannot_be_certified_is_an_answer():
    none = tn.accept_threshold([1] * 30, np.linspace(0.5, 1, 30))
    assert (none.certified, none.coverage, none.accepted) == (False, 0.0, 0)
    assert math.isnan(none.threshold)
    assert none.rows_needed >= math.ceil(math.log(0.01) / math.log(0.95))
    assert "about " in str(none)
    assert "would be needed" in str(none)
    wrong = tn.accept_threshold([0, 1] * 100, np.linspace(0.5, 1, 200), accuracy=0.9)
    assert (wrong.certified, wrong.rows_needed) == (False, None)
    assert "it is unknown how many would be needed" in str(wrong)
    assert not tn.accept_threshold([1] * 1000, [0.9] * 1000, accuracy=1).certified
    same = tn.accept_threshold([1] * 1000, [0.9] * 1000)
    assert (same.threshold, same.coverage) == (0.9, 1.0)


def test_recall_keeps_the_events():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=3_000)
    y = rng.uniform(size=3_000) < p
    found = tn.accept_threshold(y, p, accuracy=0.9, criterion="recall")
    order = np.sort(p)
    passes = [stats.binom.cdf(y[p < t].sum(), y.sum(), 0.1) <= 0.05 for t in order]
    assert found.threshold == order[passes.index(False) - 1]
    assert found.observed == pytest.approx(y[p >= found.threshold].sum() / y.sum())
    assert found.observed > 0.9
    with pytest.raises(tn.InputError, match="must have an event for the recall"):
        tn.accept_threshold([0, 0], [0.2, 0.4], criterion="recall")


def test_clusters_count_as_if_all_were_as_large_as_the_largest():
    rng = np.random.default_rng(2)
    single = tn.accept_threshold(
        [1] * 200 + [0] * 3, np.linspace(1, 0.5, 203), cluster=np.arange(203), accuracy=0.9
    )
    assert single == tn.accept_threshold(
        [1] * 200 + [0] * 3, np.linspace(1, 0.5, 203), accuracy=0.9
    )
    c = rng.uniform(0.8, 1, 400)
    correct = rng.uniform(size=400) < c
    alone = tn.accept_threshold(correct, c, accuracy=0.85)
    five = [np.repeat(v, 5) for v in (correct, c, np.arange(400))]
    together = tn.accept_threshold(five[0], five[1], cluster=five[2], accuracy=0.85)
    assert together.threshold == alone.threshold
    assert tn.accept_threshold(five[0], five[1], accuracy=0.85).coverage >= together.coverage


def clustered_answers(seed=1):
    """Whether an answer is right, the confidence in it, its topic, and how often it was asked."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, 400)
    correct = (rng.random(400) < confidence).astype(int)
    return correct, confidence, np.repeat(np.arange(40), 10), rng.integers(0, 5, 400)


@pytest.mark.parametrize("criterion", ["accuracy", "recall"])
@pytest.mark.parametrize("accuracy", [0.4, 0.6])
def test_weights_of_rows_in_clusters_are_repetitions(criterion, accuracy):
    correct, confidence, topic, times = clustered_answers()
    options = {"criterion": criterion, "accuracy": accuracy}
    weighted = tn.accept_threshold(
        correct,
        confidence,
        cluster=topic,
        sample_weight=times,
        weight_type="frequency",
        **options,
    )
    row = np.repeat(np.arange(400), times)
    assert str(weighted) == str(
        tn.accept_threshold(correct[row], confidence[row], cluster=topic[row], **options)
    )


def test_sums_of_clusters_certify_no_more_than_their_rows():
    correct, confidence, topic, _ = clustered_answers()
    ask = partial(tn.accept_threshold, accuracy=0.7)
    assert ask(correct, confidence).certified
    assert not ask(correct, confidence, cluster=topic).certified
    assert not ask(tn.tally(correct, confidence, cluster=topic)).certified


def test_the_recall_counts_events_as_if_clusters_were_as_large_as_the_largest():
    correct, confidence, _, _ = clustered_answers()
    options = {"criterion": "recall", "accuracy": 0.6}
    alone = tn.accept_threshold(correct, confidence, **options)
    five = [np.repeat(v, 5) for v in (correct, confidence, np.arange(400))]
    together = tn.accept_threshold(five[0], five[1], cluster=five[2], **options)
    assert together.threshold == alone.threshold
    assert (together.coverage_low, together.coverage_high) == pytest.approx(
        (alone.coverage_low, alone.coverage_high)
    )
    assert tn.accept_threshold(five[0], five[1], **options).threshold > together.threshold


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy": 0}, "`accuracy` must be above 0 and at most 1; got 0"),
        ({"accuracy": 1.2}, "`accuracy` must be above 0 and at most 1"),
        ({"criterion": "recal"}, "`criterion` must be"),
        ({"level": 1}, "`level` must lie strictly between"),
        ({"sample_weight": [0.5, 1.0]}, "`sample_weight` must be whole numbers"),
        ({"correct": [0, 2]}, "`correct` must be 0 or 1; 1 of 2 labels is not"),
        ({"confidence": [0.5, 1.5]}, "`confidence` must lie in"),
        ({"confidence": [0.5]}, "`correct` and `confidence` must have one entry per row"),
        ({"confidence": None}, "`confidence` is missing"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.accept_threshold(**{"correct": [0, 1], "confidence": [0.4, 0.6], **options})


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "few"])
def test_the_promise_is_kept_for_new_rows(law):
    rng, runs, broken = np.random.default_rng(3), 200, 0
    for _ in range(runs):
        found = tn.accept_threshold(*rows(rng, 500, law), accuracy=0.9, level=0.9)
        if found.certified:
            _, c = rows(rng, 50_000, law)
            broken += (
                c[c >= found.threshold].mean() < 0.9
            )  # calibrated: the mean confidence is the accuracy
    assert broken / runs <= 0.1 + 2 * math.sqrt(0.09 / runs)


def judged_rows(rng, n=3_000, humans=400, judge=0.95):
    """Confidences, labels, and a judge who is right so often; humans look at the first rows."""
    confidence = rng.beta(7, 1, n)
    right = (rng.random(n) < confidence).astype(float)
    verdict = np.where(rng.random(n) < judge, right, 1 - right)
    return np.where(np.arange(n) < humans, right, np.nan), confidence, verdict, right


def test_a_good_judge_accepts_more_than_humans_alone():
    shares = []
    for seed in range(8):
        human, confidence, judge, right = judged_rows(np.random.default_rng(seed), judge=1.0)
        found = tn.accept_threshold(human, confidence, accuracy=0.9, level=0.9, judge=judge)
        alone = tn.accept_threshold(right[:400], confidence[:400], accuracy=0.9, level=0.9)
        assert found.humans == 400
        assert found.noun == "row"
        assert found.note == ""
        if found.certified:
            accepted = confidence >= found.threshold
            assert found.coverage == accepted.mean()
            assert found.observed == pytest.approx(right[accepted].mean(), abs=0.04)
        shares.append((found.coverage, alone.coverage))
    judged, humans = np.mean(shares, axis=0)
    assert judged > humans + 0.03


def test_with_few_human_errors_to_be_expected_humans_are_asked_alone():
    human, confidence, judge, right = judged_rows(np.random.default_rng(0), humans=150)
    found = tn.accept_threshold(human, confidence, accuracy=0.9, level=0.9, judge=judge)
    alone = tn.accept_threshold(right[:150], confidence[:150], accuracy=0.9, level=0.9)
    assert found.threshold == pytest.approx(alone.threshold, nan_ok=True)
    assert "Humans alone: 15 human errors can be expected" in str(found)
    assert found.coverage == (confidence >= found.threshold).mean()
    few = tn.accept_threshold(human[:200], confidence[:200], accuracy=0.99, judge=judge[:200])
    assert not few.certified
    assert "with 150 human labels" in str(few)


def test_an_answer_is_accepted_if_all_of_its_claims_are():
    rng = np.random.default_rng(1)
    claim_of = np.repeat(np.arange(800), 3)
    confidence = rng.uniform(0.94, 1, 2_400)
    right = rng.random(2_400) < confidence
    found = tn.accept_threshold(right, confidence, accuracy=0.85, unit=claim_of)
    least = confidence.reshape(800, 3).min(axis=1)
    every = right.reshape(800, 3).all(axis=1)
    expected = tn.accept_threshold(every, least, accuracy=0.85)
    assert found.certified
    assert (found.threshold, found.accepted) == (expected.threshold, expected.accepted)
    assert "% of answers" in str(found)
    order = rng.permutation(2_400)
    shuffled = tn.accept_threshold(
        right[order], confidence[order], accuracy=0.85, unit=[f"a{i}" for i in claim_of[order]]
    )
    assert shuffled == found


def test_claims_may_have_a_judge_and_clusters():
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(1_500), 2)
    confidence = rng.uniform(0.9, 1, 3_000)
    right = (rng.random(3_000) < confidence).astype(float)
    human = np.where(unit < 500, right, np.nan)
    human[1] = np.nan  # half of an answer says nothing about it
    found = tn.accept_threshold(human, confidence, accuracy=0.9, judge=right, unit=unit)
    assert (found.n, found.humans, found.noun) == (1_500, 499, "answer")
    clustered = tn.accept_threshold(
        human, confidence, accuracy=0.9, judge=right, unit=unit, cluster=unit // 5
    )
    assert clustered.coverage <= found.coverage
    with pytest.raises(tn.InputError, match="must be the same in all rows of a unit"):
        tn.accept_threshold(right, confidence, unit=unit, cluster=np.arange(3_000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": [0.5, 1]}, "`judge` must be 0 or 1.*Scores need a cut first"),
        ({"judge": [1]}, "`judge` must have one entry per row"),
        ({"judge": [1, 1], "criterion": "recall"}, "`criterion` must be 'accuracy' or 'precision'"),
        ({"judge": [1, 1], "sample_weight": [1, 2]}, "`sample_weight` must be left out"),
        ({"judge": [1, 1], "correct": [None, None]}, "`correct` must have a label in at least one"),
        ({"judge": [1, 1], "confidence": [0.5, 2]}, r"`confidence` must lie in \[0, 1\]"),
        ({"judge": [1, 1], "confidence": None}, "`confidence` is missing"),
        ({"unit": [1]}, "`unit` must have one entry per row"),
        ({"unit": ["a", None]}, "`unit` must not have missing values"),
        ({"unit": [1, 2], "correct": tn.tally([1, 0], [0.5, 0.2])}, "`unit` needs the rows"),
    ],
)
def test_bad_input_with_a_judge_or_units(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.accept_threshold(**{"correct": [0, 1], "confidence": [0.4, 0.6], **options})


JUDGES = {
    "false alarms": lambda rng, y: y * (rng.random(y.size) < 0.8),
    "misses half": lambda rng, y: np.maximum(y, rng.random(y.size) < 0.5),
    "useless": lambda rng, y: rng.random(y.size) < 0.5,
    "perfect": lambda _, y: y,
}


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_promise_is_kept_whatever_the_judge_does(judge, rare):
    """Calibrated confidences, and error rates that are 5 % too high at every confidence."""
    rng = np.random.default_rng(4)
    runs = 150
    goal = 0.95 if rare else 0.9
    broken = 0
    for _ in range(runs):
        confidence = rng.uniform(0.5, 1, 3_000)
        chance = np.full(3_000, 1 - 1.05 * (1 - goal)) if rare else confidence
        right = (rng.random(3_000) < chance).astype(float)
        human = np.where(np.arange(3_000) < 400, right, np.nan)
        labels = JUDGES[judge](rng, right).astype(float)
        found = tn.accept_threshold(human, confidence, accuracy=goal, level=0.9, judge=labels)
        if found.certified:
            accuracy = chance.mean() if rare else (1 + found.threshold) / 2
            broken += accuracy < goal
    assert broken / runs <= 0.1 + 2 * math.sqrt(0.09 / runs)


@pytest.mark.parametrize(
    ("needed", "words"), [(871, "871"), (5_859, "5,900"), (107_755, "110,000")]
)
def test_thousands_of_rows_needed_are_a_round_number(needed, words):
    found = tn.accept_threshold([0, 1] * 30, [0.5, 0.6] * 30, accuracy=0.95)
    text = str(replace(found, rows_needed=needed))
    assert f"about {words} rows would be needed" in text


def test_the_rows_a_recall_needs_are_those_with_enough_events_if_none_is_missed():
    """0.9 ** 29 is the first power of 0.9 below 0.05: 29 events, of which a fifth of the rows are."""
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    p = np.linspace(0.95, 0.05, 10)
    found = tn.accept_threshold(y, p, accuracy=0.9, criterion="recall")
    assert not found.certified
    assert found.rows_needed == math.ceil(5 * math.log(0.05) / math.log(0.9)) == 143


@pytest.mark.parametrize(("humans", "note"), [(199, "Humans alone: 19.9 human"), (200, "")])
def test_a_judge_helps_from_twenty_expected_errors_on(humans, note):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = np.where(np.arange(400) < humans, rng.random(400) < p, np.nan)
    found = tn.accept_threshold(y, p, judge=p > 0.5, accuracy=0.9)
    assert found.humans == humans
    assert found.note[:24] == note
