"""`powered` against a slow reference: errors, limits, gaps, the test of the sample, and the p-value."""

import math

import numpy as np
import pytest
from grids import fast
from scipy import stats
from scipy.special import expit, logit

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def world(rows, humans, *, law=(2, 1), clusters=None, chance=False, odds=1.0, right=0.8, seed=0):
    """Scores, labels, a judge that is often wrong, and which rows a human looked at."""
    rng = np.random.default_rng([seed, rows])
    p = rng.beta(*law, rows)
    y = (rng.random(rows) < odds * p / (1 - p + odds * p)).astype(float)
    judge = np.where(rng.random(rows) < right, y, 1 - y) + 0.3 * rng.integers(0, 2, rows)
    probability = 0.2 + 0.6 * p if chance else np.full(rows, 0.5)
    first = np.argsort(rng.random(rows) / probability)[:humans]
    human = np.full(rows, np.nan)
    human[first] = y[first]
    cluster = np.arange(rows) if clusters is None else rng.integers(0, clusters, rows)
    return human, judge, p, probability if chance else None, cluster


class ByHand:
    """The rows, the predictions of their labels, and what follows for any mean."""

    def __init__(self, human, judge, p, chance, cluster):
        known = ~np.isnan(human)
        weight = known / (1 if chance is None else chance)
        self.p, self.cluster = p, cluster
        self.y = np.where(known, human, 0.0)
        self.share = weight / weight.sum()
        self.judge = judge - judge.mean()
        s, c = np.sqrt(p * (1 - p)), p - 0.5
        x = np.stack([s, s * c, s * self.judge, s * c * self.judge, self.judge], axis=1)
        x /= np.sqrt((x**2).mean(axis=0))
        w = self.share * known.sum()
        self.m = np.empty(p.size)
        for name in np.unique(cluster):
            others = cluster != name
            square = np.eye(5) + (x[others].T * w[others]) @ x[others]
            product = x[others].T @ (w * (self.y - p))[others]
            mine = cluster == name
            self.m[mine] = p[mine] + x[mine] @ np.linalg.solve(square, product)

    def numbers(self, base, factor, *, ratio=0.0, inside=None, level=0.9, alone=False):
        """Value, limits, variance and its part that labels have, of mean(base + factor (y − p))."""
        inside = np.ones(self.p.size, bool) if inside is None else inside
        p, y, cluster = self.p[inside], self.y[inside], self.cluster[inside]
        m = p if alone else self.m[inside]
        share = self.share[inside] / self.share[inside].sum()
        base, n = np.broadcast_to(base, self.p.shape)[inside], p.size
        by = np.broadcast_to(factor, self.p.shape)[inside]
        error = share @ (by * (y - m))
        value = (base + by * (m - p)).mean() + error
        units = 1 / sum(share[cluster == name].sum() ** 2 for name in np.unique(cluster))
        labels = share * (by * (y - m) - error)
        rows = (base + by * (m - p) - ratio * p) / n
        rows = rows - rows.mean()

        def squares(terms):
            return sum(terms[cluster == name].sum() ** 2 for name in np.unique(cluster))

        near = min(0.5, 4 / units)
        clipped = np.clip(m, near * p, 1 - near * (1 - p))
        floor = (by**2 * clipped * (1 - clipped)).mean() / units
        inflation = units / max(units - 1, 0.5)
        variance = max(squares(rows + labels) * inflation, floor)
        of_labels = max(squares(labels) * inflation, floor)
        value = min(max(value, 0), 1)
        row = value * (1 - value)
        if np.ndim(factor) == 0:
            row = max(row, clipped.mean() * (1 - clipped.mean()))
        tail = (1 - level) / 2
        size = min(row / variance, n)
        size *= (stats.norm.ppf(tail) / stats.t.ppf(tail, units - 1)) ** 2
        low = stats.beta.ppf(tail, value * size, size - value * size + 1) if value else 0.0
        high = stats.beta.isf(tail, value * size + 1, size - value * size) if value < 1 else 1.0
        return value, low, high, variance, of_labels


