"""Net benefit by its definition, its limits by the rows, and their coverage."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import trueness as tn

T = np.array([0.1, 0.25, 0.5, 0.8])


def rows(rng, n):
    p = rng.beta(2, 3, n)
    return (rng.uniform(size=n) < p).astype(int), p


def by_row(y, p, t):
    return np.where(p >= t, y - (1 - y) * t / (1 - t), 0.0)


def test_values_and_limits_are_those_of_a_mean_of_rows():
    y, p = rows(np.random.default_rng(1), 800)
    found = tn.net_benefit(y, p, thresholds=T)
    reach = stats.t.ppf(0.975, 799)
    for i, t in enumerate(T[:3]):
        u = by_row(y, p, t)
        error = u.std() / math.sqrt(800)
        assert found.value[i] == pytest.approx(u.mean(), abs=1e-14)
        assert (found.low[i], found.high[i]) == pytest.approx(
            (u.mean() - reach * error, u.mean() + reach * error)
        )
        gain = u - (y - (1 - y) * t / (1 - t))
        error = gain.std() / math.sqrt(800)
        assert found.gain[i] == pytest.approx(gain.mean(), abs=1e-14)
        if min((p < t)[y == 1].sum(), (p < t)[y == 0].sum()) >= 10:
            assert found.gain_high[i] == pytest.approx(gain.mean() + reach * error)
        assert found.treat_all[i] == pytest.approx(y.mean() - (1 - y.mean()) * t / (1 - t))
        assert found.avoided[i] == pytest.approx(found.gain[i] * (1 - t) / t)
    assert (found.band_low[:3] < found.low[:3]).all()
    assert found.prevalence == pytest.approx(y.mean())


def test_few_accepted_rows_have_exact_limits_and_no_band():
    y, p = [0] * 50 + [1] * 50, [0.2] * 97 + [0.9] * 3
    found = tn.net_benefit(y, p, thresholds=[0.5])
    assert math.isnan(found.band_low[0])
    events = stats.beta.ppf([0.0125, 0.9875], [3, 4], [98, 97])
    others = stats.beta.ppf(0.9875, 1, 100)
    assert found.low[0] == pytest.approx(events[0] - others)
    assert found.high[0] == pytest.approx(events[1])


def test_sums_clusters_weights_and_another_prevalence():
    rng = np.random.default_rng(2)
    y, p = rows(rng, 300)
    p = p.round(2)
    found = tn.net_benefit(y, p, thresholds=T)
    for sums in (tn.tally(y, p), tn.binned(y, p, bins=[0, *T, 1])):
        assert tn.net_benefit(sums, thresholds=T).high == pytest.approx(found.high)
    with pytest.raises(
        tn.InputError, match=r"`thresholds` must be edges of the bins; 0.15 is none"
    ):
        tn.net_benefit(tn.binned(y, p), thresholds=[0.1, 0.15])
    w = rng.integers(1, 3, 300)
    weighted = tn.net_benefit(y, p, thresholds=T, sample_weight=w)
    assert weighted.low == pytest.approx(
        tn.net_benefit(np.repeat(y, w), np.repeat(p, w), thresholds=T).low
    )
    pairs = tn.net_benefit(
        np.repeat(y, 2), np.repeat(p, 2), thresholds=T[:3], cluster=np.repeat(np.arange(300), 2)
    )
    assert pairs.value == pytest.approx(found.value[:3])
    assert pairs.high == pytest.approx(found.high[:3], rel=0.01)
    own = tn.net_benefit(y, p, thresholds=T, prevalence=float(y.mean()))
    assert own.value == pytest.approx(found.value)
    rare = tn.net_benefit(y, p, thresholds=[0.25], prevalence=0.1)
    sensitivity, false = (p >= 0.25)[y == 1].mean(), (p >= 0.25)[y == 0].mean()
    assert rare.value[0] == pytest.approx(0.1 * sensitivity - 0.9 * false / 3)
    error = math.sqrt(
        0.01 * sensitivity * (1 - sensitivity) / y.sum()
        + 0.81 / 9 * false * (1 - false) / (1 - y).sum()
    )
    assert rare.high[0] - rare.value[0] == pytest.approx(stats.t.ppf(0.975, 299) * error)


def test_models_are_compared_on_the_same_rows():
    y, p = rows(np.random.default_rng(3), 400)
    q = p**2
    found = tn.net_benefit(y, {"good": p, "bad": q}, thresholds=T)
    u = by_row(y, p, 0.25) - by_row(y, q, 0.25)
    value, low, high = found.differences["good", "bad"][:, 1]
    assert (
        value
        == pytest.approx(u.mean())
        == pytest.approx(found.value["good"][1] - found.value["bad"][1])
    )
    reach = stats.t.ppf(0.975, 399) * u.std(ddof=1) / 20
    assert (low, high) == pytest.approx((u.mean() - reach, u.mean() + reach))
    assert found.to_frame().shape == (8, 11)
    assert str(found).startswith("Using “good” ")
    assert tn.net_benefit(y, p).threshold.size == 99


def test_values_are_those_of_dcurves_on_its_own_patients():
    """Of 750 patients 105 have cancer; 24 of these, and 91 others, a family history. Values of R's dcurves."""
    rows = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [24, 81, 91, 554], axis=0)
    thresholds = [0.01, 0.05, 0.1, 0.21, 0.4, 0.65]
    found = tn.net_benefit(rows[:, 0], rows[:, 1].astype(float), thresholds=thresholds)
    published = [0.030774410774410774, 0.025614035087719297, 0.018518518518518517]
    published += [-2.531645569620253e-4, -0.04888888888888891, -0.19333333333333338]
    assert found.value == pytest.approx(published, abs=1e-12)
    all_treated = [0.13131313131313133, 0.09473684210526317, 0.04444444444444445]
    all_treated += [-0.08860759493670883, -0.43333333333333335, -1.4571428571428573]
    assert found.treat_all == pytest.approx(all_treated, abs=1e-12)
    avoided = [
        -995.3333333333334,
        -131.33333333333337,
        -23.333333333333353,
        33.238095238095234,
        57.66666666666667,
    ]
    assert 100 * found.avoided[:5] == pytest.approx(avoided, abs=1e-10)


