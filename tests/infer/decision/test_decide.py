"""Costs: the threshold they imply, what decisions cost, and what miscalibration costs there."""

import numpy as np
import pytest
from scipy.stats import beta, binom, norm, pearson3, t

import trueness as tn


def rows(rng, n=2_000, truth=lambda p: p):
    p = rng.beta(1, 3, n)
    return (rng.uniform(size=n) < truth(p)).astype(int), p


def test_costs_are_means_over_rows():
    y, p = rows(np.random.default_rng(1))
    found = tn.decide(y, p, cost_fp=2, cost_fn=6)
    assert found.threshold == 0.25
    each = np.where(p >= 0.25, 2 * (1 - y), 6 * y)
    assert found.cost.value == pytest.approx(each.mean())
    assert found.always.value == pytest.approx(2 * (1 - y).mean())
    assert found.never.value == pytest.approx(6 * y.mean())
    assert found.cost.low < each.mean() < found.cost.high
    assert found.cost.standard_error == pytest.approx(each.std(ddof=1) / np.sqrt(y.size), rel=1e-6)
    saved = each.mean() - found.recalibrated_cost.value
    assert found.miscalibration.value == pytest.approx(saved)
    assert found.most_to_save == pytest.approx(8 * tn.decision_certificate(y, p).high)
    cuts = np.append(p, 1.1)
    costs = [np.where(p >= c, 2 * (1 - y), 6 * y).mean() for c in cuts]
    assert np.where(p >= found.best_threshold, 2 * (1 - y), 6 * y).mean() == pytest.approx(
        min(costs)
    )


def test_calibrated_scores_lose_nothing_and_wrong_ones_gain_by_recalibration():
    rng = np.random.default_rng(2)
    good = tn.decide(*rows(rng, 4_000), cost_fp=1, cost_fn=4)
    assert good.miscalibration.low <= 0
    assert "would save nothing that can be shown (" in str(good)
    assert abs(good.recalibrated_cost.value - good.cost.value) < 0.02
    wrong = tn.decide(*rows(rng, 4_000, lambda p: np.minimum(1, 2.5 * p)), cost_fp=1, cost_fn=1)
    assert wrong.miscalibration.low > 0
    assert wrong.recalibrated_cost.value < wrong.cost.value - 0.02
    assert wrong.cost.value - wrong.recalibrated_cost.value < wrong.most_to_save
    assert str(wrong).startswith(
        "Act where the score is at least 0.5000 (a miss costs as much as a false alarm).\n"
    )
    assert "Recalibrating first would save 0.2" in str(wrong)
    assert str(wrong).count("\n") == 2


def test_what_miscalibration_costs_is_found_with_the_map_of_the_report():
    y, p = rows(np.random.default_rng(2), 1_000, lambda p: np.minimum(1, 2.5 * p))
    found = tn.decide(y, p, cost_fp=1, cost_fn=1)
    a = tn.assess(y, p)
    after = a.cross_fitted(tn.AutoCalibration())
    table = after.estimate(lambda t: cost_of(t, 0.5), kind=None)
    assert found.recalibrated_cost.value == pytest.approx(table.value)


def cost_of(sums, threshold):
    """The mean cost per row of acting from a threshold on, by the sums of distinct scores."""
    (part,) = sums.parts
    act = part.score >= threshold
    wrong = np.where(act, part.weight - part.events, part.events)
    return float(wrong.sum() / part.weight.sum())


def test_weights_repeat_rows_clusters_stay_together_and_a_seed_repeats():
    rng = np.random.default_rng(3)
    y, p = rows(rng, 400)
    w = rng.integers(1, 3, 400)
    weighted = tn.decide(y, p, cost_fp=1, cost_fn=3, sample_weight=w)
    assert weighted.cost == tn.decide(np.repeat(y, w), np.repeat(p, w), cost_fp=1, cost_fn=3).cost
    twice = tn.decide(
        np.repeat(y, 2), np.repeat(p, 2), cost_fp=1, cost_fn=3, cluster=np.repeat(np.arange(400), 2)
    )
    once = tn.decide(y, p, cost_fp=1, cost_fn=3)
    assert twice.cost.value == pytest.approx(once.cost.value)
    assert twice.cost.standard_error == pytest.approx(once.cost.standard_error, rel=0.01)
    assert tn.decide(y, p, cost_fp=1, cost_fn=3).best_cost == once.best_cost