SETTINGS = {
    "rows": {},
    "chances": {"chance": True},
    "clusters": {"clusters": 70},
    "clusters and chances": {"clusters": 90, "chance": True},
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_number_has_the_limits_of_its_variance(setting):
    given = world(260, 110, **setting)
    human, judge, p, chance, cluster = given
    named = {} if setting.get("clusters") is None else {"cluster": cluster}
    found = tn.powered(human, judge, p, human_prob=chance, bins=3, level=0.9, **named)
    hand = ByHand(*given)
    rate = hand.numbers(p, 1.0)
    ratio = hand.numbers(p, 1.0, ratio=rate[0] / p.mean())
    brier = hand.numbers(p * (1 - p), 1 - 2 * p)
    alone = hand.numbers(p, 1.0, alone=True)
    for estimate, expected, unit, name in (
        (found.event_rate, rate, 1, "event_rate"),
        (found.observed_expected, ratio, p.mean(), "observed_expected"),
        (found.brier, brier, 1, "brier"),
        (found.humans_alone, alone, 1, "humans_alone"),
    ):
        value, low, high, variance, of_labels = expected
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
            (value / unit, low / unit, high / unit), rel=1e-9
        )
        assert estimate.standard_error == pytest.approx(math.sqrt(variance) / unit, rel=1e-9)
        assert (estimate.level, estimate.n) == (0.9, 110)
        assert found.label_variance[name] == pytest.approx(of_labels / unit**2, rel=1e-9)
        assert found.row_variance[name] == pytest.approx(
            max(variance - of_labels, 0) / unit**2, rel=1e-6, abs=1e-15
        )
    spread = rate[3] - max(alone[3] - alone[4], 0)
    assert found.worth == pytest.approx(110 * alone[4] / spread, rel=1e-9)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_bins_have_gaps_with_limits_that_hold_together(setting):
    given = world(260, 110, **setting)
    human, judge, p, chance, cluster = given
    named = {} if setting.get("clusters") is None else {"cluster": cluster}
    found = tn.powered(human, judge, p, human_prob=chance, bins=[0, 0.5, 0.8, 1], **named)
    hand = ByHand(*given)
    most = (0.0, 0.0)
    for b, (low, high) in enumerate(((0, 0.5), (0.5, 0.8), (0.8, 1.01))):
        inside = (p >= low) & (p < high)
        part = hand.numbers(p, 1.0, ratio=1.0, inside=inside, level=0.95 ** (1 / 3))
        score = p[inside].mean()
        assert (found.rows_in_bin[b], found.humans_in_bin[b]) == (
            inside.sum(),
            np.isfinite(human[inside]).sum(),
        )
        assert (found.low_score[b], found.high_score[b]) == (p[inside].min(), p[inside].max())
        assert (found.score[b], found.rate[b], found.gap[b]) == pytest.approx(
            (score, part[0], part[0] - score), rel=1e-9
        )
        assert (found.low[b], found.high[b]) == pytest.approx(
            (part[1] - score, part[2] - score), rel=1e-9
        )
        most = max(most, (part[4], max(part[3] - part[4], 0)), key=sum)
    assert (found.label_variance["bins"], found.row_variance["bins"]) == pytest.approx(
        most, rel=1e-6, abs=1e-15
    )


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_test_of_the_sample_compares_means_of_score_judge_and_product(setting):
    given = world(260, 110, **setting)
    human, judge, p, chance, cluster = given
    named = {} if setting.get("clusters") is None else {"cluster": cluster}
    found = tn.powered(human, judge, p, human_prob=chance, **named)
    hand = ByHand(*given)
    x = np.stack([p, hand.judge, p * hand.judge])
    x = x - x.mean(axis=1, keepdims=True)
    units = 1 / sum(hand.share[cluster == name].sum() ** 2 for name in np.unique(cluster))
    covariance = x @ x.T / p.size * (1 / units - 1 / p.size)
    away = x @ hand.share
    distance = away @ np.linalg.solve(covariance, away)
    assert found.selection_pvalue == pytest.approx(stats.chi2.sf(distance, 3), rel=1e-6)


def forms(p, cell, covariance):
    """Cumulative sums from both ends, the mean and a slope without correlation to it, as rows."""
    size = np.bincount(cell)
    slope = np.array([np.clip(logit(p[cell == c]), -5, 5).mean() for c in range(size.size)])
    slope = slope - (covariance @ slope).sum() / covariance.sum()
    share = np.sqrt(size / p.size)
    from_left = np.array([share[c] * (np.arange(size.size) <= c) for c in range(size.size)])
    from_right = np.array([share[c] * (np.arange(size.size) >= c) for c in range(size.size)])
    kinds = np.vstack([from_left, from_right]), np.ones((1, size.size)), slope[None]
    return np.vstack([kind / math.sqrt(np.trace(kind @ covariance @ kind.T)) for kind in kinds])


