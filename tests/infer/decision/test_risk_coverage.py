"""Risk against coverage: the area by its definition, its influence by deleting rows, and the coverage of its limits."""

import math

import numpy as np
import pytest
from scipy.stats import beta, norm, pearson3, t

import trueness as tn


def slow_aurc(loss, confidence):
    """The mean over all coverages of the risk, over all orders of tied rows."""
    _, group = np.unique(-confidence, return_inverse=True)
    shared = (np.bincount(group, loss) / np.bincount(group))[np.sort(group)]
    return (np.cumsum(shared) / np.arange(1, loss.size + 1)).mean()


@pytest.mark.parametrize("digits", [1, 2, 9])
def test_the_area_is_the_mean_risk_over_all_coverages(digits):
    rng = np.random.default_rng(digits)
    confidence = rng.uniform(size=60).round(digits)
    correct = rng.integers(0, 2, 60)
    found = tn.risk_coverage(correct, confidence, kind="correct")
    assert found.aurc.value == pytest.approx(slow_aurc(1 - correct, confidence), abs=1e-14)
    ideal = slow_aurc(np.sort(1 - correct), -np.arange(60.0))
    assert found.excess == pytest.approx(found.aurc.value - ideal, abs=1e-14)
    assert found.aurc.low <= found.aurc.value <= found.aurc.high
    accepted = confidence >= found.threshold[3]
    assert found.coverage[3] == pytest.approx(accepted.mean())
    assert found.risk[3] == pytest.approx(1 - correct[accepted].mean())


@pytest.mark.parametrize("digits", [1, 9])
def test_the_standard_error_is_that_of_leaving_rows_out(digits):
    rng = np.random.default_rng(5)
    confidence = rng.uniform(size=400).round(digits)
    correct = rng.uniform(size=400) < confidence
    found = tn.risk_coverage(correct, confidence, kind="correct").aurc
    loss = 1.0 - correct
    left = np.array(
        [slow_aurc(np.delete(loss, i), np.delete(confidence, i)) for i in range(0, 400, 4)]
    )
    jackknife = np.sqrt(399 / 400 * ((left - left.mean()) ** 2).sum() * 4)
    assert found.standard_error == pytest.approx(jackknife, rel=0.15)


def test_scores_are_answered_by_the_likelier_label_and_a_matrix_by_its_largest():
    y, p = np.array([1, 0, 0, 1, 1]), np.array([0.9, 0.2, 0.6, 0.4, 0.5])
    binary = tn.risk_coverage(y, p)
    pairs = tn.risk_coverage([1, 1, 0, 0, 1], [0.9, 0.8, 0.6, 0.6, 0.5], kind="correct")
    assert binary.aurc.value == pytest.approx(pairs.aurc.value)
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]])
    matrix = tn.risk_coverage([0, 2, 2], P)
    assert matrix.coverage.tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert matrix.risk.tolist() == pytest.approx([0, 1 / 2, 1 / 3])


def test_a_tally_is_enough_and_bins_are_not():
    rng = np.random.default_rng(8)
    p = rng.uniform(size=80).round(2)
    y = rng.uniform(size=80) < p
    for options in ({}, {"kind": "correct"}):
        rows, found = tn.risk_coverage(y, p, **options), tn.risk_coverage(tn.tally(y, p), **options)
        assert found.aurc == rows.aurc
        assert found.risk.tolist() == rows.risk.tolist()
    with pytest.raises(tn.InputError, match="needs every distinct score; bins do not keep them"):
        tn.risk_coverage(tn.binned(y, p))
    with pytest.raises(
        tn.InputError, match="`sample_weight` must be whole numbers, which count rows"
    ):
        tn.risk_coverage(y, p, sample_weight=p + 0.5)


def test_clusters_of_one_row_are_rows_and_pairs_count_once():
    rng = np.random.default_rng(9)
    p = rng.uniform(size=200).round(2)
    y = rng.uniform(size=200) < p
    plain = tn.risk_coverage(y, p).aurc
    single = tn.risk_coverage(y, p, cluster=np.arange(200)).aurc
    assert (single.low, single.high) == pytest.approx((plain.low, plain.high))
    twice = tn.risk_coverage(
        np.repeat(y, 2), np.repeat(p, 2), cluster=np.repeat(np.arange(200), 2)
    ).aurc
    assert twice.standard_error == pytest.approx(plain.standard_error, rel=0.02)


