"""Routing between two models: by its definition, with its promise, and an answer where nothing can be certified."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness._numerics.paired_proportions import noninferiority, score_limits, score_statistic


def rows(rng, n, law="uniform"):
    """The confidence, and whether each model is right: the strong one in 95 of 100 rows."""
    confidence = {
        "uniform": lambda: rng.uniform(0.5, 1, n),
        "few": lambda: rng.choice([0.6, 0.8, 0.95, 0.99], n),
    }[law]()
    return rng.uniform(size=n) < confidence, confidence, rng.uniform(size=n) < 0.95


def slow_route(cheap, confidence, strong, loss, level):
    """The thresholds one after the other, from the highest down, until the first that fails."""
    ends = np.unique(confidence)[::-1]
    if ends.size > 40:
        ordered = np.sort(confidence)[::-1]
        places = [math.floor(k / 40 * ordered.size) - 1 for k in range(1, 41)]
        ends = ordered[places]
    threshold = math.nan
    for end in ends:
        inside = confidence >= end
        harmed = int((strong & ~cheap & inside).sum())
        helped = int((cheap & ~strong & inside).sum())
        if score_pvalue(harmed, helped, cheap.size, loss) > 1 - level:
            break
        threshold = end
    return threshold


def score_pvalue(up, down, n, margin):
    """Tango's test alone: with hundreds of rows that disagree the exact test is not asked."""
    middle = up + down - margin * (2 * n - up + down)
    q = (middle + math.sqrt(middle**2 + 8 * n * down * margin * (1 - margin))) / (4 * n)
    z = ((up - down) / n - margin) / math.sqrt((2 * q + margin - margin**2) / n)
    return stats.norm.cdf(z)


@pytest.mark.parametrize("law", ["uniform", "few"])
def test_the_threshold_is_the_last_of_the_sequence_that_passes(law):
    for seed in range(3):
        cheap, confidence, strong = rows(np.random.default_rng(seed), 6_000, law)
        found = tn.route(cheap, confidence, strong, loss=0.03)
        # Where thousands of rows are asked about, exact and score test decide alike.
        expected = slow_route(cheap, confidence, strong, 0.03, 0.95)
        assert found.threshold == pytest.approx(expected, nan_ok=True)


def test_numbers_are_those_of_the_rows():
    cheap, confidence, strong = rows(np.random.default_rng(3), 3_000)
    found = tn.route(cheap, confidence, strong, loss=0.03, cost=(1, 4))
    routed = confidence >= found.threshold
    assert found.certified
    assert found.share.value == pytest.approx(routed.mean())
    assert found.saved.value == pytest.approx(routed.mean() - 1 / 4)
    mix = np.where(routed, cheap, strong)
    assert found.difference.value == pytest.approx(mix.mean() - strong.mean())
    chance = routed.mean() * (cheap.mean() - strong.mean())
    assert found.random.value == pytest.approx(chance)
    assert found.harmed == (strong & ~cheap & routed).sum()
    assert found.helped == (cheap & ~strong & routed).sum()
    assert (found.cheap_accuracy, found.strong_accuracy) == (cheap.mean(), strong.mean())
    for estimate in (found.share, found.saved, found.difference, found.random):
        assert estimate.low < estimate.value < estimate.high
    known = tn.route(cheap, confidence, strong, loss=0.03, cost=(1, 4), confidence_is_free=True)
    assert known.saved.value == pytest.approx(routed.mean() * 3 / 4)
    curve = found.curve.rows()
    assert len(curve) == 40
    assert curve[-1]["share"] == 1
    assert curve[-1]["difference"] == pytest.approx(curve[-1]["random"])


def test_what_cannot_be_certified_is_an_answer():
    few = tn.route([1] * 50, np.linspace(0, 1, 50), [1] * 50)
    assert (few.certified, few.share.value, few.rows_needed) == (False, 0.0, 299)
    assert math.isnan(few.threshold)
    assert "about 299 rows would be needed. The strong model answers all." in str(few)
    assert tn.route([1] * 299, np.linspace(0, 1, 299), [1] * 299).certified
    wrong = tn.route([0] * 500, [0.5] * 500, [1] * 500)
    assert (wrong.certified, wrong.rows_needed) == (False, None)
    assert "it is unknown how many would be needed" in str(wrong)
    assert wrong.to_watch() == {}
    assert math.isnan(wrong.harm_allowed)
    assert json.loads(json.dumps(wrong.to_dict()))["threshold"] is None


