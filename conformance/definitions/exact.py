"""Calibration measures in exact arithmetic, under the conventions that libraries use.

Scores are the decimals that are written in a case ("0.3" is 3/10), sums are `Fraction`s, and logarithms and roots are
`Decimal`s of 50 digits. Nothing here imports a library: the expected values of the cases are independent of all.

Rows are lists: `y` of 0/1 (or classes 0 to K−1), `p` of Fractions (or rows of them), `w` of weights.
"""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 50


def decimal(x):
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(x.numerator) / Decimal(x.denominator)


def root(x):
    with localcontext() as context:
        context.prec = DIGITS
        return decimal(x).sqrt()


# ------------------------------------------------------------------------------------------ equal-width bins
# A rule returns the bin of a score, or None for a score that it loses.


def left_closed(p, bins):
    return min(math.floor(p * bins), bins - 1)


def right_closed(p, bins):
    return max(math.ceil(p * bins) - 1, 0)


def right_closed_without_zero(p, bins):
    return None if p == 0 else right_closed(p, bins)


def one_on_its_own(p, bins):
    return math.floor(p * bins)


def left_closed_without_one(p, bins):
    return None if p == 1 else left_closed(p, bins)


def one_bin_fewer(p, bins):
    """Right-closed bins between `bins` equally spaced points, and a bin for zero."""
    return math.ceil(p * (bins - 1))


def by_multiplied_edges(p, bins):
    """Edges i · (1/B) in floating point, closed on the left: 3 · 0.1 lies above 0.3."""
    return _before([i * (1 / bins) for i in range(1, bins)], p)


def by_multiplied_edges_right(p, bins):
    return sum(i * (1 / bins) < float(p) for i in range(1, bins))


def by_mirrored_edges(p, bins):
    """The same, counted from 1 downwards in the upper half."""
    return _before(
        [i * (1 / bins) if 2 * i <= bins else 1 - (bins - i) * (1 / bins) for i in range(1, bins)],
        p,
    )


def by_mirrored_edges_with_one(p, bins):
    return bins if p == 1 else by_mirrored_edges(p, bins)


def by_division(p, bins):
    """⌊p / (1/B)⌋ in floating point: 0.3 / 0.1 lies below 3."""
    return min(math.floor(float(p) / (1 / bins)), bins)


def _before(edges, p):
    return sum(edge <= float(p) for edge in edges)


# ------------------------------------------------------------------------------------------- equal-mass bins
# A rule returns groups of row numbers.


def mass_floor(p, bins, w):
    """Cut j after the ⌊jW/B⌋-th unit of weight; a tie that a cut would split goes whole to the lower bin."""
    return _mass(p, bins, w, math.floor)


def mass_ceil(p, bins, w):
    return _mass(p, bins, w, math.ceil)


def _mass(p, bins, w, rounding):
    total = sum(w)
    cuts = [rounding(j * total / Fraction(bins)) for j in range(1, bins)]
    groups, before = [[] for _ in range(bins)], 0
    for _, tie in itertools.groupby(sorted(range(len(p)), key=lambda i: p[i]), key=lambda i: p[i]):
        tie = list(tie)
        groups[sum(cut <= before for cut in cuts)] += tie
        before += sum(w[i] for i in tie)
    return [group for group in groups if group]