@pytest.mark.parametrize("clustered", [False, True])
def test_differences_between_models_are_paired(clustered):
    rng = np.random.default_rng(10)
    p = rng.uniform(size=160)
    y = rng.uniform(size=160) < p
    models = {"a": p, "b": np.clip(p + rng.normal(0, 0.2, 160), 0, 1).round(1), "same": p}
    cluster = np.arange(160) // 2 if clustered else None
    found = tn.risk_coverage(y, models, cluster=cluster)
    alone = tn.risk_coverage(y, p, cluster=cluster)
    assert found.aurc["a"] == alone.aurc
    assert found.coverage["a"].tolist() == alone.coverage.tolist()
    value, low, high = found.differences["a", "b"]
    assert value == pytest.approx(found.aurc["a"].value - found.aurc["b"].value)
    assert low < value < high
    # Leaving out one row, or one cluster, at a time.
    units = np.arange(160) if cluster is None else cluster
    left = []
    answers = {
        name: (np.where(q >= 0.5, 1 - y, y), np.maximum(q, 1 - q)) for name, q in models.items()
    }
    for i in range(units.max() + 1):
        a, b = (
            slow_aurc(loss[units != i], c[units != i]) for loss, c in (answers["a"], answers["b"])
        )
        left.append(a - b)
    jackknife = np.sqrt(((np.array(left) - np.mean(left)) ** 2).sum())
    assert (high - low) / 2 == pytest.approx(1.97 * jackknife, rel=0.2)
    value, low, high = found.differences["a", "same"]
    assert low < value == 0 < high < 0.02
    assert str(found).count("\n") == 5
    assert "a less b: −" in str(found)
    with pytest.raises(tn.InputError, match="`y_prob` must hold at least one model"):
        tn.risk_coverage(y, {})


def test_equal_confidences_have_the_error_rate():
    found = tn.risk_coverage([1, 1, 0, 1], [0.8] * 4, kind="correct")
    assert found.aurc.value == pytest.approx(0.25)
    assert (found.coverage.tolist(), found.risk.tolist()) == ([1.0], [0.25])


def test_wrong_answers_alone_do_not_show_that_all_would_be_wrong():
    n = 50
    found = tn.risk_coverage(np.zeros(n, int), np.arange(n) / n, kind="correct").aurc
    assert found.low < 0.025 ** (
        1 / n
    )  # with this rate of errors and no order, all are wrong in 2.5 % of samples
    assert found.high == found.value == 1


@pytest.mark.parametrize("copies", [1, 5])
def test_without_an_error_half_a_row_may_be_wrong_among_the_four_most_confident(copies):
    n = 400
    cluster = {} if copies == 1 else {"cluster": np.repeat(np.arange(n), copies)}
    confidence = np.repeat(np.linspace(0.5, 1, n), copies)
    found = tn.risk_coverage(np.ones(n * copies, int), confidence, kind="correct", **cluster).aurc
    # A wrong row at place j adds 1/j + 1/(j + 1) + … + 1/n.
    weight = [sum(1 / k for k in range(j, n + 1)) for j in (1, 2, 3, 4)]
    if copies == 1:
        assert found.high == pytest.approx(np.mean(weight) * beta.ppf(0.975, 0.5, n), rel=1e-6)
    else:  # copies share the mean of their weights
        assert found.high == pytest.approx(np.mean(weight) * beta.ppf(0.975, 0.5, n), rel=0.1)
    assert found.low == found.value == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 400])
@pytest.mark.parametrize(
    ("share", "rate", "others"), [(0.01, 0.5, 0.02), (0.005, 0.8, 0.01), (0.02, 0.3, 0.03)]
)
def test_limits_of_the_area_cover_where_the_most_confident_are_often_wrong(share, rate, others, n):
    """Student's limits covered .87 to .91 here; these .95 to .98 (400 samples, benchmarks/run.py rare-losses)."""
    rng, many, runs = np.random.default_rng(8), 10**6, 300

    def wrong(u):
        return np.where(u > 1 - share, rate, others)

    risk = wrong(1 - (np.arange(many) + 0.5) / many)
    truth = (np.cumsum(risk) / np.arange(1, many + 1)).mean()
    covered = 0
    for _ in range(runs):
        u = rng.uniform(size=n)
        covered += (
            truth in tn.risk_coverage(rng.uniform(size=n) >= wrong(u), u, kind="correct").aurc
        )
    assert covered / runs >= 0.94 - 3 * np.sqrt(0.94 * 0.06 / runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    ["calibrated", "few errors", "few values", "errors anywhere", "errors at the top", "few right"],
)
@pytest.mark.parametrize("n", [100, 400])
def test_limits_of_the_area_cover(law, n):
    rng = np.random.default_rng(7)

    def draw(size):
        c = rng.beta(30, 1, size) if law == "few errors" else rng.uniform(0.5, 1, size)
        if law == "few values":
            c = c.round(1)
        if law == "errors anywhere":
            return rng.uniform(size=size) < 0.95, c
        if law == "few right":
            return rng.uniform(size=size) < 0.05, c
        if law == "errors at the top":
            return rng.uniform(size=size) < np.where(c > 0.95, 0.8, 0.98), c
        return rng.uniform(size=size) < c, c

    truth = tn.risk_coverage(*draw(1_000_000), kind="correct").aurc.value
    runs = 300
    covered = sum(truth in tn.risk_coverage(*draw(n), kind="correct").aurc for _ in range(runs))
    assert covered / runs >= 0.92 - 2 * np.sqrt(0.05 * 0.95 / runs)