def test_values_are_those_of_dcurves_for_its_model_of_age():
    """Events and other rows at or above each threshold, and the net benefit that dcurves gives for them."""
    published = {
        0.01: (105, 633, 0.1314747474747475),
        0.05: (98, 454, 0.09880701754385966),
        0.1: (84, 289, 0.0691851851851852),
        0.2: (59, 110, 0.04200000000000001),
        0.3: (35, 46, 0.02038095238095238),
        0.4: (21, 23, 0.007555555555555558),
        0.5: (14, 7, 0.009333333333333336),
        0.6: (6, 2, 0.004000000000000001),
        0.72: (1, 0, 0.0013333333333333335),
    }
    edges = np.array([0.0, *published])
    accepted = np.array([(105, 645), *(v[:2] for v in published.values()), (0, 0)])
    count = -np.diff(accepted, axis=0)
    y = np.repeat(np.tile([1, 0], edges.size), count.ravel())
    p = np.repeat(np.repeat(edges, 2), count.ravel())
    found = tn.net_benefit(y, p, thresholds=list(published))
    assert found.value == pytest.approx([v[2] for v in published.values()], abs=1e-12)


def test_gaps_between_useful_thresholds_are_said():
    found = tn.net_benefit([0, 1] * 20, [0.1, 0.9] * 20, thresholds=[0.2, 0.4, 0.8])
    whole = replace(found, gain_low=np.ones(3), low=np.ones(3))
    torn = replace(whole, low=np.array([1.0, -1.0, 1.0]))
    assert (whole.gaps(), torn.gaps(), replace(whole, low=-np.ones(3)).gaps()) == (
        False,
        True,
        False,
    )
    assert str(whole).startswith(
        "Using the scores with a threshold between 20 % and 80 % beats acting on everyone or on no one (95 % "
    )
    assert str(torn).startswith(
        "Using the scores with a threshold between 20 % and 80 % beats acting on everyone or on no one, except at "
        "some thresholds in between (95 % confidence at each threshold, n = 40)."
    )
    never = replace(whole, low=-np.ones(3))
    assert (
        "is not shown to beat acting on everyone or on no one at any threshold (" in never.sentence
    )