@pytest.mark.parametrize("clustered", [False, True])
def test_neither_the_order_of_rows_nor_names_of_clusters_matter(clustered):
    rng = np.random.default_rng(5)
    y, p = rows(rng, 400)
    p = p.round(2)  # tied scores
    names = np.arange(400) // 4
    order, new_names = rng.permutation(400), rng.permutation(100)[names]
    first = tn.decide(y, p, cost_fp=1, cost_fn=3, cluster=names if clustered else None)
    other = {"cluster": [f"patient {name}" for name in new_names[order]]} if clustered else {}
    assert tn.decide(y[order], p[order], cost_fp=1, cost_fn=3, **other) == first


def exact(k, n, level=0.95):
    tail = (1 - level) / 2
    return (beta.ppf(tail, k, n - k + 1) if k else 0.0), (
        beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
    )


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize("events", [0, 1, 17, 60])
def test_acting_always_or_never_costs_a_rate_times_a_cost_with_exact_limits(events):
    n, p = 60, np.linspace(0.01, 0.99, 60)
    found = tn.decide(np.arange(n) < events, p, cost_fp=2, cost_fn=5, level=0.9)
    low, high = exact(events, n, 0.9)
    assert (found.never.low, found.never.high) == pytest.approx((5 * low, 5 * high))
    assert (found.always.low, found.always.high) == pytest.approx((2 * (1 - high), 2 * (1 - low)))
    every = tn.decide(np.arange(n) < events, p / 2 + 0.5, cost_fp=2, cost_fn=5, level=0.9)
    assert (every.cost.value, every.cost.low, every.cost.high) == (
        every.always.value,
        every.always.low,
        every.always.high,
    )


