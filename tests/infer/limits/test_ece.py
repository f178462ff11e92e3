"""One-sided limits of the ECE hold, are exact where events are few, and come from rows, clusters and sums."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

import trueness as tn


def limits(y, p=None, *, level=0.95, w=None, **options):
    """The ECE with two limits, each of which holds at `level`."""
    more = {} if w is None else {"sample_weight": w}
    return tn.estimate(
        "ece", y, p, level=round(2 * level - 1, 12), floor=False, seed=0, **options, **more
    )


def simulated(n, error=0.0, seed=0, draw=lambda rng, n: rng.random(n)):
    rng = np.random.default_rng(seed)
    p = draw(rng, n)
    return (rng.random(n) < np.clip(p + error, 0, 1)).astype(int), p


@pytest.mark.parametrize(
    ("labels", "score", "high"),
    [(np.ones(25), 1.0, 1 - 0.05 ** (1 / 25)), (np.zeros(60), 1e-4, 1 - 0.05 ** (1 / 60) - 1e-4)],
)
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_one_class_alone_has_exact_limits(labels, score, high):
    found = limits(labels.astype(int), np.full(labels.size, score), level=0.95)
    assert found.high == pytest.approx(high, rel=1e-9)
    assert found.low == 0


def test_sums_have_the_limits_of_their_rows():
    y, p = simulated(3_000, 0.05)
    p = p.round(3)
    rows = limits(y, p, bins=8)
    assert 0 < rows.low < tn.ece(y, p, bins=8) < rows.high < 0.1
    for sums in (tn.tally(y, p), tn.binned(y, p, bins=8), tn.tally(y, p).coarsen(tn.EqualWidth(8))):
        found = limits(sums, bins=8)
        assert (found.low, found.high) == (rows.low, rows.high)
    sketch = limits(tn.sketch(y, p), bins=8)
    assert (sketch.low, sketch.high) == pytest.approx((rows.low, rows.high), abs=1e-6)
    w = np.arange(3_000) % 3
    weighted, repeated = limits(y, p, w=w), limits(np.repeat(y, w), np.repeat(p, w))
    assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), abs=1e-14)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_single_row_has_no_limits():
    assert (
        limits([1], [0.3]).note
        == "No interval: `y_true` must have at least two rows to be judged; got 1."
    )
    assert limits([0, 1], [0.25, 0.75], bins=2).bounded


SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "low": lambda rng, n: rng.beta(0.3, 3, n),
    "high": lambda rng, n: rng.beta(20, 1, n),
    "rare": lambda rng, n: rng.beta(0.5, 100, n),
}
ERRORS = {
    "none": lambda p: p,
    "half": lambda p: p / 2,
    "twice": lambda p: np.minimum(2 * p, 1),
    "flat": lambda p: 1 / (1 + ((1 - p) / p) ** 0.6),
    "wave": lambda p: np.clip(p + 0.1 * np.sign(np.sin(10 * np.pi * p)), 0, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 300, 2_000])
@pytest.mark.parametrize("scores", SCORES)
def test_either_limit_fails_in_one_of_twenty_at_most(scores, n):
    rng, runs = np.random.default_rng(n), 250
    many = np.clip(SCORES[scores](rng, 500_000), 1e-12, 1 - 1e-12)
    for error in ERRORS.values():
        b = np.minimum((many * 10).astype(int), 9)
        truth = np.abs(np.bincount(b, error(many) - many, 10)).sum() / many.size
        beyond = np.zeros(2)
        for _ in range(runs):
            p = np.clip(SCORES[scores](rng, n), 1e-12, 1 - 1e-12)
            y = (rng.random(n) < error(p)).astype(int)
            y[0] = 1 - y[1]  # no warning about one class
            found = limits(y, p)
            beyond += (found.low > truth, found.high < truth)
        assert beyond.max() <= 0.05 * runs + 3.5 * np.sqrt(0.05 * 0.95 * runs)


OPPOSITE = {
    "0.98 in 30 %, truth 1/2": (0.3, (0.02, 0.98), (0.5, 0.5)),
    "0.98 in 10 %, truth 1/2": (0.1, (0.02, 0.98), (0.5, 0.5)),
    "0.9 in 50 %, truth 0.5 and 0.7": (0.5, (0.1, 0.9), (0.5, 0.7)),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1_000])
@pytest.mark.parametrize("setting", OPPOSITE)
def test_limits_hold_where_errors_cancel_within_a_bin(setting, n):
    """The limits covered 0.81, 0.95 and 0.85 while errors that cancel were left out of the variance."""
    share, scores, rates = OPPOSITE[setting]
    rng, runs, upper = np.random.default_rng(n), 600, np.arange(n) < share * n
    p, q = np.where(upper, scores[1], scores[0]), np.where(upper, rates[1], rates[0])
    truth = abs((q - p).mean())
    covered = 0
    for _ in range(runs):
        found = limits((rng.random(n) < q).astype(int), p, bins=1, level=0.975)
        covered += found.low <= truth <= found.high
    assert covered >= 0.93 * runs


def test_errors_that_cancel_within_a_bin_count_in_the_variance_of_the_labels():
    """100 rows of each of two scores, 40 and 60 of them events: around this line the variance is 0.24."""
    p, y = np.repeat([0.02, 0.78], 100), np.repeat([0, 1, 0, 1], [60, 40, 40, 60])
    variance, noise = 0.24 / 0.99, np.sqrt((0.02 * 0.98 + 0.78 * 0.22) / 2 / 200)
    expected = upper_by_hand(0.1, noise, lambda t: np.sqrt(variance / 200), stats.norm.isf(0.05))
    rows, sums = limits(y, p, bins=1), limits(tn.binned(y, p, bins=1), bins=1)
    assert (rows.value, rows.high, sums.high) == pytest.approx((0.1, expected, expected), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_limits_of_clusters_hold(error):
    rng, runs, beyond = np.random.default_rng(3), 300, np.zeros(2)
    for _ in range(runs):
        cluster = np.repeat(np.arange(60), 8)
        p = np.clip(
            rng.random(60)[cluster] * 0.8 + 0.2 * rng.random(480) * (1 - error), 0, 1 - error
        )
        same = np.where(rng.random(60) < 0.4, rng.random(60), np.nan)[cluster]
        y = (np.where(np.isnan(same), rng.random(480), same) < p + error).astype(int)
        found = limits(y, p, cluster=cluster)
        beyond += (found.low > error, found.high < error)
    assert beyond.max() <= 0.05 * runs + 3.5 * np.sqrt(0.05 * 0.95 * runs)


class ByHand:
    """The sums of bins, in loops over rows, and the limits of the module's formulas."""

    def __init__(self, y, p, edges, w=None):
        w = np.ones(len(y)) if w is None else w
        which = np.minimum(np.searchsorted(edges, p, side="right") - 1, len(edges) - 2)
        of_bin = [[i for i in range(len(y)) if which[i] == b] for b in sorted(set(which))]
        total = sum(w)
        self.n = total**2 / sum(w * w)
        self.share = np.array([sum(w[i] for i in rows) for rows in of_bin]) / total
        self.score = (
            np.array([sum(w[i] * p[i] for i in rows) for rows in of_bin]) / total / self.share
        )
        self.rate = (
            np.array([sum(w[i] * y[i] for i in rows) for rows in of_bin]) / total / self.share
        )
        self.spread = (
            np.array([sum(w[i] * p[i] * (1 - p[i]) for i in rows) for rows in of_bin])
            / total
            / self.share
        )
        self.gap = self.share * (self.rate - self.score)
        self.ece = np.abs(self.gap).sum()
        self.residual = 0.0
        for rows, share in zip(of_bin, self.share, strict=True):
            if self.n * share > 3 + 1e-6:
                x = np.column_stack([np.ones(len(rows)), p[rows]]) * np.sqrt(w[rows])[:, None]
                z = y[rows] * np.sqrt(w[rows])
                left = z - x @ np.linalg.lstsq(x, z, rcond=None)[0]
                self.residual += left @ left / total / (1 - 2 / (self.n * share))

    def normal_upper(self, alpha):
        least = np.minimum(self.spread, self.rate * (1 - self.rate))
        rows = self.n * self.share
        noise = sum(
            s * np.sqrt(v / k)
            for s, v, k in zip(self.share, least, rows, strict=True)
            if v * k >= 5 - 1e-9
        )
        mean, most = self.share @ self.spread, np.abs(1 - 2 * self.score).max()
        return upper_by_hand(
            self.ece,
            noise,
            lambda t: np.sqrt(max(mean + t * most - t * t, self.residual) / self.n),
            stats.norm.isf(alpha),
        )

    def exact_upper(self, alpha):
        up = np.array(list(product((True, False), repeat=self.gap.size)))
        count = self.n * np.where(up, self.rate, 1 - self.rate) @ self.share
        expected = np.where(up, self.score, 1 - self.score) @ self.share
        upper = stats.beta.isf(alpha, count + 1, np.maximum(self.n - count, 1e-9))
        return (np.where(count >= self.n - 1e-9, 1.0, upper) - expected).max()

    def bound_for_many_bins(self, alpha):
        """The ECE, and the most that a Clopper-Pearson limit adds to any rate."""
        count = np.linspace(0, self.n, 20_001)[:-1]
        return self.ece + (stats.beta.isf(alpha, count + 1, self.n - count) - count / self.n).max()