@pytest.mark.parametrize(
    ("odds", "seed", "clusters"), [(1.0, 0, None), (1.5, 1, 80), (0.6, 2, None)]
)
def test_the_pvalue_is_that_of_normal_gaps_with_their_covariance(odds, seed, clusters):
    given = world(320, 120, odds=odds, seed=seed, clusters=clusters)
    human, judge, p, _, cluster = given
    named = {} if clusters is None else {"cluster": cluster}
    found = tn.powered(human, judge, p, **named)
    hand = ByHand(*given)
    n, share, m = p.size, hand.share, hand.m
    cell = np.empty(n, int)
    cell[np.argsort(p)] = np.arange(n) * 32 // n
    terms = (m - p) / n + share * (hand.y - m)
    sums = np.array(
        [
            [terms[(cluster == name) & (cell == c)].sum() for c in range(32)]
            for name in np.unique(cluster)
        ]
    )
    units = 1 / sum(share[cluster == name].sum() ** 2 for name in np.unique(cluster))
    x = np.column_stack([np.ones(n), p])
    line = x @ np.linalg.lstsq(x, m - p, rcond=None)[0]
    near = np.clip(m - line, 0, 1)
    floor = np.bincount(cell, near * (1 - near)) / n / units
    lacking = max(0, 1 - ((share * (hand.y - m)) ** 2).sum() / floor.sum())
    covariance = sums.T @ sums + np.diag(lacking * floor)
    linear = forms(p, cell, covariance)
    statistic = ((linear @ sums.sum(axis=0)) ** 2).sum()
    root = np.linalg.eigvalsh(linear @ covariance @ linear.T).clip(0) * units / (units - 1)
    rng = np.random.default_rng(5)
    drawn = rng.standard_normal((40_000, root.size)) ** 2 @ root
    drawn *= (units - 1) / rng.chisquare(units - 1, 40_000)
    expected = (drawn >= statistic).mean()
    assert found.pvalue == pytest.approx(
        expected, abs=4 * math.sqrt(max(expected * (1 - expected), 1e-3) / 4_999)
    )


def judge_law(code, p):
    """P(judge's class > c | score) by logistic regression on the log-odds, lines that do not cross."""
    x = np.clip(logit(p), -30, 30)
    design = np.column_stack([np.ones(p.size), x])
    exceeds = []
    for c in range(code.max()):
        line = np.zeros(2)
        for _ in range(50):
            q = expit(design @ line)
            square = (design.T * (q * (1 - q))) @ design + np.diag([1e-6, 1e-4])
            line += np.linalg.solve(
                square, design.T @ ((code > c) - q) - np.diag([1e-6, 1e-4]) @ line
            )
        exceeds.append(expit(design @ line))
    return np.minimum.accumulate(np.array(exceeds), axis=0)