def judged(rng, n=3_000, humans=300, right=0.95):
    confidence = rng.uniform(0.5, 1, n)
    correct = (rng.random(n) < confidence).astype(float)
    judge = np.where(rng.random(n) < right, correct, 1 - correct)
    return np.where(np.arange(n) < humans, correct, np.nan), confidence, judge, correct


def test_a_judge_moves_the_area_towards_that_of_all_rows():
    rng = np.random.default_rng(0)
    human, confidence, judge, correct = judged(rng, right=0.98)
    found = tn.risk_coverage(human, confidence, kind="correct", judge=judge)
    alone = tn.risk_coverage(correct[:300], confidence[:300], kind="correct").aurc
    area = found.aurc
    assert area.high - area.low < 0.95 * (alone.high - alone.low)
    useless = tn.risk_coverage(human, confidence, kind="correct", judge=rng.random(3_000) < 0.5)
    assert useless.aurc.value == pytest.approx(alone.value, abs=0.01)
    perfect = tn.risk_coverage(human, confidence, kind="correct", judge=correct)
    every = tn.risk_coverage(correct, confidence, kind="correct")
    assert perfect.aurc.value == pytest.approx(every.aurc.value, abs=0.005)
    assert perfect.risk[-1] == pytest.approx(1 - correct.mean(), abs=0.01)
    assert found.coverage[-1] == 1
    assert found.coverage.size <= 40
    assert "300 human labels, and a judge's of 3,000 rows." in area.note


def test_labels_of_all_rows_leave_nothing_for_the_judge_to_add():
    human, confidence, judge, correct = judged(np.random.default_rng(1), n=400, humans=400)
    found = tn.risk_coverage(human, confidence, kind="correct", judge=judge).aurc
    alone = tn.risk_coverage(correct, confidence, kind="correct").aurc
    ends = [found.value, found.low, found.high]
    assert ends == pytest.approx([alone.value, alone.low, alone.high])


def test_labels_of_the_event_are_judged_as_answers():
    rng = np.random.default_rng(2)
    p = rng.random(1_000)
    y = (rng.random(1_000) < p).astype(float)
    human = np.where(np.arange(1_000) < 200, y, np.nan)
    found = tn.risk_coverage(human, p, judge=y)
    top = np.maximum(p, 1 - p)
    right = np.where(p >= 0.5, y, 1 - y)
    same = tn.risk_coverage(
        np.where(np.isnan(human), np.nan, right), top, kind="correct", judge=right
    )
    assert found.aurc.value == pytest.approx(same.aurc.value)
    assert found.risk == pytest.approx(same.risk)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": [1]}, "`judge` must have one entry per row"),
        ({"judge": [0.2, 1]}, "`judge` must be 0 or 1.*Scores need a cut first"),
        ({"judge": [0, 1], "sample_weight": [1, 1]}, "`sample_weight` must be left out"),
        ({"judge": [0, 1], "y_prob": {"a": [0.1, 0.2]}}, "`judge` needs the rows of one model"),
        ({"judge": [0, 1], "y_true": [None, None]}, "`y_true` must have a label in at least one"),
    ],
)
def test_bad_input_with_a_judge(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.risk_coverage(**{"y_true": [0, 1], "y_prob": [0.4, 0.6], **options})


@pytest.mark.slow
@pytest.mark.parametrize("right", [0.5, 0.92, 1.0])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_area_with_a_judge_is_covered(right):
    runs = 200
    covered = 0
    # Calibrated confidences from ½ to 1: the risk at coverage c is c/4, its mean 1/8.
    for seed in range(runs):
        human, confidence, judge, _ = judged(np.random.default_rng(seed), right=right)
        found = tn.risk_coverage(human, confidence, kind="correct", judge=judge)
        covered += 0.125 in found.aurc
    assert covered / runs >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / runs)


