"""Rates from few human labels and a judge, row by row: `judge`, `accept_threshold` and `risk_coverage`."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def slope_without(x, y, i):
    """The least-squares slope of y on x, without one row; 0 where x does not vary."""
    x, y = np.delete(x, i), np.delete(y, i)
    if x.size < 2 or np.ptp(x) == 0:
        return 0.0
    return (x - x.mean()) @ y / ((x - x.mean()) @ x)


def rate_by_hand(y, judge, judge_mean, n_all):
    """The rate, and the rows it is worth."""
    n = y.size
    rarer = min(y.sum(), n - y.sum())
    trust = rarer / (rarer + 3)
    slopes = np.array([trust * slope_without(judge, y, i) for i in range(n)])
    value = min(max((y + slopes * (judge_mean - judge)).mean(), 0), 1)
    inner = min(max(value, 0.5 / n), 1 - 0.5 / n)
    variance, unlabelled, slope = inner * (1 - inner), 1 - n / n_all, slopes.mean()
    covariance = np.cov(y, judge, bias=True)
    explained = 2 * slope * covariance[0, 1] - slope**2 * covariance[1, 1]
    gain = min(max(trust * explained * unlabelled, 0), variance * unlabelled)
    return value, n * variance / (variance - gain)


def exact_limits(value, rows, level):
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, value * rows, rows - value * rows + 1) if value > 0 else 0.0
    high = stats.beta.isf(tail, value * rows + 1, rows - value * rows) if value < 1 else 1.0
    return low, high


def world(seed, rows=240, humans=70, rate=0.3, right=0.85, leaning=0.0):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(5, 1, rows).round(2)
    chance = 1 - rate * 6 * (1 - confidence)
    y = (rng.random(rows) < np.clip(chance, 0.02, 0.98)).astype(float)
    judge = np.where(rng.random(rows) < right, y, 1 - y)
    judge = np.maximum(judge, rng.random(rows) < leaning)
    human = np.where(rng.permutation(rows) < humans, y, np.nan)
    return human, judge, confidence


WORLDS = {
    "good": {},
    "opposite": {"right": 0.15},
    "leans": {"leaning": 0.4},
    "rare": {"rate": 0.03},
    "perfect": {"right": 1.0},
    "all labelled": {"rows": 70},
    "three labels": {"humans": 3},
}


@pytest.mark.parametrize("options", WORLDS.values(), ids=WORLDS)
def test_the_event_rate_of_a_judge_leaves_each_row_out_of_its_slope(options):
    human, judge, _ = world(2, **options)
    level = 0.95 if len(options) % 2 else 0.8
    known = ~np.isnan(human)
    value, rows = rate_by_hand(human[known], judge[known], judge.mean(), judge.size)
    found = tn.judge(human, judge, level=level).event_rate
    assert (found.value, found.low, found.high) == pytest.approx(
        (value, *exact_limits(value, rows, level)), rel=1e-7, abs=1e-12
    )
    mirrored = tn.judge(1 - human, 1 - judge, level=level).event_rate
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))


def units_by_hand(terms, cluster, level):
    """Rows of clusters that are worth an independent one."""
    sums = np.array([terms[cluster == name].sum() for name in np.unique(cluster)])
    sizes = np.array([(cluster == name).sum() for name in np.unique(cluster)])
    if sizes.size < 2:
        return terms.size
    squares = (terms**2).sum()
    ratio = max((sums**2).sum() / squares, 1) if squares else (sizes**2).sum() / terms.size
    law = stats.t(sizes.size - 1)
    return ratio * (law.isf((1 - level) / 2) / stats.norm.isf((1 - level) / 2)) ** 2


@pytest.mark.parametrize("clusters", [40, 9, 2])
def test_rates_of_clusters_are_worth_fewer_rows(clusters):
    from trueness._numerics.proportions import mid_p

    human, judge, _ = world(4)
    cluster = np.random.default_rng(1).integers(0, clusters, 240)
    found = tn.judge(human, judge, cluster=cluster, level=0.9)
    known = ~np.isnan(human)
    y, j, c = human[known], judge[known], cluster[known]
    for estimate, right, among in (
        (found.sensitivity, j == 1, y == 1),
        (found.specificity, j == 0, y == 0),
        (found.ppv, y == 1, j == 1),
        (found.npv, y == 0, j == 0),
    ):
        hits = right[among].astype(float)
        units = hits.size / units_by_hand(hits - hits.mean(), c[among], 0.9)
        low, high = mid_p(hits.mean() * units, units, 0.9)
        assert (estimate.value, estimate.low, estimate.high, estimate.n) == pytest.approx(
            (hits.mean(), float(low), float(high), hits.size), rel=1e-9
        )
    value, rows = rate_by_hand(y, j, judge.mean(), 240)
    rows /= units_by_hand(y - y.mean(), c, 0.9)
    assert (found.event_rate.low, found.event_rate.high) == pytest.approx(
        exact_limits(value, rows, 0.9), rel=1e-7
    )


@pytest.mark.parametrize("within", [None, 0.15, 0.4])
def test_the_bias_of_clusters_has_the_wider_limits_and_the_larger_pvalue(within):
    human, judge, _ = world(5, leaning=0.2)
    human = np.where(np.isnan(human), judge, human)
    cluster = np.arange(240) // 8
    found = tn.judge(human, judge, cluster=cluster, within=within, level=0.9)
    alone = tn.judge(human, judge, within=within, level=0.9)
    signs = judge - human
    sums = np.bincount(cluster, signs - signs.mean()) / 240
    law, error = stats.t(29), math.sqrt((sums**2).sum() * 30 / 29)
    squares = np.bincount(cluster, signs) ** 2
    unseen = law.isf(0.05) * math.sqrt((squares**2).sum() / squares.sum()) / 240
    reach = law.isf(0.05) * math.hypot(error, unseen)
    assert (found.bias.low, found.bias.high) == pytest.approx(
        (min(alone.bias.low, signs.mean() - reach), max(alone.bias.high, signs.mean() + reach))
    )
    if within is None:
        assert found.pvalue is None
    else:
        scale = max(error, math.sqrt(within * (1 - within) / 30))
        tails = law.cdf([(signs.mean() - within) / scale, (-signs.mean() - within) / scale])
        assert found.pvalue == pytest.approx(max(alone.pvalue, *tails), rel=1e-9)


def test_a_bias_that_is_shown_to_be_beyond_the_margin_forbids_the_judge():
    human = np.repeat([1.0, 0, 1, 0], [100, 100, 0, 40])
    judge = np.repeat([1.0, 0, 1, 1], [100, 100, 0, 40])
    found = tn.judge(human, judge)
    low = found.bias.low
    assert tn.judge(human, judge, within=low * 0.999).replaces is False
    assert tn.judge(human, judge, within=low * 1.001).replaces is None
    turned = tn.judge(judge, human, within=low * 0.999)
    assert (turned.replaces, turned.bias.high) == (False, pytest.approx(-low))
    p = tn.judge(human, judge, within=0.25).pvalue
    assert tn.judge(human, judge, within=0.25, level=1 - p * 1.0001).replaces is True
    assert tn.judge(human, judge, within=0.25, level=1 - p * 0.9999).replaces is None


def test_kappa_of_clusters_is_that_of_fewer_labels():
    """Copies of rows in clusters have, but for Student's t, the limits of the rows."""
    human, judge, _ = world(6)
    known = ~np.isnan(human)
    y, j = human[known], judge[known]
    n = y.size
    cells = np.array([(y * j).sum(), (y * (1 - j)).sum(), ((1 - y) * j).sum(), 0])
    cells[3] = n - cells.sum()

    def kappa(by_both, by_human, by_judge, by_none):
        agree = by_both + by_none
        chance = (by_both + by_human) * (by_both + by_judge)
        chance += (by_none + by_human) * (by_none + by_judge)
        return (agree - chance) / (1 - chance)

    step = 1e-6
    moved = []
    for a, b in zip(y, j, strict=True):
        one = np.array([a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)])
        shares = cells / n
        moved.append((kappa(*(shares + step * (one - shares))) - kappa(*shares)) / step)
    cluster = np.random.default_rng(2).integers(0, 15, n)
    units = units_by_hand(np.array(moved), cluster, 0.9)
    found = tn.judge(y, j, cluster=cluster, level=0.9).kappa
    rng = np.random.default_rng(3)
    for end, prior, tail in ((found.low, 0.5, 0.05), (found.high, 0.25, 0.95)):
        shape = cells / units + np.array([0.5, prior, prior, 0.5])
        drawn = kappa(*rng.dirichlet(shape, 40_000).T)
        assert end == pytest.approx(np.quantile(drawn, tail), abs=0.012)
    assert found.value == pytest.approx(kappa(*cells / n))