class FewEvents:
    """The statistic and the law of few expected events, one set of labels at a time."""

    def __init__(self, human, judge, p, share):
        order = np.argsort(p)
        self.p, human, judge, self.share = p[order], human[order], judge[order], share[order]
        self.n = p.size
        values, self.code = np.unique(judge, return_inverse=True)
        if values.size > 5:
            cuts = np.quantile(judge, [0.2, 0.4, 0.6, 0.8])
            self.code = np.array([(value >= cuts).sum() for value in judge])
            values = np.array([judge[self.code == c].mean() for c in range(5)])
        self.value = (values - values.mean()) / (values.max() - values.min())
        self.exceeds = judge_law(self.code, self.p)
        steps = np.vstack([np.ones(self.n), self.exceeds, np.zeros(self.n)])
        chance = steps[:-1] - steps[1:]
        self.mean = self.value @ chance
        self.variance = self.value**2 @ chance - self.mean**2
        self.known = np.flatnonzero(~np.isnan(human))
        self.y = human[self.known]
        self.w = self.share[self.known]
        self.units = 1 / (self.w @ self.w)
        expected = self.units * min(self.w @ self.p[self.known], 1 - self.w @ self.p[self.known])
        self.trust = expected / (expected + 3)
        self.cell = np.arange(self.n) * 32 // self.n
        variance = np.bincount(self.cell, self.p * (1 - self.p)) / self.n / self.units
        self.forms = forms(self.p, self.cell, np.diag(variance))
        seen = self.value[self.code]
        self.centre = seen.mean()
        x = self.columns(seen)
        self.scale = np.sqrt((x**2).mean(axis=0))

    def columns(self, judge):
        s, c, j = np.sqrt(self.p * (1 - self.p)), self.p - 0.5, judge - self.centre
        return np.stack([s, s * c, s * j, s * c * j, j], axis=1)

    def statistic(self, judge, y):
        x, known, w = self.columns(judge) / self.scale, self.known, self.w
        gap, weight = y - self.p[known], w * w.size
        square = np.eye(5) + (x[known].T * weight) @ x[known]
        product = x[known].T @ (weight * gap)
        predicted = x @ np.linalg.solve(square, product)
        own = x[known] * weight[:, None]  # a labelled row is predicted without its own label
        squares = square - own[:, :, None] * x[known][:, None, :]
        betas = np.linalg.solve(squares, (product - own * gap[:, None])[..., None])[..., 0]
        predicted[known] = (x[known] * betas).sum(axis=1)
        left = gap - predicted[known]
        inside = self.cell[known]
        sums = np.bincount(self.cell, predicted, 32) / self.n + np.bincount(inside, w * left, 32)
        blend = self.trust * sums + (1 - self.trust) * np.bincount(inside, w * gap, 32)
        return ((self.forms @ blend) ** 2).sum()

    def pvalue(self, draws, seed=1):
        rng = np.random.default_rng(seed)
        p, known = self.p[self.known], self.known
        gap, off = self.y - p, (self.value[self.code] - self.mean)[known]
        covariance = self.w @ (gap * off)
        below, above = (self.mean - self.value[0])[known], (self.value[-1] - self.mean)[known]
        ends = (p / below, (1 - p) / above) if covariance > 0 else (p / above, (1 - p) / below)
        steepest = np.minimum(*ends)
        possible = self.w @ (steepest * self.variance[known])
        slope = np.sign(covariance) * min(abs(covariance) / possible, 1) * steepest
        observed = self.statistic(self.value[self.code], self.y)
        beyond = 0
        for _ in range(draws):
            drawn = self.value[(rng.random(self.n) < self.exceeds).sum(axis=0)]
            chance = np.clip(p + slope * (drawn - self.mean)[known], 0, 1)
            y = (rng.random(known.size) < chance).astype(float)
            beyond += self.statistic(drawn, y) >= observed * (1 - 1e-9)
        return (1 + beyond) / (draws + 1)


FEW = {
    "labels": ("labels", {}, 0),
    "a good judge": ("labels", {"law": (1, 4), "right": 0.97}, 7),
    "scores": ("score", {"odds": 2.0}, 2),
    "opposite labels": ("opposite", {}, 3),
    "labels that are more frequent": ("labels", {"odds": 2.0}, 4),
}


@pytest.mark.parametrize(
    ("kind", "options", "seed"), fast(FEW, "a good judge", "scores", several=True)
)
def test_with_few_events_the_pvalue_is_that_of_redrawn_judges_and_labels(kind, options, seed):
    human, judge, p, _, _ = world(300, 60, **{"law": (1, 9), **options}, seed=seed)
    judge = {"labels": np.round(judge), "score": judge + np.cos(9 * p), "opposite": 1 - judge}[kind]
    known = ~np.isnan(human)
    hand = FewEvents(human, judge, p, known / known.sum())
    expected = hand.pvalue(1_500)
    error = math.sqrt(max(expected * (1 - expected), 1e-3) * (1 / 999 + 1 / 1_500))
    assert tn.powered(human, judge, p).pvalue == pytest.approx(expected, abs=3.5 * error)


@pytest.mark.parametrize("seed", [2, 5])
def test_few_non_events_are_few_events_mirrored(seed):
    human, judge, p, _, _ = world(300, 60, law=(1, 30), seed=seed)
    one = tn.powered(human, np.round(judge), p)
    other = tn.powered(1 - human, 1 - np.round(judge), 1 - p)
    assert "few events" in one.event_rate.method
    assert (other.event_rate.value, other.event_rate.low, other.event_rate.high) == pytest.approx(
        (1 - one.event_rate.value, 1 - one.event_rate.high, 1 - one.event_rate.low), abs=1e-3
    )


def test_the_blended_rate_of_all_events_is_at_most_one():
    human, judge, p, _, _ = world(300, 60, law=(30, 1), seed=3)
    every = np.where(np.isnan(human), human, 1.0)
    found = tn.powered(every, np.round(judge), np.maximum(p, 0.9)).event_rate
    assert found.value <= 1
    assert found.high == 1
    assert found.low == pytest.approx(0.025 ** (1 / 60))