def test_without_an_event_clusters_count_once():
    y, p = np.zeros(120, int), np.linspace(0.01, 0.99, 120)
    y[:4] = 1  # one cluster of events
    found = tn.decide(y, p, cost_fp=1, cost_fn=1, cluster=np.arange(120) // 4)
    low, high = exact(1, 30)
    assert found.never.low < low < high < found.never.high + 0.01
    with pytest.warns(tn.errors.OneClassWarning):
        none = tn.decide(np.zeros(120, int), p, cost_fp=1, cost_fn=1, cluster=np.arange(120) // 4)
    assert (none.never.low, none.never.high) == pytest.approx(exact(0, 30))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize(
    ("rate", "n"), [(0.012, 60), (0.003, 300), (0.05, 40), (0.3, 40), (0.5, 100), (0.97, 60)]
)
def test_limits_of_acting_always_and_never_cover_at_every_number_of_events(rate, n):
    """All numbers of events, each with its probability: no simulation."""
    p, covered = np.full(n, rate), 0.0
    for k in range(n + 1):
        if binom.pmf(k, n, rate) > 1e-9:
            found = tn.decide(np.arange(n) < k, p, cost_fp=3, cost_fn=7)
            inside = 3 * (1 - rate) in found.always
            assert inside == (7 * rate in found.never)
            covered += inside * binom.pmf(k, n, rate)
    assert covered >= 0.95


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_one_class_and_one_score_have_an_answer():
    none = tn.decide([0, 0, 0], [0.2, 0.6, 0.9], cost_fp=1, cost_fn=1)
    assert (none.never.value, none.best_threshold > 1) == (0, True)
    assert "acting never 0.00" in str(none)
    assert "These rows are too few to tell what recalibration would save." in str(none)
    same = tn.decide([0, 1, 0, 1], [0.5] * 4, cost_fp=1, cost_fn=1)
    assert same.cost.value == 0.5


@pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")
def test_clusters_not_rows_are_too_few_to_tell_what_a_map_saves():
    rng = np.random.default_rng(4)
    p = rng.beta(2, 3, 500)
    y = rng.random(p.size) < p
    found = tn.decide(y, p, cost_fp=1, cost_fn=4, cluster=np.arange(p.size) % 2)
    assert found.saving == "These 2 clusters are too few to tell what recalibration would save."


@pytest.mark.parametrize(
    ("fp", "fn"), [(0, 1), (1, -1), (np.inf, 1), (1e300, 1e300), (1, 1e-300), ("a", 1), (1, np.nan)]
)
def test_costs_are_above_zero(fp, fn):
    with pytest.raises(tn.InputError, match=r"`cost_f[pn]` must be"):
        tn.decide([0, 1], [0.2, 0.4], cost_fp=fp, cost_fn=fn)


@pytest.mark.slow
def test_limits_of_the_cost_cover():
    rng, runs, covered = np.random.default_rng(4), 400, 0
    _, p = rows(rng, 2_000_000)
    truth = np.where(p >= 1 / 6, 1 - p, 5 * p).mean()
    for _ in range(runs):
        y, p = rows(rng, 200)
        covered += truth in tn.decide(y, p, cost_fp=1, cost_fn=5).cost
    assert covered / runs >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / runs)


def gamma_limits(losses, surprise, level, cluster=None):
    """Limits of a mean cost: half a unit of the cost `surprise` added, and three moments."""
    n, mean = losses.size, losses.mean()
    codes = np.arange(n) if cluster is None else cluster
    sums = np.bincount(codes, losses - mean)
    sizes = np.bincount(codes)
    units = n**2 / (sizes @ sizes)
    unit = min(max((sums @ sums) / ((losses - mean) ** 2).sum(), 1), n / units)
    centre = (n * mean + unit / 2 * surprise) / (n + unit / 2)
    added = unit * (surprise - centre)
    second, third = sums @ sums + added**2 / 2, (sums**3).sum() + added**3 / 2
    upper = (1 + level) / 2
    spread = np.sqrt(second * units / (units - 1)) / n * t.ppf(upper, units - 1) / norm.ppf(upper)
    low, high = pearson3.ppf([1 - upper, upper], 2 * third / second**1.5, centre, spread)
    return max(min(low, mean), 0), max(high, mean), np.sqrt(sums @ sums * units / (units - 1)) / n


@pytest.mark.parametrize(
    ("fp", "fn", "level", "clustered"), [(1.0, 4.0, 0.8, True), (3.0, 0.5, 0.95, False)]
)
def test_limits_of_costs_are_those_of_a_mean_of_rows(fp, fn, level, clustered):
    rng = np.random.default_rng(6)
    y, p = rows(rng, 180)
    p = p.clip(0.01, 0.99).round(2)
    cluster = np.arange(180) // 3 if clustered else None
    options = {"cluster": cluster} if clustered else {}
    found = tn.decide(y, p, cost_fp=fp, cost_fn=fn, level=level, **options)
    act = p >= fp / (fp + fn)
    losses = np.where(act, fp * (1 - y), fn * y)
    surprise = (act.sum() * fp + (~act).sum() * fn) / 180
    low, high, error = gamma_limits(losses, surprise, level, cluster)
    assert (found.cost.low, found.cost.high, found.cost.standard_error) == pytest.approx(
        (low, min(high, max(fp, fn)), error), rel=1e-9
    )
    assert found.recalibrated_cost.n == 180
    assert found.miscalibration.value == pytest.approx(
        found.cost.value - found.recalibrated_cost.value
    )
    assert found.most_to_save == pytest.approx(
        (fp + fn) * tn.decision_certificate(y, p, level=level, **options).high
    )
    assert (found.cost_fp, found.cost_fn, found.level, found.n) == (fp, fn, level, 180)


def test_a_score_equal_to_the_threshold_is_acted_on():
    y, p = np.array([0, 1, 0, 1, 1, 0]), np.array([0.2, 0.2, 0.1, 0.6, 0.2, 0.9])
    found = tn.decide(y, p, cost_fp=1, cost_fn=4)
    assert found.threshold == 0.2
    assert found.cost.value == pytest.approx(2 / 6)  # false alarms at 0.2 and 0.9
    assert found.cost.high <= 4


def test_of_equally_cheap_thresholds_the_nearest_to_that_of_the_costs_is_best():
    """From 0.3 to 0.6 there are as many events as others: three thresholds cost the same."""
    y = np.concatenate([[0] * 5, [0, 1] * 4, [0, 1] * 4, [1] * 5])
    p = np.repeat([0.1, 0.3, 0.6, 0.9], [5, 8, 8, 5])
    best = {(1, 1): 0.6, (1.0001, 1): 0.9}
    for (fp, fn), threshold in best.items():
        assert tn.decide(y, p, cost_fp=fp, cost_fn=fn).best_threshold == threshold