def test_the_rows_needed_are_enough_if_rates_stay():
    rng = np.random.default_rng(5)
    confidence = rng.choice([0.5, 0.9], 200)
    cheap = rng.random(200) < confidence
    strong = cheap | (rng.random(200) < 0.3)
    found = tn.route(cheap, confidence, strong, loss=0.025)
    assert not found.certified
    times = math.ceil(found.rows_needed / 200)
    again = [np.tile(column, times) for column in (cheap, confidence, strong)]
    assert tn.route(*again, loss=0.025).certified


def test_any_scale_of_the_confidence_gives_the_same_route():
    cheap, confidence, strong = rows(np.random.default_rng(7), 2_000)
    one = tn.route(cheap, confidence, strong, loss=0.04)
    other = tn.route(cheap, 10 * np.log(confidence) - 3, strong, loss=0.04)
    assert one.certified
    assert one.share == other.share
    assert one.difference == other.difference
    shuffled = np.random.default_rng(8).permutation(2_000)
    assert tn.route(cheap[shuffled], confidence[shuffled], strong[shuffled], loss=0.04) == one


def test_segments_share_the_risk():
    cheap, confidence, strong = rows(np.random.default_rng(9), 4_000)
    topic = np.where(np.arange(4_000) % 2, "law", "poetry")
    found = tn.route(cheap, confidence, strong, loss=0.04, by={"topic": topic})
    assert list(found.segments) == ["topic = law", "topic = poetry"]
    inside = topic == "law"
    alone = tn.route(cheap[inside], confidence[inside], strong[inside], loss=0.04, level=0.975)
    assert found.segments["topic = law"] == alone
    assert found.level == 0.95
    assert "topic = poetry: " in str(found)


def test_clusters_count_for_less_and_single_rows_for_as_much():
    cheap, confidence, strong = rows(np.random.default_rng(11), 1_500)
    repeated = [np.repeat(column, 4) for column in (cheap, confidence, strong)]
    alone = tn.route(cheap, confidence, strong, loss=0.05)
    together = tn.route(*repeated, loss=0.05, cluster=np.repeat(np.arange(1_500), 4))
    naive = tn.route(*repeated, loss=0.05)
    assert together.share.value <= alone.share.value + 0.03 <= naive.share.value + 0.03
    width = together.difference.high - together.difference.low
    assert width == pytest.approx(alone.difference.high - alone.difference.low, rel=0.1)
    share = together.share.high - together.share.low
    assert share == pytest.approx(alone.share.high - alone.share.low, rel=0.1)


def test_rows_without_an_answer_are_refused_or_dropped():
    cheap, confidence, strong = rows(np.random.default_rng(13), 900)
    gaps = strong.astype(float)
    gaps[::9] = np.nan
    with pytest.raises(tn.InputError, match="`strong_correct` must not have missing values; 100"):
        tn.route(cheap, confidence, gaps)
    with pytest.warns(tn.errors.DroppedRowsWarning, match="100 of 900"):
        found = tn.route(cheap, confidence, gaps, loss=0.05, missing="drop")
    kept = ~np.isnan(gaps)
    whole = tn.route(cheap[kept], confidence[kept], strong[kept], loss=0.05)
    assert found.share == whole.share
    assert "missing at random" in found.note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": 0}, "`loss` must lie strictly between"),
        ({"level": 1}, "`level` must lie strictly between"),
        ({"cost": (3, 2)}, "`cost` must be two numbers"),
        ({"cost": 2}, "`cost` must be two numbers"),
        ({"confidence_is_free": 1}, "`confidence_is_free` must be True or False"),
        (
            {"cheap_correct": [0, 2]},
            "`cheap_correct` must be 0 or 1 in every row; 1 of 2 values is",
        ),
        ({"cheap_correct": []}, r"`confidence` must have one entry per row \(0\); got 2"),
        ({"strong_correct": ["a", "b"]}, "`strong_correct` must hold 0 and 1"),
        ({"strong_correct": [0]}, r"`strong_correct` must have one entry per row \(2\); got 1"),
        ({"confidence": [0.5, np.inf]}, "`confidence` must be finite"),
        (
            {"confidence": np.eye(2)},
            r"`confidence` must have one value per row; got shape \(2, 2\)",
        ),
        ({"missing": "keep"}, "`missing` must be 'raise' or 'drop'"),
    ],
)
def test_bad_input(options, message):
    valid = {"cheap_correct": [0, 1], "confidence": [0.4, 0.6], "strong_correct": [1, 1]}
    with pytest.raises(tn.InputError, match=message):
        tn.route(**{**valid, **options})