@pytest.mark.parametrize("thresholds", [[0, 0.5], [1], [], ["a"], [math.nan]])
def test_thresholds_lie_inside(thresholds):
    with pytest.raises(tn.InputError, match="`thresholds` must"):
        tn.net_benefit([0, 1], [0.2, 0.4], thresholds=thresholds)


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1500])
def test_limits_cover_at_one_threshold_and_the_band_at_all(n):
    rng, runs = np.random.default_rng(4), 400
    t = np.arange(5, 91, 5) / 100
    _, p = rows(rng, 2_000_000)
    truth = np.array([np.where(p >= x, p - (1 - p) * x / (1 - x), 0).mean() for x in t])
    point, joint = np.zeros(t.size), 0
    for _ in range(runs):
        found = tn.net_benefit(*rows(rng, n), thresholds=t)
        point += (found.low <= truth) & (truth <= found.high)
        inside = (found.band_low <= truth) & (truth <= found.band_high)
        joint += inside[np.isfinite(found.band_low)].all()
    assert (point / runs).min() >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / runs)
    assert joint / runs >= 0.92 - 2 * math.sqrt(0.08 * 0.92 / runs)


def benefit_by_hand(y, p, t, cluster, prevalence, level, below=False):
    """Value and limits at one threshold, from the sums of clusters."""
    n, odds = y.size, t / (1 - t)
    a, b = (
        (1 / n, 1 / n)
        if prevalence is None
        else (prevalence / y.sum(), (1 - prevalence) / (n - y.sum()))
    )
    taken = p < t if below else p >= t
    worth = taken * (a * y - b * odds * (1 - y))
    units = np.unique(cluster).size
    sums = np.bincount(cluster, worth)
    error = math.sqrt(((sums - sums.mean()) ** 2).sum() * units / (units - 1))
    reach = stats.t.ppf((1 + level) / 2, units - 1) * error
    low, high = worth.sum() - reach, worth.sum() + reach
    counted = [taken & (y == label) for label in (1, 0)]
    holding = [np.unique(cluster[some]).size for some in counted]
    if min(holding) < 10:
        tail = (1 - level) / 4

        def ends(some, k):
            size = some.sum() / k if k else n / units
            low = stats.beta.ppf(tail, k, n / size - k + 1) if k else 0.0
            return low, stats.beta.isf(tail, k + 1, n / size - k) if k < n / size else 1.0

        (e_low, e_high), (o_low, o_high) = map(ends, counted, holding)
        low = min(low, n * (a * e_low - b * odds * o_high))
        high = max(high, n * (a * e_high - b * odds * o_low))
    return worth.sum(), low, high


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_clusters_have_the_limits_of_their_sums_and_few_rows_the_exact_ones(prevalence, level):
    rng = np.random.default_rng(7)
    y, p = rows(rng, 240)
    p = p.round(2)
    cluster = rng.integers(0, 40, 240)
    t = np.array([0.1, 0.3, 0.5, 0.62, 0.8, 0.93])
    found = tn.net_benefit(y, p, thresholds=t, cluster=cluster, prevalence=prevalence, level=level)
    for i, threshold in enumerate(t):
        expected = benefit_by_hand(y, p, threshold, cluster, prevalence, level)
        assert (found.value[i], found.low[i], found.high[i]) == pytest.approx(expected, abs=1e-12)
        value, low, high = benefit_by_hand(y, p, threshold, cluster, prevalence, level, below=True)
        assert (found.gain[i], found.gain_low[i], found.gain_high[i]) == pytest.approx(
            (-value, -high, -low), abs=1e-12
        )
        every = benefit_by_hand(y, np.ones(240), threshold, cluster, prevalence, level)[0]
        assert found.treat_all[i] == pytest.approx(every)
    assert found.prevalence == (prevalence or pytest.approx(y.mean()))