def upper_by_hand(ece, noise, spread, z):
    """The root in θ of E|θ + noise·Z| = max(ECE, E|noise·Z|) + z spread(θ)."""

    def mean(theta):
        return stats.foldnorm.mean(theta / noise, scale=noise) if noise else theta

    value = max(ece, mean(0.0))
    return optimize.brentq(lambda t: mean(t) - value - z * spread(t), 0, 1, xtol=1e-14)


UPPER = {
    "shifted": (2_000, 0.1, lambda p: p),
    "calibrated, below its noise floor": (400, 0.0, lambda p: 0.3 + 0.4 * p),
    "rare events": (1_500, 0.01, lambda p: 0.2 * p**3),
    "small": (90, 0.0, lambda p: p),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "error", "scores"), UPPER.values(), ids=UPPER)
def test_the_upper_limit_solves_the_equation_of_a_single_mean(n, error, scores, weighted):
    rng = np.random.default_rng(n)
    p = scores(rng.random(n))
    y = (rng.random(n) < p + error).astype(int)
    w = 0.5 + (np.arange(n) % 4) if weighted else np.ones(n)
    found = limits(y, p, bins=6, level=0.9, w=w)
    hand = ByHand(y, p, np.arange(7) / 6, w)
    assert found.value == pytest.approx(hand.ece, rel=1e-12)
    assert found.high == pytest.approx(hand.normal_upper(0.1), rel=1e-9)


