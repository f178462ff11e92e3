"""A policy by hand: tails of gaps, rows that would decide, and the edges of what is vague."""

import math

import numpy as np
import pytest
from grids import slow
from scipy.stats import norm, t

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def rows(n=120, seed=0, error=0.0):
    rng = np.random.default_rng([seed, n])
    p = rng.uniform(0.1, 0.9, n).round(3)
    return (rng.random(n) < np.clip(p + error, 0, 1)).astype(int), p


def judged(y, p, bound, level=0.95, require=False, **options):
    """The finding and the number of tests of one segment of all rows."""
    policy = {"by": "all", "segment_gap": bound, "level": level, "require": require}
    found = tn.gate(y, p, policy=policy, data={"all": np.zeros(y.size, int)}, **options)
    return found.findings[0], found.tests


def flips(outcome, y, p, bound, pvalue, **options):
    """Whether a gate has an outcome from this p-value on, and not below."""
    _, tests = judged(y, p, bound, **options)
    share = tests if outcome == "exceeded" else 1
    near = [judged(y, p, bound, 1 - share * pvalue * by, **options) for by in (1.000001, 0.999999)]
    return [one.outcome == outcome for one, _ in near] == [True, False]


@pytest.mark.parametrize(("bound", "error", "seed"), [(0.01, 0.12, 0), (0.02, -0.12, 4)])
def test_a_segment_fails_at_the_level_of_both_tails_of_labels_at_the_bound(bound, error, seed):
    y, p = rows(120, seed, error)
    excess = (y - p).sum()
    moved = np.clip(p + math.copysign(bound, excess), 0, 1)
    spread = math.sqrt((moved * (1 - moved)).sum())
    tails = norm.sf(
        [(abs(excess) - 120 * bound - 0.5) / spread, (abs(excess) + 120 * bound - 0.5) / spread]
    )
    assert tails[1] > 1e-4
    assert flips("exceeded", y, p, bound, tails.sum())
    found, _ = judged(y, p, bound, 0.9)
    at = np.clip(p + excess / 120, 0, 1)
    half = norm.isf(0.1) * math.sqrt((at * (1 - at)).sum()) / 120
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (excess / 120, excess / 120 - half, excess / 120 + half), rel=1e-9
    )


@pytest.mark.parametrize(
    ("kind", "error"), [("clusters", 0.16), ("weights", -0.2), ("importance", 0.16)]
)
def test_a_segment_of_clusters_or_weights_has_the_tails_of_students_t(kind, error):
    y, p = rows(90, 3, error)
    w = {"weights": 0.5 + np.arange(90) % 3, "importance": 1 + np.arange(90) % 2}.get(
        kind, np.ones(90)
    )
    cluster = np.arange(90) // 3 if kind == "clusters" else np.arange(90)
    options = {"cluster": cluster} if kind == "clusters" else {"sample_weight": w}
    if kind == "importance":
        options["weight_type"] = "importance"
    mean = np.average(y - p, weights=w)
    sums = np.bincount(cluster, w * (y - p - mean)) / w.sum()
    law = t(sums.size - 1)
    spread = math.sqrt((sums**2).sum() * sums.size / (sums.size - 1))
    found, _ = judged(y, p, 0.02, 0.9, **options)
    half = law.isf(0.1) * spread
    assert (found.estimate, found.low, found.high, found.n) == pytest.approx(
        (mean, mean - half, mean + half, 90), rel=1e-9
    )
    tails = law.sf([(abs(mean) - 0.02) / spread, (abs(mean) + 0.02) / spread])
    assert flips("exceeded", y, p, 0.02, tails.sum(), **options)
    wide = abs(mean) + 1.5 * spread
    keeps = law.cdf((abs(mean) - wide) / spread)
    assert judged(y, p, wide, 0.99, True, **options)[0].pvalue == pytest.approx(keeps, rel=1e-9)
    assert flips("certified", y, p, wide, keeps, require=True, **options)


@pytest.mark.parametrize("require", [False, True])
def test_a_baseline_is_compared_by_a_paired_t_test_of_one_side(require):
    y, p = rows(150, 4)
    old = np.clip(p + 0.15 * np.cos(np.arange(150)), 0, 1)
    difference = (p - y) ** 2 - (old - y) ** 2
    law, spread = t(149), difference.std(ddof=1) / math.sqrt(150)

    def gate(margin, level):
        policy = {"baseline": "old", "margin": margin, "level": level, "require": require}
        found = tn.gate(y, p, policy=policy, data={"old": old})
        return found.findings[0], found.tests

    margin = difference.mean() + (1.3 if require else -2.5) * spread
    found, tests = gate(margin, 0.9)
    half = law.isf(0.1) * spread
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (difference.mean(), difference.mean() - half, difference.mean() + half), rel=1e-9
    )
    tail = law.cdf((difference.mean() - margin) / spread)
    wanted, pvalue = ("certified", tail) if require else ("exceeded", tests * (1 - tail))
    outcomes = [gate(margin, 1 - pvalue * by)[0].outcome for by in (1.000001, 0.999999)]
    assert outcomes[0] == wanted != outcomes[1]


