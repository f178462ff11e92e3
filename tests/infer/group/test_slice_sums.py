"""Slices judged by their sums alone: every number by hand, with weights and with clusters."""

import math
import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betainc, expit, logit
from scipy.stats import beta, norm, t

import trueness as tn

N = 480


def world(seed=0):
    """Rows in two columns, whose first value is wrong in one of them."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.choice(list("uvw"), N), "b": rng.choice(list("xyz"), N, p=[0.6, 0.3, 0.1])}
    p = rng.uniform(0.1, 0.8, N).round(2)
    p[:8] = [0, 0, 1, 1, 0, 1, 0, 1]
    shift = 0.9 * (columns["a"] == "u") - 0.4 * (columns["b"] == "y")
    y = rng.random(N) < np.where((p > 0) & (p < 1), expit(logit(p.clip(0.01, 0.99)) + shift), p)
    return y.astype(float), p, columns, rng


def rows_of(rule, columns, p):
    """Where the conditions of a slice are fulfilled."""
    inside = np.ones(N, bool)
    for condition in rule.split(" and "):
        if " = " in condition:
            name, value = condition.split(" = ")
            inside &= columns[name] == value
            continue
        low = re.search(r"(\S+) ≤ score|score ≥ (\S+)", condition)
        high = re.search(r"score < (\S+)", condition)
        if low:
            inside &= p >= float(low[1] or low[2])
        if high:
            inside &= p < float(high[1])
    return inside


def binomial_tail(events, expected, variance, total):
    """Twice the smaller tail of a binomial law with this mean and this variance."""
    tails = []
    for k, mean in ((events, expected), (total - events, total - expected)):
        chance = min(max(1 - variance / mean, 1e-12), 1.0)
        trials = max(mean / chance, k)
        tails.append(betainc(trials - k, k + 1, 1 - chance) if trials > k else 1.0)
    return min(1.0, 2 * min(tails))


def holm(pvalues):
    order = np.argsort(pvalues)
    adjusted = np.maximum.accumulate(np.minimum(1, pvalues[order] * np.arange(len(order), 0, -1)))
    return adjusted[np.argsort(order)]


def fitted_scores(y, p, w):
    """Scores after the shift and slope of all rows; those of 0 and 1 stay."""
    inside = (p > 0) & (p < 1)
    x = logit(p[inside])

    def loss(line):
        eta = line[0] + line[1] * x
        return w[inside] @ np.logaddexp(0, np.where(y[inside] == 1, -eta, eta))

    options = {"xatol": 1e-11, "fatol": 1e-13, "maxiter": 2000}
    line = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options=options).x
    q = p.copy()
    q[inside] = expit(line[0] + line[1] * x)
    return q


class Sums:
    """What is known of the rows of one slice."""

    def __init__(self, inside, y, p, w, cluster, whole):
        square = w if whole else w**2
        self.weight, self.events, self.expected = ((w * v)[inside].sum() for v in (1, y, p))
        self.variance = (square * p * (1 - p))[inside].sum()
        self.spread = (w * p * (1 - p))[inside].sum()
        self.square_error = (w * (y - p) ** 2)[inside].sum()
        self.squares = square[inside].sum()
        self.residual = self.events - self.expected
        names = np.unique(cluster[inside]) if cluster is not None else []
        gaps = [(w * (y - p))[inside & (cluster == name)].sum() for name in names]
        sizes = [w[inside & (cluster == name)].sum() for name in names]
        self.clustered = cluster is not None
        self.cluster_variance = sum(g * g for g in gaps) if self.clustered else self.variance
        self.clusters = self.weight**2 / sum(n * n for n in sizes) if self.clustered else 0.0
        self.inflation = max(1.0, self.cluster_variance / self.variance)

    def limits(self, level):
        """Clopper-Pearson limits of the rate of as many labels as say as much."""
        labels = self.weight**2 / self.squares
        if self.clustered:
            labels /= self.inflation
            if self.events in (0, self.weight):
                labels = min(self.weight**2 / self.squares, self.clusters)
        score, rate = self.expected / self.weight, self.events / self.weight
        by_scores = score * (1 - score) * self.weight / self.spread
        around = self.square_error / self.weight - (rate - score) ** 2
        by_labels = rate * (1 - rate) / around if around > 0 else math.inf
        if labels * self.spread / self.weight >= 5:
            labels *= max(min(by_scores, by_labels), 1.0)
        k, tail = rate * labels, (1 - level) / 2
        low = beta.ppf(tail, k, labels - k + 1) if k > 0 else 0.0
        high = beta.isf(tail, k + 1, labels - k) if k < labels * (1 - 1e-12) else 1.0
        return low - score, high - score

    def tail(self):
        unit = self.squares / self.weight
        found = binomial_tail(
            self.events / unit, self.expected / unit, self.variance / unit**2, self.weight / unit
        )
        if not self.clustered:
            return found
        z = abs(self.residual) / math.sqrt(self.cluster_variance)
        return max(found, 2 * t.sf(z, max(self.clusters - 1, 1)))


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("kind", ["rows", "repeated", "weights", "clusters", "both"])
def test_slices_judged_by_sums_have_the_numbers_of_their_rows(kind, monkeypatch):
    monkeypatch.setattr("trueness.infer.group._slices._MOST_WORK", 0)
    y, p, columns, rng = world()
    w = {
        "repeated": 1.0 + np.arange(N) % 3,
        "weights": rng.uniform(0.3, 2, N),
        "both": rng.uniform(0.3, 2, N),
    }.get(kind, np.ones(N))
    cluster = rng.integers(0, 160, N) if kind in ("clusters", "both") else None
    options = {} if cluster is None else {"cluster": cluster}
    if kind in ("repeated", "weights", "both"):
        options["sample_weight"] = w
    found = tn.worst_slices(y, p, columns, min_rows=25, most=500, level=0.9, seed=0, **options)
    whole = kind not in ("weights", "both")
    masks = [rows_of(rule, columns, p) for rule in found.rule]
    sums = [Sums(inside, y, p, w, cluster, whole) for inside in masks]
    each = 0.9 ** (1 / len(sums))
    limits = np.array([one.limits(each) for one in sums])
    adjusted = holm(np.array([one.tail() for one in sums]))
    assert (found.tried, found.draws) == (len(sums), 0)
    assert len(sums) > 20
    assert found.weight == pytest.approx([one.weight for one in sums])
    assert found.gap == pytest.approx([one.residual / one.weight for one in sums])
    assert found.gap_low == pytest.approx(limits[:, 0], abs=1e-10)
    assert found.gap_high == pytest.approx(limits[:, 1], abs=1e-10)
    assert found.adjusted_p == pytest.approx(adjusted, rel=1e-6, abs=1e-12)
    assert found.flagged.tolist() == (adjusted <= 0.1).tolist()
    assert 0 < found.all_flagged == found.flagged.sum() < len(sums)
    assert found.joint_p == pytest.approx(adjusted.min(), rel=1e-6)
    far = np.maximum(limits[:, 1], -limits[:, 0])
    weight = np.array([one.weight for one in sums])
    assert found.worst_gap_high == pytest.approx(far.max())
    assert found.worst_impact_high == pytest.approx((far * weight).max() / w.sum())
    assert found.overall_gap == pytest.approx(np.average(y - p, weights=w))
    brier = (w * (y - p) ** 2).sum()
    saved = [max(one.residual**2 - one.cluster_variance, 0) / one.weight / brier for one in sums]
    assert found.share == pytest.approx(saved, abs=1e-12)
    covered = np.zeros(N, bool)
    square = w if whole else w**2
    for inside, one, flag, distinct in zip(masks, sums, found.flagged, found.distinct, strict=True):
        rest = inside & ~covered
        error = math.sqrt((square * p * (1 - p))[rest].sum() * one.inflation)
        own = flag and rest.any() and abs((w * (y - p))[rest].sum()) >= 3 * error
        assert distinct == own
        covered |= inside if own else False
    q = fitted_scores(y, p, w)
    design = np.stack([(q > 0) & (q < 1), logit(q.clip(1e-9, 1 - 1e-9)) * ((q > 0) & (q < 1))])
    v = q * (1 - q)
    information = (design * w * v) @ design.T
    common = design @ (w * (y - q))
    for inside, pvalue in zip(masks, found.overall_p, strict=True):
        one = Sums(inside, y, q, w, cluster, whole)
        share = (design * w * v)[:, inside].sum(axis=1) @ np.linalg.inv(information)
        mixed = (design * square * v)[:, inside].sum(axis=1)
        rest = one.variance - 2 * share @ mixed + share @ ((design * square * v) @ design.T) @ share
        z = abs(one.residual - share @ common) / math.sqrt(rest * one.inflation)
        assert pvalue == pytest.approx(min(1, len(sums) * 2 * norm.sf(z)), rel=1e-4)