def test_a_watch_over_a_route_sees_that_the_promise_is_broken():
    cheap, confidence, strong = rows(np.random.default_rng(15), 4_000)
    found = tn.route(cheap, confidence, strong, loss=0.02)
    rng = np.random.default_rng(16)

    def watched(rate):
        watch = tn.Watch(**found.to_watch())
        harmed = rng.random(600) < rate
        watch.update(harmed, np.full(600, found.harm_allowed))
        return watch

    assert watched(2 * found.harm_allowed).alarm
    assert not watched(found.harm_allowed / 2).alarm
    assert watched(0.1).name == f"route from {found.threshold:.6f}"


@pytest.mark.slow
def test_a_watch_over_a_kept_promise_rings_no_more_often_than_promised():
    rng = np.random.default_rng(17)
    cheap, confidence, strong = rows(rng, 4_000)
    found = tn.route(cheap, confidence, strong, loss=0.02)
    alarms = 0
    for _ in range(200):
        watch = tn.Watch(**found.to_watch())
        for _ in range(10):
            watch.update(rng.random(50) < found.harm_allowed, np.full(50, found.harm_allowed))
        alarms += watch.alarm
    assert alarms / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "few"])
@pytest.mark.parametrize(("n", "loss"), [(400, 0.01), (2_000, 0.02)])
def test_the_promise_is_kept_for_new_rows(law, n, loss):
    rng = np.random.default_rng(19)
    runs = 400
    broken = 0
    new = rows(rng, 200_000, law)[1]
    for _ in range(runs):
        found = tn.route(*rows(rng, n, law), loss=loss)
        if found.certified:
            routed = new[new >= found.threshold]
            lost = (0.95 - routed).sum() / new.size
            broken += lost > loss + 1e-3 * loss
    assert broken / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)


def paired(n=500, seed=21, step=100, strong_rate=0.93):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.5, 1, n) * step) / step
    cheap = (rng.random(n) < confidence).astype(float)
    strong = np.maximum(cheap * (rng.random(n) < 0.97), rng.random(n) < strong_rate - 0.3)
    return cheap, confidence, strong.astype(float)