@pytest.mark.parametrize(("events", "others", "exact"), [(10, 10, 0), (9, 10, 1), (10, 9, 1)])
def test_ten_accepted_rows_of_each_label_are_enough(events, others, exact):
    y = np.repeat([1, 0, 1, 0], [events, others, 40, 60])
    p = np.repeat([0.9, 0.1], [events + others, 100])
    found = tn.net_benefit(y, p, thresholds=[0.5])
    u = by_row(y, p, 0.5)
    reach = stats.t.ppf(0.975, y.size - 1) * u.std() / math.sqrt(y.size)
    assert (found.high[0] > u.mean() + 1.0001 * reach) == exact
    assert math.isnan(found.band_high[0]) == exact
    if not exact:  # one threshold: the band is the interval
        assert found.band_high[0] == pytest.approx(found.high[0], abs=0.002)


def test_the_band_has_the_quantile_of_the_largest_deviation_of_all_thresholds():
    y, p = rows(np.random.default_rng(8), 600)
    t = np.array([0.1, 0.2, 0.3, 0.5])
    found = tn.net_benefit(y, p, thresholds=t, level=0.9)
    worth = np.array([by_row(y, p, threshold) for threshold in t])
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(4), np.corrcoef(worth), 40_000)
    joint = np.quantile(np.abs(drawn).max(axis=1), 0.9)
    joint *= stats.t.ppf(0.95, 599) / stats.norm.ppf(0.95)
    half = joint * worth.std(axis=1) / math.sqrt(600)
    assert found.band_high - found.value == pytest.approx(half, rel=0.03)
    assert found.value - found.band_low == pytest.approx(half, rel=0.03)


@pytest.mark.parametrize("prevalence", [None, 0.15])
def test_differences_of_clusters_are_paired(prevalence):
    rng = np.random.default_rng(9)
    y, p = rows(rng, 150)
    q = np.clip(p + rng.normal(0, 0.2, 150), 0, 1)
    cluster = np.arange(150) // 3
    found = tn.net_benefit(
        y, {"a": p, "b": q}, thresholds=[0.25, 0.6], cluster=cluster, prevalence=prevalence,
        level=0.9,
    ).differences["a", "b"]  # fmt: skip
    a, b = (1.0, 1.0) if prevalence is None else (
        prevalence * 150 / y.sum(), (1 - prevalence) * 150 / (150 - y.sum())
    )  # fmt: skip
    for i, t in enumerate((0.25, 0.6)):
        worth = ((p >= t) * 1.0 - (q >= t)) * (a * y - b * (1 - y) * t / (1 - t))
        sums = np.bincount(cluster, worth - worth.mean())
        reach = stats.t.isf(0.05, 49) * math.sqrt((sums**2).sum() * 50 / 49) / 150
        mean = worth.mean()
        assert found[:, i] == pytest.approx([mean, mean - reach, mean + reach])


@pytest.mark.parametrize("threshold", [0.1, 0.2, 0.8, 0.93])
def test_limits_are_no_shorter_for_the_same_rows_several_times(threshold):
    y, p = rows(np.random.default_rng(8), 200)
    once = tn.net_benefit(y, p, thresholds=[threshold])
    six = tn.net_benefit(
        np.repeat(y, 6),
        np.repeat(p, 6),
        thresholds=[threshold],
        cluster=np.repeat(np.arange(200), 6),
    )
    for end in ("low", "high", "gain_low", "gain_high"):
        assert getattr(six, end) == pytest.approx(getattr(once, end), rel=0.01, abs=1e-4)
    assert np.isnan(six.band_low) == np.isnan(once.band_low)