def in_round_numbers(number):
    """Two digits, rounded up."""
    if number <= 100:
        return math.ceil(number)
    unit = 10 ** (len(str(int(number))) - 2)
    return math.ceil(number / unit) * unit


def rows_by_hand(found):
    """Rows at which limits that shrink as 1/√n leave the estimate clear of the bound, 9 times in 10."""
    low, high = found.ends
    value = found.estimate
    if value > high:
        ratio = (value - found.low) / (value - high)
    elif value < low:
        ratio = (found.high - value) / (low - value)
    else:
        ratio = (found.high - value) / (high - value)
        if low > -math.inf:
            ratio = max(ratio, (value - found.low) / (value - low))
    z = norm.ppf(found.level)
    return in_round_numbers(found.n * ratio**2 * ((z + norm.ppf(0.9)) / z) ** 2)


@pytest.mark.parametrize(
    ("bounds", "shift"),
    [
        ({"oe_within": 0.13}, 0.0),
        ({"oe_within": 0.13}, 0.12),
        ({"oe_within": 0.13}, -0.12),
        ({"max_ece": 0.08}, 0.0),
        ({"max_l2": 0.06}, 0.12),
    ],
)
def test_the_rows_that_would_decide_follow_from_the_limits(bounds, shift):
    y, p = rows(200, 7, shift)
    for level in (0.9, 0.97):
        (found,) = tn.gate(y, p, require=True, level=level, **bounds).findings
        policy = {**bounds, "require": True, "level": level}
        for one in (found, tn.gate(y, p, policy=policy).findings[0]):
            if one.outcome == "not certified":
                assert one.needed == rows_by_hand(one)
            else:
                assert one.needed is None


@pytest.mark.parametrize("bound", [0.03, 0.1, 0.19])
def test_a_segment_needs_as_many_rows_as_its_share_and_the_error_demand(bound):
    y, p = rows(180, 8)
    part = np.arange(180) % 3 == 0
    policy = {"by": "part", "segment_gap": bound, "require": True, "level": 0.9}
    found = tn.gate(y, p, policy=policy, data={"part": part})
    z = norm.ppf(0.9) * 2
    for one, inside in zip(found.findings, (~part, part), strict=True):
        rate = (y[inside].mean() + p[inside].mean()) / 2
        needed = rate * (1 - rate) * (z / bound) ** 2 * 180 / inside.sum()
        if one.outcome == "not certified":
            assert one.needed == in_round_numbers(needed)
        else:
            assert one.needed is None