def test_a_judge_that_never_objects_leaves_the_area_of_the_humans():
    rng = np.random.default_rng(5)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    human = np.where(np.arange(120) % 3 == 0, y, np.nan)
    judged = tn.risk_coverage(human, p, kind="correct", judge=np.ones(120))
    alone = tn.risk_coverage(y[::3], p[::3], kind="correct")
    assert judged.aurc.value == alone.aurc.value
    assert (judged.aurc.low, judged.aurc.high) == (alone.aurc.low, alone.aurc.high)
    assert judged.excess == pytest.approx(alone.excess)


def test_the_excess_area_with_a_judge_is_over_the_best_order_of_the_human_labels():
    rng = np.random.default_rng(6)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    human = np.where(np.arange(120) % 3 == 0, y, np.nan)
    judged = tn.risk_coverage(human, p, kind="correct", judge=p > 0.4)
    alone = tn.risk_coverage(y[::3], p[::3], kind="correct")
    assert judged.aurc.value != alone.aurc.value
    best = alone.aurc.value - alone.excess
    assert judged.aurc.value - judged.excess == pytest.approx(best)


def test_humans_that_find_no_error_leave_an_area_of_zero_whatever_the_judge_says():
    p = np.random.default_rng(0).random(200)
    human = np.where(np.arange(200) % 3 == 0, 1.0, np.nan)
    judged = tn.risk_coverage(human, p, kind="correct", judge=p > 0.2)
    alone = tn.risk_coverage(np.ones(67), p[::3], kind="correct")
    assert (judged.aurc.value, judged.aurc.low) == (0, 0)
    assert judged.aurc.high == alone.aurc.high > 0


def influences(wrong, confidence):
    """What each row adds to the area, less the mean, group by group of equal confidence."""
    n = wrong.size
    harmonic = np.r_[0, np.cumsum(1 / np.arange(1, n + 1))]
    groups = [np.flatnonzero(confidence == c) for c in np.unique(confidence)[::-1]]
    reached = np.cumsum([rows.size for rows in groups])
    above = reached - [rows.size for rows in groups]
    rate = np.array([wrong[rows].mean() for rows in groups])
    log = np.array([math.log(b / a) if a else 0.0 for a, b in zip(above, reached, strict=True)])
    area = slow_aurc(wrong, confidence)
    found = np.empty(n)
    possible = np.empty(n)
    for g, rows in enumerate(groups):
        below = rate[g] - rate[g] * log[g] * above[g] / rows.size + (rate * log)[g + 1 :].sum()
        weight = np.mean([harmonic[n] - harmonic[j] for j in range(above[g], reached[g])])
        found[rows] = wrong.mean() - area - below + wrong[rows] * weight
        possible[rows] = wrong.mean() - area - below + weight
    return area, found, possible


def gamma_limits(values, surprise, level, cluster):
    """Limits of a mean with half a unit of the value `surprise` added, by three moments."""
    n, mean = values.size, values.mean()
    names = np.unique(cluster)
    sums = np.array([(values - mean)[cluster == name].sum() for name in names])
    units = n**2 / sum((cluster == name).sum() ** 2 for name in names)
    unit = min(max((sums**2).sum() / ((values - mean) ** 2).sum(), 1), n / units)
    centre = (n * mean + unit / 2 * surprise) / (n + unit / 2)
    added = unit * (surprise - centre)
    second, third = (sums**2).sum() + added**2 / 2, (sums**3).sum() + added**3 / 2
    upper = (1 + level) / 2
    spread = math.sqrt(second * units / (units - 1)) / n
    spread *= t.ppf(upper, units - 1) / norm.ppf(upper)
    low, high = pearson3.ppf([1 - upper, upper], 2 * third / second**1.5, centre, spread)
    error = math.sqrt((sums**2).sum() * units / (units - 1)) / n
    return max(low, 0), high, error, unit