@pytest.mark.parametrize(
    ("step", "clustered", "level"), [(10, True, 0.95), (100, False, 0.8), (100, True, 0.8)]
)
def test_every_candidate_has_the_numbers_of_its_rows(step, clustered, level):
    cheap, confidence, strong = paired(step=step)
    cluster = np.arange(500) // 5
    options = {"cluster": cluster} if clustered else {}
    found = tn.route(cheap, confidence, strong, loss=0.1, level=level, cost=(2, 5), **options)
    curve = found.curve
    ends = np.unique(confidence)[::-1]
    assert (curve.threshold.size == ends.size) == (ends.size <= 40)
    gap = cheap - strong
    for i, threshold in enumerate(curve.threshold):
        inside = confidence >= threshold
        harmed, helped = ((gap[inside] == sign).sum() for sign in (-1, 1))
        pvalue = float(noninferiority(harmed, helped, 500, 0.1))
        low, high = (float(end) for end in score_limits(helped, harmed, 500, level))
        if clustered:
            lost = np.where(inside, -gap, 0.0)
            sums = np.bincount(cluster, lost - lost.mean()) / 500
            variance = (sums**2).sum() * 100 / 99
            error = math.sqrt(max(variance, 0.1 * 0.9 / 100))
            pvalue = max(pvalue, stats.t.cdf((lost.mean() - 0.1) / error, 99))
            t = stats.t.isf((1 - level) / 2, 99)
            squares = np.bincount(cluster, lost) ** 2
            rows = math.sqrt((squares**2).sum() / squares.sum()) if squares.any() else 5
            reach = t * math.sqrt(variance + (t * rows / 500) ** 2)
            low, high = min(low, -lost.mean() - reach), max(high, reach - lost.mean())
        share = inside.mean()
        assert (curve.share[i], curve.saved[i]) == pytest.approx((share, share - 0.4))
        assert curve.random[i] == pytest.approx(share * gap.mean())
        assert (curve.difference[i], curve.low[i], curve.high[i], curve.pvalue[i]) == (
            pytest.approx(((helped - harmed) / 500, low, high, pvalue), abs=1e-12)
        )
    passed = int(np.argmin(np.append(curve.pvalue <= 1 - level, False)))
    assert passed > 0
    assert found.threshold == curve.threshold[passed - 1]
    last = passed - 1
    assert (found.difference.low, found.difference.high) == (curve.low[last], curve.high[last])
    share = found.share.value
    assert (found.random.low, found.random.high) == pytest.approx(
        (share * curve.low[-1], share * curve.high[-1])
    )
    units = 500.0
    if clustered:
        inside = (confidence >= found.threshold) - share
        variance = (np.bincount(cluster, inside) ** 2).sum() * 100 / 99 / 500**2
        units = 500 * min(1, share * (1 - share) / 500 / variance)
    tail = (1 - level) / 2
    k = share * units
    ends = stats.beta.ppf(tail, k, units - k + 1), stats.beta.isf(tail, k + 1, units - k)
    assert (found.share.low, found.share.high) == pytest.approx(ends)
    assert (found.saved.low, found.saved.high) == pytest.approx((ends[0] - 0.4, ends[1] - 0.4))


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("below", [0, 30])
@pytest.mark.parametrize(("harm", "gain"), [(0, 0), (2, 0), (3, 2), (2, 9)])
def test_the_rows_needed_follow_from_the_rates(harm, gain, below, size):
    """Two confidences; of the sixty rows above, some are answered right by one model only."""
    cheap, strong = np.ones(160), np.ones(160)
    cheap[:harm], strong[harm : harm + gain] = 0, 0
    cheap[60 : 60 + below], strong[150:155] = 0, 0
    confidence = np.repeat([0.9, 0.4], [60, 100])
    cluster = {"cluster": np.arange(160) // size} if size > 1 else {}
    found = tn.route(cheap, confidence, strong, loss=0.02, level=0.99, **cluster)
    if found.certified:
        assert gain > harm
        return
    harmed, helped = (harm + below) / 160 * 60 / 160, (gain + 5) / 160 * 60 / 160
    a, b = min((harm / 160, gain / 160), (harmed, helped), key=lambda rates: rates[0] - rates[1])
    if a - b >= 0.02:
        assert found.rows_needed is None
        return
    fewest = math.ceil(math.log(0.01) / math.log(0.98))
    z = float(score_statistic(a, b, 1, 0.02))
    needed = max(math.ceil((stats.norm.ppf(0.01) / z) ** 2), fewest)
    assert found.rows_needed == math.ceil(needed * size)


@pytest.mark.parametrize("harmed", [0, 1, 4])
def test_limits_of_a_difference_are_no_shorter_for_the_same_rows_several_times(harmed):
    rng = np.random.default_rng(2)
    confidence = rng.random(300)
    cheap = np.ones(300, dtype=int)
    cheap[:harmed] = 0
    rows = [cheap, confidence, np.ones(300, dtype=int)]
    once = tn.route(*rows, loss=0.1).curve
    six = tn.route(*(np.repeat(v, 6) for v in rows), loss=0.1, cluster=np.repeat(range(300), 6))
    length = six.curve.high - six.curve.low
    assert (length > 0.95 * (once.high - once.low)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "shared", "lowest"), [(0.004, 1, 0.95), (0.02, 0.5, 0.91), (0.2, 0.3, 0.92)]
)
def test_limits_of_a_rare_loss_in_clusters_cover_it(rate, shared, lowest):
    covered = []
    cluster = np.repeat(np.arange(150), 6)
    for seed in range(300):
        rng = np.random.default_rng([seed, 3])
        both = math.sqrt(shared) * rng.normal(size=150)[cluster]
        latent = both + math.sqrt(1 - shared) * rng.normal(size=900)
        harmed = latent < stats.norm.ppf(rate)
        found = tn.route(1 - harmed, np.ones(900), np.ones(900), loss=0.5, cluster=cluster)
        covered.append(found.difference.low <= -rate <= found.difference.high)
    assert np.mean(covered) >= lowest