@pytest.mark.parametrize("clustered", [False, True])
def test_judgements_of_three_kinds_agree_as_pairs_with_limits_by_students_t(clustered):
    rng = np.random.default_rng(7)
    repeats = (rng.random((60, 4)) < 0.7).astype(float)
    repeats[:20, 3] = repeats[:10, 2] = np.nan  # two, three and four judgements
    repeats[50:, 1:] = np.nan  # one
    human = np.where(np.arange(60) < 30, repeats[:, 0], np.nan)
    cluster = np.arange(60) // 3 if clustered else None
    found = tn.judge(human, repeats, cluster=cluster, level=0.9).repeatability
    agree = []
    for row in repeats[:50]:
        said = row[~np.isnan(row)]
        pairs = [said[i] == said[k] for i in range(said.size) for k in range(i)]
        agree.append(np.mean(pairs))
    agree = np.array(agree)
    assert (found.value, found.n) == (pytest.approx(agree.mean()), 50)
    codes = np.arange(50) if cluster is None else cluster[:50]
    ends = []
    for values in (1 - agree, agree):
        sums = np.array([(values - values.mean())[codes == c].sum() for c in np.unique(codes)])
        sizes = np.array([(codes == c).sum() for c in np.unique(codes)])
        units = 50**2 / (sizes**2).sum()
        together = min(max((sums**2).sum() / ((values - values.mean()) ** 2).sum(), 1), 50 / units)
        centre = values.mean() + (1 - values.mean()) * (together / 2) / (50 + together / 2)
        added = together * (1 - centre)
        second, third = (sums**2).sum() + added**2 / 2, (sums**3).sum() + added**3 / 2
        spread = math.sqrt(second * units / (units - 1)) / 50
        spread *= stats.t.isf(0.05, units - 1) / stats.norm.isf(0.05)
        ends.append(stats.pearson3.isf(0.05, 2 * third / second**1.5, centre, spread))
    assert (found.low, found.high) == pytest.approx((1 - ends[0], ends[1]), rel=1e-9)