def test_the_slice_that_needs_most_rows_says_how_many():
    y, p = rows(400, 9)
    columns = {"a": np.arange(400) % 2, "b": np.arange(400) // 2 % 3}
    policy = {"columns": ["a", "b"], "slice_gap": 0.05, "require": True}
    (found,) = tn.gate(y, p, policy=policy, data=columns).findings
    z = norm.ppf(0.95) + norm.ppf(0.9)
    needed, keeps = [], []
    masks = [columns["a"] == a for a in range(2)] + [columns["b"] == b for b in range(3)]
    masks += [one & two for one in masks[:2] for two in masks[2:]]
    for inside in masks:
        rate = (y[inside].mean() + p[inside].mean()) / 2
        needed.append(rate * (1 - rate) * (z / 0.05) ** 2 * 400 / inside.sum())
        alone = judged(y[inside], p[inside], 0.05, require=True)[0]
        keeps.append(alone.pvalue)
    assert found.pvalue == pytest.approx(max(keeps), rel=1e-9)
    assert found.needed == in_round_numbers(max(needed))


@pytest.mark.parametrize(("n", "tried"), [(19, 0), (20, 1)])
def test_twenty_rows_make_a_slice(n, tried):
    y, p = rows(60, 2)
    column = np.where(np.arange(60) < n, "small", np.arange(60).astype(str))
    found = tn.gate(y, p, policy={"columns": "c", "slice_gap": 0.4}, data={"c": column})
    assert any("No slice has 20 rows." in note for note in found.notes) == (tried == 0)
    if tried:
        assert [one.group for one in found.findings] == ["c = small"]
        assert f"1 slice was tried; {60 - n} of fewer than 20 rows were not." in found.notes


@pytest.mark.parametrize(("n", "outcome"), [(19, "unknown"), (20, "not exceeded")])
def test_fewer_than_twenty_rows_of_a_segment_do_not_decide(n, outcome):
    y, p = np.arange(n) % 2, np.full(n, 0.5)
    found, _ = judged(y, p, 0.14)
    assert (found.n, found.outcome) == (n, outcome)


def test_limits_beyond_twice_the_bound_and_a_quarter_are_vague():
    y, p = np.arange(20) % 2, np.full(20, 0.5)  # a gap of 0, limits up to 0.184
    assert judged(y, p, 0.02)[0].outcome == "not exceeded"
    y, p = (np.arange(24) < 16).astype(int), np.full(24, 0.5)  # a gap of 1/6, limits up to 0.325
    assert judged(y, p, 0.05)[0].outcome == "unknown"
    assert judged(y, p, 0.164)[0].outcome == "not exceeded"  # twice the bound is 0.328
    assert judged(y, p, 0.16)[0].outcome == "unknown"
    assert judged(1 - y, p, 0.16)[0].outcome == "unknown"
    assert judged(1 - y, p, 0.164)[0].outcome == "not exceeded"


@pytest.mark.parametrize(("clusters", "few"), [(5, 5), (6, 0)])
def test_fewer_than_six_clusters_do_not_decide(clusters, few):
    y, p = rows(240, 11)
    cluster = np.arange(240) % clusters
    found, _ = judged(y, p, 0.005, cluster=cluster)
    assert found.few_clusters == few
    (alone,) = tn.gate(y, p, oe_within=0.02, cluster=cluster).findings
    assert alone.few_clusters == few
    assert (alone.outcome == "unknown") is (few > 0)


def test_labels_are_too_good_from_a_thousandth_on():
    """Without `require` the thousandth is shared by the models, and with it each has its own."""
    p = np.repeat([0.2, 0.4, 0.6, 0.8], 100)
    off = [0, 1, 2, 3, 4, 5, 6]
    outcomes = {}
    for k in off:
        events = [20 + k, 40 - k, 60 + k, 80 - k]
        y = np.concatenate([np.arange(100) < e for e in events]).astype(int)
        sums = tn.binned(y, p, bins=5)
        tail = tn.equivalence_test(sums, within=0.3, criterion="ece", bins=5).too_good
        for require in (False, True):
            one = tn.gate(sums, max_ece=0.3, bins=5, require=require).findings[0]
            assert (one.outcome == "too good") == (tail <= 0.001)
            assert one.too_good == (tail if tail <= 0.001 else None)
        outcomes[tail <= 0.001] = True
        policy = {"max_ece": 0.3, "require": True}
        by_policy = tn.gate(sums, policy=policy, bins=5)
        assert ("too good" in [one.outcome for one in by_policy.findings]) == (tail <= 0.001)
    assert outcomes == {True: True, False: True}


@pytest.mark.parametrize("require", [False, True])
def test_a_single_cluster_of_a_segment_or_against_a_baseline_shows_nothing(require):
    y, p = rows(200, 13, 0.3)
    segment = np.arange(200) < 40
    cluster = np.where(segment, 0, 1 + np.arange(200) // 8)
    policy = {"by": "segment", "segment_gap": 0.01, "require": require}
    found = tn.gate(y, p, policy=policy, data={"segment": segment}, cluster=cluster)
    single = found.findings[1]
    assert (single.group, single.n) == ("segment = True", 40)
    assert (single.low, single.high) == (-math.inf, math.inf)
    assert single.outcome == ("not certified" if require else "unknown")
    assert single.estimate == pytest.approx((y - p)[segment].mean())


def test_sums_of_few_bins_leave_the_typical_error_of_a_policy_unknown():
    y, p = rows(400, 14)
    for require in (False, True):
        policy = {"max_l2": 0.9, "max_ece": 0.9, "require": require}
        found = tn.gate(tn.binned(y, p), policy=policy)
        by_name = {one.quantity: one for one in found.findings}
        assert by_name["l2"].outcome == "unknown"
        assert math.isnan(by_name["l2"].estimate)
        assert by_name["ece"].passed
        assert found.outcome == "investigate"


@pytest.mark.parametrize("turned", [False, True])
def test_the_side_on_which_labels_vary_more_decides_whether_a_gap_is_kept(turned):
    """No gap to speak of, at low scores: labels from higher scores vary more."""
    y, p = (np.arange(100) % 10 == 0).astype(int), np.full(100, 0.103)
    y, p = (1 - y, 1 - p) if turned else (y, p)
    found, _ = judged(y, p, 0.08, 0.99, True)
    tails = []
    for sign in (1, -1):
        moved = 0.103 + sign * 0.08
        excess = sign * (10 - 10.3)
        tails.append(norm.cdf((excess - 8 + 0.5) / math.sqrt(100 * moved * (1 - moved))))
    assert tails[0] > 1.5 * tails[1]
    assert found.pvalue == pytest.approx(max(tails), rel=1e-9)


@pytest.mark.parametrize("bound", ["max_ece", "oe_within", *slow("max_l2")])
def test_a_limit_at_the_bound_does_not_exceed_it(bound):
    y, p = rows(300, 15, 0.2)
    options = {"max_ece": {"bins": 5}}.get(bound, {})
    tests = tn.gate(y, p, policy={bound: 0.5}, **options).tests
    level = 1 - 0.1 / tests  # what Holm's method asks first
    (one,) = tn.gate(y, p, **{bound: 0.5}, level=level, **options).findings
    at = one.low if bound != "oe_within" else one.low - 1
    assert at > 0
    outcomes = []
    for by in (1e-6, -1e-6):
        policy = {bound: at * (1 + by), "level": 0.9}
        outcomes.append(tn.gate(y, p, policy=policy, **options).findings[0].outcome)
    assert outcomes[0] != "exceeded" == outcomes[1]