@pytest.mark.parametrize("n", [400, 20])
def test_the_upper_limit_of_an_ece_of_0_is_that_of_its_noise_floor(n):
    """With 20 rows the variance of the sum is 5, from which on a bin counts."""
    y, p = np.tile([0, 1], n // 2), np.full(n, 0.5)
    floor = np.sqrt(0.25 / n)
    variance = 0.25 / (1 - 2 / n)  # around a line on the scores, at least
    expected = upper_by_hand(0.0, floor, lambda _: np.sqrt(variance / n), stats.norm.isf(0.05))
    assert limits(y, p, bins=1).high == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("swap", [False, True])
def test_from_ten_expected_events_on_the_limit_is_no_longer_the_exact_one(swap):
    y, p = (
        np.repeat([0, 1, 0, 1], [59, 5, 58, 6]),
        np.repeat([1 / 32, 1 / 8], 64),
    )  # 2 + 8 expected, 11 observed
    edges = np.array([0.0, 0.1, 0.2, 1.0])
    for low, exact in ((1 / 32, False), (1 / 33, True)):
        score = np.where(p < 0.1, low, p)
        hand = ByHand(y, score, edges)
        high = hand.exact_upper(0.05) if exact else hand.normal_upper(0.05)
        found = (
            limits(1 - y, 1 - score, bins=np.sort(1 - edges))
            if swap
            else limits(y, score, bins=edges)
        )
        assert found.high == pytest.approx(high, rel=1e-9)


@pytest.mark.parametrize("rows", [50, 100, 200])
def test_ten_expected_events_are_not_fewer_although_a_sum_of_floats_is(rows):
    p, y = np.full(rows, 10 / rows), (np.arange(rows) < 12).astype(int)
    expected = ByHand(y, p, np.array([0.0, 1.0])).normal_upper(0.05)
    assert limits(y, p, bins=1).high == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rows", [186, 187])
def test_three_rows_in_a_bin_have_no_residual_variance(rows):
    """187 (3/187) is more than 3 in floats."""
    some = rows - 3
    p = np.append(np.where(np.arange(some) % 2, 0.02, 0.9), [0.995] * 3)
    y = np.append(np.arange(some) // 2 % 2, [1, 1, 0])
    hand = ByHand(y, p, np.array([0.0, 0.95, 1.0]))
    found = limits(y, p, bins=[0, 0.95, 1]).high
    assert hand.residual > 0.2
    assert found == pytest.approx(hand.normal_upper(0.05), rel=1e-9)


def few_events(bins):
    """Rows at the middle of each bin, few of them with an event, and a mean score of 1 %."""
    rng = np.random.default_rng(bins)
    p = np.repeat((np.arange(bins) + 0.5) / bins / 50, 30)
    y = (rng.random(p.size) < 0.01).astype(int)
    y[0] = 1
    return y, p, np.append(np.arange(bins) / bins / 50, [0.02, 1.0])


@pytest.mark.parametrize("bins", [3, 12])
def test_with_few_events_the_upper_limit_is_the_largest_exact_one_over_all_signs(bins):
    y, p, edges = few_events(bins)
    expected = ByHand(y, p, edges).exact_upper(0.05)
    assert limits(y, p, bins=edges).high == pytest.approx(expected, rel=1e-9)


def test_with_few_events_in_more_than_twelve_bins_the_upper_limit_allows_for_any_rate():
    y, p, edges = few_events(13)
    hand = ByHand(y, p, edges)
    found = limits(y, p, bins=edges).high
    assert found == pytest.approx(hand.bound_for_many_bins(0.05), rel=1e-5)
    assert found > hand.exact_upper(0.05) * 1.0001


def noise_by_hand(rows, rate):
    """Every combination of events: their deviations from the expected number over n, and their probability."""
    events = np.stack([e.ravel() for e in np.meshgrid(*(np.arange(k + 1) for k in rows))], axis=1)
    return (events - rows * rate) / sum(rows), stats.binom.pmf(events, rows, rate).prod(axis=1)


def one_change(gap):
    signs = [[1] * k + [-1] * (gap.shape[1] - k) for k in range(gap.shape[1])]
    return np.max([np.abs(gap @ s) for s in signs], axis=0)


def quantile(values, chance, level):
    order = np.argsort(values)
    return values[order][np.searchsorted(np.cumsum(chance[order]), level - 1e-12)]


# Events of three bins of 20, 30 and 24 rows: a shift; one change of sign; two changes, which only the first limit sees.
LOWER = {
    "shift": (1, 9, 14),
    "one change": (1, 9, 23),
    "two changes": (15, 4, 23),
    "none": (10, 15, 12),
}


@pytest.mark.parametrize("events", LOWER.values(), ids=LOWER)
@pytest.mark.parametrize("level", [0.9, 0.9999])
def test_the_lower_limit_is_the_larger_of_two_that_take_off_the_noise(events, level):
    rows, score = (20, 30, 24), np.array([0.3, 0.5, 0.7])
    y = np.concatenate([np.arange(k) < e for k, e in zip(rows, events, strict=True)]).astype(int)
    found = limits(y, np.repeat(score, rows), bins=[0, 0.4, 0.6, 1], level=level).low
    rate = np.array(events) / rows
    wider = np.where(rate * (1 - rate) > score * (1 - score), rate, score)
    noise, chance = noise_by_hand(rows, wider)
    gap = (rows * (rate - score) / sum(rows))[np.newaxis]
    alpha = (1 - level) / 2
    ends = []
    for off in (-0.3, 0.3):  # 4,000 draws find a quantile to within a third of its error rate
        both = []
        for value, one in (
            (np.abs(gap).sum(), np.abs(noise).sum(axis=1)),
            (one_change(gap)[0], one_change(noise)),
        ):
            if (
                level > 0.99
            ):  # beyond the draws: the mean, and normal quantiles of the spread of all rows together
                sd = np.sqrt((rows * wider * (1 - wider)).sum()) / sum(rows)
                mean = chance @ one
                both.append(
                    value - mean - (stats.norm.isf(alpha) * sd) + off * 4 * mean / np.sqrt(4_000)
                )
            else:
                both.append(value - quantile(one, chance, 1 - alpha * (1 + off)))
        ends.append(max(*both, 0.0))
    assert min(ends) - 1e-12 <= found <= max(ends) + 1e-12


def test_a_quantile_of_twenty_draws_or_more_is_taken_from_the_draws():
    """At level 0.99, α/2 of 4,000 draws are 20; with many bins the bound for quantiles further out is much larger."""
    score = (np.arange(60) + 0.5) / 60
    p, y = np.repeat(score, 20), np.repeat(np.arange(60) % 2, 20)
    noise = (
        np.abs(np.random.default_rng(0).binomial(20, score, (8_000, 60)) - 20 * score).sum(axis=1)
        / p.size
    )
    estimate = tn.ece(y, p, bins=60)
    found = limits(y, p, bins=60, level=0.99).low
    assert found == pytest.approx(estimate - np.quantile(noise, 0.995), abs=0.002)
    far = limits(y, p, bins=60, level=0.9901).low
    spread = np.sqrt((20 * score * (1 - score)).sum()) / p.size
    assert far == pytest.approx(
        estimate - noise.mean() - stats.norm.isf(0.0099 / 2) * spread, abs=0.0005
    )
    assert far < found - 0.002


def clustered_by_hand(y, p, cluster, w, edges):
    """The covariance over clusters of the gaps of the bins, and the gaps."""
    which = np.minimum(np.searchsorted(edges, p, side="right") - 1, len(edges) - 2)
    total, names = w.sum(), np.unique(cluster)
    gap = np.array([(w * (y - p))[which == b].sum() for b in np.unique(which)]) / total
    influence = np.array(
        [
            [
                (w * (y - p))[(which == b) & (cluster == g)].sum() - d * w[cluster == g].sum()
                for g in names
            ]
            for b, d in zip(np.unique(which), gap, strict=True)
        ]
    )
    return gap, influence @ influence.T / total**2 * names.size / (names.size - 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clusters", [9, 60])
@pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")
def test_the_limits_of_clusters_use_their_covariance_and_student_s_t(clusters, weighted):
    rng = np.random.default_rng(clusters)
    cluster = np.repeat(np.arange(clusters), 1 + np.arange(clusters) % 9)
    n = cluster.size
    p = rng.random(clusters)[cluster] * 0.9 + 0.1 * rng.random(n)
    y = (rng.random(clusters)[cluster] < p).astype(int)
    p = 0.7 * p + 0.3 * (1 - y)  # an error far from 0
    w = 0.5 + np.arange(n) % 2 if weighted else np.ones(n)
    edges = np.array([0, 0.3, 0.6, 1])
    found = limits(y, p, bins=edges, cluster=cluster, level=0.9, w=w if weighted else None)
    gap, covariance = clustered_by_hand(y, p, cluster, w, edges)
    own = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(own, own)
    worst = min(np.abs(covariance).sum(), np.linalg.eigvalsh(correlation).max() * (own @ own))
    sizes = np.array([w[cluster == g].sum() for g in range(clusters)])
    t = stats.t(sizes.sum() ** 2 / (sizes @ sizes) - 1)
    high = upper_by_hand(np.abs(gap).sum(), own.sum(), lambda _: np.sqrt(worst), t.isf(0.1))
    assert found.value == pytest.approx(np.abs(gap).sum(), rel=1e-12)
    assert found.high == pytest.approx(high, rel=1e-9)
    noise = (
        rng.multivariate_normal(np.zeros(gap.size), covariance, 40_000)
        * t.isf(0.1)
        / stats.norm.isf(0.1)
    )
    ends = [
        max(
            np.abs(gap).sum() - np.quantile(np.abs(noise).sum(axis=1), 1 - tail),
            one_change(gap[np.newaxis])[0] - np.quantile(one_change(noise), 1 - tail),
            0,
        )
        for tail in (0.038, 0.064)
    ]
    assert ends[0] <= found.low <= ends[1]


def test_limits_of_clusters_are_never_narrower_than_those_of_independent_rows():
    """The labels of each pair cancel, so that clusters do not vary at all."""
    y, p = np.tile([0, 1], 150), np.repeat([0.5, 0.6, 0.7], 100)
    edges = [0, 0.55, 0.65, 1]
    alone, pairs = (limits(y, p, bins=edges, cluster=c) for c in (None, np.arange(300) // 2))
    assert pairs.high == pytest.approx(alone.high, rel=1e-12)
    assert pairs.low == pytest.approx(alone.low, abs=0.003)
    assert pairs.value == pytest.approx(0.1)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_an_upper_limit_is_at_most_1():
    p = np.repeat(np.arange(1, 15) / 10_000, 2)
    for cluster in (None, np.arange(28)):
        found = limits(np.ones(28, int), p, bins=tn.EqualMass(14), cluster=cluster)
        assert found.value > 0.998
        assert found.high == 1


@pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")
def test_two_clusters_have_one_degree_of_freedom():
    y, p = np.repeat([0, 1, 0, 1], [105, 100, 80, 90]), np.full(375, 0.5)
    found = limits(y, p, level=0.9, cluster=np.repeat([0, 1], [205, 170]))
    gap, covariance = clustered_by_hand(
        y, p, np.repeat([0, 1], [205, 170]), np.ones(375), np.array([0, 1])
    )
    own = np.sqrt(covariance[0, 0])
    assert found.high == pytest.approx(
        upper_by_hand(abs(gap[0]), own, lambda _: own, stats.t.isf(0.1, 1))
    )


def test_rates_too_close_to_the_scores_are_in_the_lower_tail_of_chi_square():
    """Bins whose residuals have a variance below 5 do not count."""
    rng = np.random.default_rng(0)
    p = np.concatenate(
        [np.full(20, 0.5), 0.2 + 0.1 * rng.random(60), np.repeat([0.7, 0.9], 50), np.full(45, 0.95)]
    )
    y = (rng.random(p.size) < p).astype(int)
    edges, squares = [0, 0.15, 0.3, 0.6, 0.92, 1], 0.0
    for low, high in ((0.15, 0.3), (0.3, 0.6), (0.6, 0.92)):
        some = (p >= low) & (p < high)
        squares += (y[some] - p[some]).sum() ** 2 / (p[some] * (1 - p[some])).sum()
    found = tn.equivalence_test(
        tn.binned(y, p, bins=edges), within=0.5, criterion="ece", bins=edges
    )
    assert found.too_good == pytest.approx(stats.chi2.cdf(squares, 3), rel=1e-9)
    few = tn.equivalence_test(
        tn.binned(y[:19], p[:19], bins=2), within=0.9, criterion="ece", bins=2
    )
    assert few.too_good is None


@pytest.mark.parametrize("seed", [1, 20])
def test_a_typical_error_that_is_shown_but_not_estimated_has_an_open_lower_limit(seed):
    """Zero is rejected, and an estimate of 0 leaves no other lower limit."""
    rng = np.random.default_rng(seed)
    p = rng.random(60)
    error = 0.13 if seed < 20 else 0.0
    y = (rng.random(60) < np.clip(p + error * np.sign(p - 0.5), 0, 1)).astype(int)
    found = tn.estimate("l2", y, p, floor=False)
    interval = tn.ece_interval(y, p)
    assert found.low == 0
    assert found.low_open is (not interval.includes_zero)
    assert found.low_open is (seed < 20)
    assert (0 in found) is not found.low_open
    far = tn.estimate("l2", np.arange(60) > 2, np.full(60, 0.3), floor=False)
    assert far.low > 0
    assert not far.low_open