def test_a_choice_by_the_judge_is_warned_of_from_one_in_a_hundred_on():
    """Two rates, of 60 rows with a human label and of 90 without, by a normal test."""
    seen = {}
    for events in range(10, 80):
        judge = np.concatenate([np.arange(60) < 20, np.arange(90) < events]).astype(float)
        human = np.where((np.arange(150) < 60), judge, np.nan)
        rate = judge.mean()
        z = (20 / 60 - events / 90) / math.sqrt(rate * (1 - rate) * (1 / 60 + 1 / 90))
        pvalue = 2 * stats.norm.sf(abs(z))
        if 0.005 < pvalue < 0.02:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                tn.judge(human, judge)
            seen[events] = (
                any(one.category is tn.errors.SelectedRowsWarning for one in said),
                pvalue < 0.01,
            )
    assert set(seen.values()) == {(True, True), (False, False)}


def ends_of(confidence, most):
    """The last row of each candidate threshold, from the highest confidence down."""
    n = confidence.size
    last = [i for i in range(n) if i == n - 1 or confidence[i + 1] < confidence[i]]
    if len(last) <= most:
        return last
    wanted = [math.floor(k / most * n) for k in range(1, most + 1)]
    return sorted({next(i for i in last if i + 1 >= w) for w in wanted})


def rate_to_test(y, judge, judge_mean, n_all, rate):
    """The rate for a test whether it is `rate`, and the rows that it is worth."""
    n = y.size
    expected = min(n * rate, y.sum())
    trust = expected / (expected + 3)
    covariance = np.cov(judge, y, bias=True)
    slope = trust * covariance[0, 1] / covariance[0, 0] if covariance[0, 0] > 0 else 0.0
    value = y.mean() + slope * (judge_mean - judge.mean())
    explained = 2 * slope * covariance[0, 1] - slope**2 * covariance[0, 0]
    variance = rate * (1 - rate)
    gain = min(max(trust * explained * (1 - n / n_all), 0), 0.999 * variance)
    return min(max(value, 0), 1), n * variance / (variance - gain)