@pytest.mark.parametrize(
    ("digits", "clustered", "level"), [(1, True, 0.8), (1, False, 0.95), (6, True, 0.95)]
)
def test_the_limits_are_those_of_the_mean_of_the_influences(digits, clustered, level):
    rng = np.random.default_rng([3, digits])
    confidence = rng.uniform(size=90).round(digits)
    wrong = (rng.random(90) > 0.3 + 0.6 * confidence).astype(float)
    cluster = rng.integers(0, 30, 90) if clustered else np.arange(90)
    options = {"cluster": cluster} if clustered else {}
    found = tn.risk_coverage(1 - wrong, confidence, kind="correct", level=level, **options).aurc
    area, moved, possible = influences(wrong, confidence)
    values = area + moved
    low, _, error, unit = gamma_limits(values, 1.0, level, cluster)
    _, high, _, _ = gamma_limits(values, 3.0, level, cluster)
    _, mirrored, _, _ = gamma_limits(1 - values, 1 + 2 * area, level, cluster)
    assert (found.value, found.standard_error) == pytest.approx((area, error), rel=1e-9)
    assert found.low == pytest.approx(max(min(low, 1 - mirrored, area), 0), rel=1e-9, abs=1e-12)
    left, worst = 4 * unit, 0.0
    for loss in np.sort(area + possible)[::-1]:
        worst += min(1, left) * loss / (4 * unit)
        left = max(left - 1, 0)
    weight = np.random.default_rng(0).gamma(np.r_[np.full(90, 1 / unit), 0.5], size=(20_000, 91))
    drawn = weight @ np.append(values, worst) / weight.sum(axis=1)
    gaffke = np.quantile(drawn, (1 + level) / 2)
    assert found.high == pytest.approx(max(high, gaffke, area), rel=0.02)


def test_the_differences_have_limits_by_students_t_with_half_a_row_added():
    rng = np.random.default_rng(12)
    p = rng.random(80).round(1)
    y = (rng.random(80) < p).astype(int)
    q = np.clip(p + rng.normal(0, 0.3, 80), 0, 1).round(1)
    for cluster in (None, np.arange(80) // 2):
        codes = np.arange(80) if cluster is None else cluster
        options = {} if cluster is None else {"cluster": cluster}
        found = tn.risk_coverage(y, {"a": p, "b": q}, level=0.9, **options).differences["a", "b"]
        areas, effects = [], []
        for score in (p, q):
            wrong = np.where(score >= 0.5, 1 - y, y).astype(float)
            area, moved, _ = influences(wrong, np.maximum(score, 1 - score))
            areas.append(area)
            effects.append(moved)
        change = effects[0] - effects[1]
        change -= change.mean()
        sums = np.bincount(codes, change)
        unit = min(max((sums**2).sum() / (change**2).sum(), 1), 80 / sums.size)
        error = math.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / 80
        half = t.isf(0.05, sums.size - 1) * math.hypot(error, 0.5 * unit / 80)
        value = areas[0] - areas[1]
        assert found.tolist() == pytest.approx([value, value - half, value + half], rel=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("right", [0.9, 0.2])
def test_a_judge_moves_the_area_by_a_slope_and_shortens_the_limits(right, clustered):
    rng = np.random.default_rng(5)
    confidence = rng.uniform(size=240).round(2)
    wrong = (rng.random(240) > 0.2 + 0.7 * confidence).astype(float)
    doubted = np.where(rng.random(240) < right, wrong, 1 - wrong)
    known = np.arange(240) % 3 == 0
    cluster = np.arange(240) // 6 if clustered else np.arange(240)
    options = {"cluster": cluster} if clustered else {}
    human = np.where(known, 1 - wrong, np.nan)
    found = tn.risk_coverage(human, confidence, kind="correct", judge=1 - doubted, **options).aurc
    few = {"cluster": cluster[known]} if clustered else {}
    alone = tn.risk_coverage(1 - wrong[known], confidence[known], kind="correct", **few).aurc
    _, by_human, _ = influences(wrong[known], confidence[known])
    of_judge, by_judge, _ = influences(doubted[known], confidence[known])
    of_all = slow_aurc(doubted[np.argsort(-confidence)], -np.sort(-confidence))
    a, b = (
        np.bincount(np.unique(cluster[known], return_inverse=True)[1], v - v.mean())
        for v in (by_human, by_judge)
    )
    errors = min(wrong[known].sum(), 80 - wrong[known].sum())
    trust = errors / (errors + 3)
    slope = trust * (a @ b) / (b @ b)
    gain = trust * (2 * slope * (a @ b) - slope**2 * (b @ b)) * (1 - 80 / 240)
    shorter = math.sqrt(1 - max(gain, 0) / (a @ a))
    value = alone.value + slope * (of_all - of_judge)
    assert (found.value, found.standard_error) == pytest.approx(
        (value, shorter * alone.standard_error), rel=1e-9
    )
    assert (found.low, found.high) == pytest.approx(
        (value - shorter * (alone.value - alone.low), value + shorter * (alone.high - alone.value)),
        rel=1e-9,
    )