def larger_bins_first(p, bins, _w):
    """Rows in ascending order, the first n mod B bins one row larger; ties are split."""
    order, n = sorted(range(len(p)), key=lambda i: p[i]), len(p)
    sizes = [n // bins + (b < n % bins) for b in range(bins)]
    ends = [0, *itertools.accumulate(sizes)]
    return [order[a:b] for a, b in itertools.pairwise(ends) if b > a]


def smaller_bins_first(p, bins, _w):
    """Rows in ascending order, cut after ⌊jn/B⌋; ties are split."""
    order, n = sorted(range(len(p)), key=lambda i: p[i]), len(p)
    return [
        order[j * n // bins : (j + 1) * n // bins]
        for j in range(bins)
        if (j + 1) * n // bins > j * n // bins
    ]


def between_larger_bins(p, bins, _w):
    """Edges midway between neighbours of larger-first bins; ties stay together."""
    parts = larger_bins_first(p, min(bins, len(p)), _w)
    edges = sorted({(p[a[-1]] + p[b[0]]) / 2 for a, b in itertools.pairwise(parts)})
    return _grouped(p, lambda q: sum(edge < q for edge in edges))


def quantile_right(p, bins, _w):
    """Interpolated quantiles as edges, bins closed on the right."""
    edges = _quantiles(p, bins)[1:-1]
    return _grouped(p, lambda q: sum(edge < q for edge in edges))


def quantile_left(p, bins, _w):
    edges = _quantiles(p, bins)[1:-1]
    return _grouped(p, lambda q: sum(edge <= q for edge in edges))


def quantile_lost(p, bins, _w):
    """Quantiles as edges, closed on the right, the smallest score in no bin."""
    edges = _quantiles(p, bins)
    return _grouped(p, lambda q: None if q <= edges[0] else sum(edge < q for edge in edges[1:-1]))


def one_quantile_fewer(p, bins, _w):
    """Right-closed bins between `bins` quantiles, and a bin for the smallest score."""
    edges = _quantiles(p, bins - 1) if bins > 1 else [min(p)]
    return _grouped(p, lambda q: sum(edge < q for edge in edges))


def _quantiles(p, bins):
    p, quantiles = sorted(p), []
    for j in range(bins + 1):
        at = Fraction(j * (len(p) - 1), bins)
        low = math.floor(at)
        high = min(low + 1, len(p) - 1)
        quantiles.append(p[low] + (at - low) * (p[high] - p[low]))
    return quantiles


def _grouped(p, place):
    groups = {}
    for i, q in enumerate(p):
        groups.setdefault(place(q), []).append(i)
    return [groups[b] for b in sorted(b for b in groups if b is not None)]


def width_groups(rule):
    return lambda p, bins, _w: _grouped(p, lambda q: rule(q, bins))


def range_groups(p, bins, _w):
    """Bins of equal width between the smallest and the largest score, closed on the left."""
    low, high = min(p), max(p)
    return _grouped(
        p, lambda q: left_closed((q - low) / (high - low), bins) if high > low else bins - 1
    )


# --------------------------------------------------------------------------------------- calibration errors


def gaps(y, p, w, groups):
    """(weight, |event rate − mean score|) of each bin with weight."""
    found = []
    for rows in groups:
        weight = sum(w[i] for i in rows)
        if weight:
            found.append((weight, abs(sum(w[i] * (y[i] - p[i]) for i in rows)) / weight))
    return found


def average(pairs, norm, total, by="rows"):
    """The norm of the gaps; `by` rows, by rows that are in a bin, or all non-empty bins alike."""
    if norm == "max":
        return max((gap for _, gap in pairs), default=Fraction(0))
    if by == "bins":
        pairs, total = [(Fraction(1), gap) for _, gap in pairs], len(pairs)
    if by == "counted":
        total = sum(weight for weight, _ in pairs)
    if not total:
        return Fraction(0)
    if norm == "l1":
        return sum((weight * gap for weight, gap in pairs), Fraction(0)) / total
    mean_square = sum((weight * gap**2 for weight, gap in pairs), Fraction(0)) / total
    return mean_square if norm == "l2-squared" else root(mean_square)


def calibration_error(y, p, w, bins, groups, norm="l1", by="rows"):
    return average(gaps(y, p, w, groups(p, bins, w)), norm, sum(w), by)


def top(P, last=False):
    """The predicted class of each row: the first (or last) of the largest."""
    found = []
    for row in P:
        columns = range(len(row) - 1, -1, -1) if last else range(len(row))
        found.append(max(columns, key=lambda k: row[k]))
    return found


def confidence_view(y, P, last=False):
    predicted = top(P, last)
    correct = [int(a == b) for a, b in zip(y, predicted, strict=True)]
    return correct, [row[k] for row, k in zip(P, predicted, strict=True)]


def class_views(y, P):
    return [([int(label == k) for label in y], [row[k] for row in P]) for k in range(len(P[0]))]


def top_label_views(y, P):
    """(share of the rows, view) of each class that is predicted at least once."""
    predicted = top(P)
    correct, confidence = confidence_view(y, P)
    views = []
    for k in sorted(set(predicted)):
        rows = [i for i, label in enumerate(predicted) if label == k]
        views.append(
            (
                Fraction(len(rows), len(y)),
                ([correct[i] for i in rows], [confidence[i] for i in rows]),
            )
        )
    return views


def debiased(y, p, groups):
    """T = (1/n) Σ_b [(Σu)² − Σu²] / (n_b − 1), u = y − p, over bins of two rows or more."""
    total = Fraction(0)
    for rows in groups:
        u = [y[i] - p[i] for i in rows]
        if len(u) > 1:
            total += (sum(u) ** 2 - sum(value**2 for value in u)) / (len(u) - 1)
    return total / len(y)


def debiased_by_label_variance(y, p, groups):
    """Σ_b (n_b/n) [gap² − r(1 − r)/(n_b − 1)]: the variance of the labels about their rate is subtracted."""
    total = Fraction(0)
    for rows in groups:
        n = len(rows)
        if n > 1:
            rate = Fraction(sum(y[i] for i in rows), n)
            gap = rate - sum(p[i] for i in rows) / n
            total += n * (gap**2 - rate * (1 - rate) / (n - 1))
    return total / len(y)


def tce(y, p, bins, alpha):
    """Percentage of scores that the exact binomial test rejects as the event rate of their bin."""
    rejected = 0
    for rows in width_groups(left_closed)(p, bins, None):
        k, n = sum(y[i] for i in rows), len(rows)
        rejected += sum(binomial_pvalue(k, n, p[i]) <= alpha for i in rows)
    return Fraction(100 * rejected, len(y))


def binomial_pvalue(k, n, p):
    """Two-sided: the probability of all counts that are no more probable than k."""
    chance = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]
    return sum(c for c in chance if c <= chance[k])


# ------------------------------------------------------------------------------------------- proper scores


def brier(y, p, w):
    return sum(w[i] * (y[i] - p[i]) ** 2 for i in range(len(y))) / Fraction(sum(w))


def brier_classes(y, P, w):
    """Summed over the classes."""
    squares = (
        w[i] * sum((int(y[i] == k) - q) ** 2 for k, q in enumerate(P[i])) for i in range(len(y))
    )
    return sum(squares, Fraction(0)) / sum(w)


def log_loss(y, P, w, eps=None):
    """Mean of −log of the probability of the label, in nats; `eps` clips from below."""
    with localcontext() as context:
        context.prec = DIGITS
        total = Decimal(0)
        for label, row, weight in zip(y, P, w, strict=True):
            if not weight:
                continue
            q = row[label] if eps is None else max(row[label], eps)
            if eps is not None and len(row) == 2:
                q = min(q, 1 - eps)
            if q == 0:
                return Decimal("inf")
            total -= decimal(Fraction(weight)) * decimal(q).ln()
        return total / decimal(Fraction(sum(w)))


# ------------------------------------------------------------------------------- slope, intercept, isotonic


def logistic_fit(y, p, fit_slope=True):
    """(intercept, slope) of the maximum-likelihood regression of y on logit p, by Newton's method in decimals."""
    with localcontext() as context:
        context.prec = DIGITS
        x = [(decimal(q) / decimal(1 - q)).ln() for q in p]
        a, b = Decimal(0), Decimal(0 if fit_slope else 1)
        for _ in range(500):
            mu = [1 / (1 + (-(a + b * xi)).exp()) for xi in x]
            g0 = sum((yi - m for yi, m in zip(y, mu, strict=True)), Decimal(0))
            v = [m * (1 - m) for m in mu]
            h00 = sum(v)
            if not fit_slope:
                step = (g0 / h00, Decimal(0))
            else:
                g1 = sum((xi * (yi - m) for xi, yi, m in zip(x, y, mu, strict=True)), Decimal(0))
                h01 = sum(vi * xi for vi, xi in zip(v, x, strict=True))
                h11 = sum(vi * xi * xi for vi, xi in zip(v, x, strict=True))
                det = h00 * h11 - h01 * h01
                step = ((h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det)
            largest = max(abs(step[0]), abs(step[1]))
            scale = (
                min(Decimal(1), 1 / (2 * largest)) if largest else Decimal(1)
            )  # short steps cannot overshoot far
            a, b = a + scale * step[0], b + scale * step[1]
            if largest < Decimal(10) ** -40:
                return a, b
    raise ArithmeticError("no convergence")


def isotonic(y, p, w, split_ties=False):
    """The isotonic regression at each row, by pooling adjacent violators; tied scores share one value."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    key = (lambda i: i) if split_ties else (lambda i: p[i])
    blocks = []
    for _, rows in itertools.groupby(order, key=key):
        rows = list(rows)
        blocks.append([rows, sum(w[i] for i in rows), sum(Fraction(w[i] * y[i]) for i in rows)])
        while len(blocks) > 1 and blocks[-2][2] * blocks[-1][1] >= blocks[-1][2] * blocks[-2][1]:
            rows, weight, events = blocks.pop()
            blocks[-1] = [blocks[-1][0] + rows, blocks[-1][1] + weight, blocks[-1][2] + events]
    fitted = [Fraction(0)] * len(p)
    for rows, weight, events in blocks:
        for i in rows:
            fitted[i] = Fraction(events, weight)
    return fitted


def histogram(y, p, bins, at, place, pseudo=0, empty="overall"):
    """The event rate of each equal-width bin at the scores `at`; a bin without rows gives the overall rate."""
    rates = {}
    for rows in width_groups(place)(p, bins, None):
        rates[place(p[rows[0]], bins)] = Fraction(
            sum(y[i] for i in rows) + pseudo, len(rows) + 2 * pseudo
        )
    found = []
    for q in at:
        b = place(q, bins)
        without = {
            "overall": Fraction(sum(y), len(y)),
            "midpoint": Fraction(2 * b + 1, 2 * bins),
            "half": Fraction(1, 2),
        }
        found.append(rates.get(b, without[empty]))
    return found