def threshold_by_hand(human, judge, confidence, goal, level, size=1):
    """Five sequences of tests, each until its first failure."""
    order = np.argsort(-confidence, kind="stable")
    human, judge, confidence = human[order], judge[order], confidence[order]
    alpha, passes, labels, rates = (1 - level) / 5, [], [], []
    ends = ends_of(confidence, 40)
    for end in ends:
        known = ~np.isnan(human[: end + 1])
        labels.append(known.sum() // size)
        if not known.any():
            passes.append(False)
            rates.append(math.nan)
            continue
        value, rows = rate_to_test(
            1 - human[: end + 1][known],
            1 - judge[: end + 1][known],
            1 - judge[: end + 1].mean(),
            end + 1,
            1 - goal,
        )
        rows /= size
        below = stats.beta.cdf(goal, max(rows - value * rows, 1e-9), value * rows + 1)
        passes.append(below <= alpha)
        rates.append(value)
    fewest = math.ceil(math.log(alpha) / math.log(goal))
    if labels[-1] < fewest:
        return math.nan, math.nan
    found = []
    for start in np.geomspace(fewest, labels[-1], 6)[:-1]:
        i = next(k for k, n in enumerate(labels) if n >= start)
        while i < len(ends) and passes[i]:
            found.append(i)
            i += 1
    if not found:
        return math.nan, math.nan
    return confidence[ends[max(found)]], 1 - rates[max(found)]


@pytest.mark.parametrize("right", [0.97, 0.6])
@pytest.mark.parametrize(("goal", "size"), [(0.8, 1), (0.7, 1), (0.6, 2)])
@pytest.mark.parametrize("digits", [2, 4])
def test_a_threshold_by_humans_and_a_judge_is_the_lowest_of_five_sequences(
    goal, size, right, digits
):
    rng = np.random.default_rng([7, digits])
    n = 900
    confidence = rng.uniform(0.4, 1, n).round(digits)
    y = (rng.random(n) < confidence**0.8).astype(float)
    judge = np.where(rng.random(n) < right, y, 1 - y)
    human = np.where(np.arange(n) % 4 < 2, y, np.nan)
    cluster = np.arange(n) // size if size > 1 else None
    found = tn.accept_threshold(
        human, confidence, judge=judge, accuracy=goal, level=0.9, cluster=cluster
    )
    threshold, observed = threshold_by_hand(human, judge, confidence, goal, 0.9, size)
    assert (found.threshold, found.observed) == pytest.approx((threshold, observed), nan_ok=True)
    if found.certified:
        assert found.accepted == (confidence >= threshold).sum()
        low, high = exact_limits(found.coverage, n / size, 0.9)
        assert (found.coverage_low, found.coverage_high) == pytest.approx((low, high))


@pytest.mark.parametrize("kind", ["correct", None])
@pytest.mark.parametrize("digits", [1, 3])
def test_the_risk_at_each_coverage_is_the_rate_by_humans_and_judge(kind, digits):
    rng = np.random.default_rng(digits)
    p = rng.random(300).round(digits)
    y = (rng.random(300) < p).astype(float)
    judge = np.where(rng.random(300) < 0.85, y, 1 - y)
    human = np.where(np.arange(300) % 3 == 0, y, np.nan)
    options = {} if kind is None else {"kind": kind}
    found = tn.risk_coverage(human, p, judge=judge, **options)
    if kind is None:
        likely = p >= 0.5
        p, human, judge = (np.where(likely, v, 1 - v) for v in (p, human, judge))
    order = np.argsort(-p, kind="stable")
    p, human, judge = p[order], human[order], judge[order]
    seen = np.cumsum(~np.isnan(human))
    last = [i for i in range(300) if (i == 299 or p[i + 1] < p[i]) and seen[i] >= 10]
    if len(last) > 40:
        wanted = np.floor(np.linspace(last[0], 299, 40))
        last = sorted({next(i for i in last if i >= w) for w in wanted})
    assert found.threshold.tolist() == p[last].tolist()
    assert found.coverage == pytest.approx((np.array(last) + 1) / 300)
    for end, risk in zip(last, found.risk, strict=True):
        known = ~np.isnan(human[: end + 1])
        expected, _ = rate_by_hand(
            1 - human[: end + 1][known],
            1 - judge[: end + 1][known],
            1 - judge[: end + 1].mean(),
            end + 1,
        )
        assert risk == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("seed", "needed"), [(7, 226), (8, 221), (24, 221)])
def test_rows_needed_are_a_tenth_more_than_the_labels_at_least(seed, needed):
    """Rates that would do, and labels that do not show it: 200 human ones, so at least 221."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.3, 1, 400).round(1)
    y = (rng.random(400) < 0.86).astype(float)
    judge = np.where(rng.random(400) < 0.8, y, 1 - y)
    human = np.where(np.arange(400) < 200, y, np.nan)
    found = tn.accept_threshold(human, confidence, judge=judge, accuracy=0.85, level=0.9)
    assert (found.certified, found.rows_needed) == (False, needed)
