"""The measures once more, slowly: loops over rows and exact fractions, straight from the formulas.

Nothing here imports the library and nothing here is clever; tests compare the library with it.

Rows are three lists: `y` of 0/1, `p` of scores, `w` of weights or None (every weight one). A grouping
is a list of lists of row numbers, lowest scores first, and every binned measure takes any grouping.
Bins are numbered from zero. Rows of weight zero count nowhere, nor do groups without weight.
"""

import itertools
import math
from fractions import Fraction

from scipy import optimize, stats

# ------------------------------------------------------------------------------------------- weights


def exact(number):
    """The rational number that a float denotes."""
    return Fraction(float(number))


def weight_of(w, i):
    return Fraction(1) if w is None else exact(w[i])


def weights(w, n):
    return [weight_of(w, i) for i in range(n)]


def are_whole(ws):
    return all(weight.denominator == 1 for weight in ws)


def _demand_whole(ws):
    if not are_whole(ws):
        raise ValueError("weights must be whole numbers: they say how often a row occurs")


# ----------------------------------------------------------------------------------------- groupings


def equal_width_edges(B):
    return [b / B for b in range(B + 1)]


def place(score, edges):
    """The bin of a score: closed on the left, the last bin closed on both sides."""
    score = float(score)
    last = len(edges) - 2
    for b in range(last + 1):
        if edges[b] <= score < edges[b + 1] or (b == last and score == edges[b + 1]):
            return b
    raise ValueError(f"{score} lies outside the edges, {edges[0]} to {edges[-1]}")


def edge_groups(p, edges):
    """One group per bin, empty bins included."""
    groups = [[] for _ in edges[1:]]
    for i, score in enumerate(p):
        groups[place(score, edges)].append(i)
    return groups


def equal_width_groups(p, B):
    return edge_groups(p, equal_width_edges(B))


def tie_groups(p, w=None):
    """One group per distinct score, ascending."""
    ws = weights(w, len(p))
    groups = []
    for i in sorted(range(len(p)), key=lambda i: (float(p[i]), i)):
        if ws[i] == 0:
            continue
        if groups and float(p[groups[-1][0]]) == float(p[i]):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def equal_mass_groups(y, p, w, B):
    """Cut j lies after the ⌊jW/B⌋-th unit of weight (at jW/B when some weight is a fraction).

    A tie group joins the bin in which it begins, so one that a cut would split goes whole to the lower
    bin. Empty bins vanish.
    """
    ws = weights(w, len(p))
    W = sum(ws)
    cuts = [j * W / B for j in range(1, B)]
    if are_whole(ws):
        cuts = [math.floor(cut) for cut in cuts]
    bins = [[] for _ in range(B)]
    before = Fraction(0)
    for group in tie_groups(p, w):
        bins[sum(1 for cut in cuts if cut <= before)] += group
        before += sum(ws[i] for i in group)
    return [members for members in bins if members]


class _Block:
    """Neighbouring rows with their weight and weighted events."""

    def __init__(self, members, size, events):
        self.members, self.size, self.events = members, size, events

    @property
    def mean(self):
        return self.events / self.size

    def joined(self, right):
        return _Block(
            self.members + right.members, self.size + right.size, self.events + right.events
        )


def _blocks_of_ties(y, p, w):
    ws = weights(w, len(p))
    return [
        _Block(group, sum(ws[i] for i in group), sum((ws[i] for i in group if y[i]), Fraction(0)))
        for group in tie_groups(p, w)
    ]


def isotonic_groups(y, p, w=None):
    """Pool adjacent violators on tie groups; neighbours of equal mean are pooled too."""
    blocks = []
    for group in _blocks_of_ties(y, p, w):
        blocks.append(group)
        while len(blocks) >= 2 and blocks[-2].mean >= blocks[-1].mean:
            blocks[-2:] = [blocks[-2].joined(blocks[-1])]
    return [block.members for block in blocks]


def block_groups_rowwise(labels, n_min, n_max):
    """Algorithm 2 to the letter, on labels in ascending order of score; groups of positions."""
    N = len(labels)
    assert 1 <= n_min < N
    assert n_max >= 2 * n_min - 1
    rows = [_Block([i], 1, Fraction(int(labels[i]))) for i in range(N)]
    blocks = []
    for row in rows[: N - n_min]:
        blocks.append(row)
        while len(blocks) >= 2:
            left, right = blocks[-2:]
            total = left.size + right.size
            if total <= n_min or (total <= n_max and left.mean >= right.mean):
                blocks[-2:] = [left.joined(right)]
            else:
                break
    tail = rows[N - n_min]
    for row in rows[N - n_min + 1 :]:
        tail = tail.joined(row)
    if blocks[-1].size + n_min <= n_max:
        blocks[-1] = blocks[-1].joined(tail)
    else:
        blocks.append(tail)
    return [block.members for block in blocks]


def block_groups(y, p, n_min, n_max, w=None):
    """Algorithm 2 on whole tie groups; a weight counts as that many rows."""
    assert n_max >= 2 * n_min - 1
    _demand_whole(weights(w, len(p)))
    groups = _blocks_of_ties(y, p, w)
    N = sum(group.size for group in groups)
    ends = list(itertools.accumulate(group.size for group in groups))
    head = [group for group, end in zip(groups, ends, strict=True) if end <= N - n_min]
    rest = groups[len(head) :]

    blocks = []
    for group in head:
        blocks.append(group)
        while len(blocks) >= 2:
            left, right = blocks[-2:]
            total = left.size + right.size
            if total <= n_min or (total <= n_max and left.mean >= right.mean):
                blocks[-2:] = [left.joined(right)]
            elif left.size < n_min:
                if _settle_small(blocks, n_max) == "left":
                    break
            else:
                break

    if rest:
        tail = rest[0]
        for group in rest[1:]:
            tail = tail.joined(group)
        blocks.append(tail)
        if len(blocks) >= 2:
            left, right = blocks[-2:]
            if left.size + right.size <= n_max:
                blocks[-2:] = [left.joined(right)]
            elif left.size < n_min:
                _settle_small(blocks, n_max)
    return [block.members for block in blocks]


def fused_groups(y, p, n_min, n_max, w=None):
    """The same, with neighbouring blocks of equal rate joined, as the edges of Algorithm 3 do."""
    ws = weights(w, len(p))
    bins = []
    for group in block_groups(y, p, n_min, n_max, w):
        block = _Block(
            group, sum(ws[i] for i in group), sum((ws[i] for i in group if y[i]), Fraction(0))
        )
        if bins and bins[-1].mean == block.mean:
            bins[-1] = bins[-1].joined(block)
        else:
            bins.append(block)
    return [block.members for block in bins]


def _settle_small(blocks, n_max):
    """Give the last block but one, too small to stand, to a neighbour; says to which."""
    left, right = blocks[-2:]
    if right.size > n_max and len(blocks) >= 3 and blocks[-3].size + left.size <= n_max:
        blocks[-3:] = [blocks[-3].joined(left), right]
        return "left"
    blocks[-2:] = [left.joined(right)]
    return "right"


# ----------------------------------------------------------------------------------- binned measures


def bin_sums(y, p, members, w=None):
    """Weight, weighted events and weighted scores of one group, exactly."""
    weight = sum((weight_of(w, i) for i in members), Fraction(0))
    events = sum((weight_of(w, i) for i in members if y[i]), Fraction(0))
    scores = sum((weight_of(w, i) * exact(p[i]) for i in members), Fraction(0))
    return weight, events, scores


def gaps(y, p, groups, w=None):
    """(weight, rate − mean score) of every group that has weight, exactly."""
    found = []
    for members in groups:
        weight, events, scores = bin_sums(y, p, members, w)
        if weight > 0:
            found.append((weight, (events - scores) / weight))
    return found


def weighted_norm(pairs, norm):
    """(Σ (w/W) x^q)^(1/q) of (w, x), the largest x for 'max'."""
    if norm == "max":
        return float(max(x for _, x in pairs))
    W = sum(weight for weight, _ in pairs)
    if norm in ("l1", 1):
        return float(sum(weight * x for weight, x in pairs) / W)
    if norm in ("l2", 2):
        return math.sqrt(sum(weight * x * x for weight, x in pairs) / W)
    return math.fsum(float(weight / W) * float(x) ** norm for weight, x in pairs) ** (1 / norm)


def ece(y, p, groups, norm="l1", w=None):
    return weighted_norm([(weight, abs(gap)) for weight, gap in gaps(y, p, groups, w)], norm)


def tce(y, p, groups, alpha=0.05, test="binomial", w=None):
    """Percentage of rows whose score is rejected by a test on the labels of their group."""
    return gce(y, p, groups, "rejection", "l1", w, alpha, test)


def gce(y, p, groups, loss="absolute", norm="l1", w=None, alpha=0.05, test="binomial"):
    """The norm, over groups, of a loss per group.

    'absolute': |rate − mean score|; 'squared': its square; 'rejection': the percentage of the group's
    rows whose score is rejected.
    """
    if loss == "rejection":
        return weighted_norm(rejections(y, p, groups, alpha, test, w), norm)
    power = {"absolute": 1, "squared": 2}[loss]
    return weighted_norm(
        [(weight, abs(gap) ** power) for weight, gap in gaps(y, p, groups, w)], norm
    )


def rejections(y, p, groups, alpha=0.05, test="binomial", w=None):
    """(weight, percentage of rejected rows) of every group that has weight."""
    ws = weights(w, len(y))
    _demand_whole(ws)
    found = []
    for members in groups:
        weight, events, _ = bin_sums(y, p, members, w)
        if weight > 0:
            k, n = int(events), int(weight)
            rejected = sum(
                ws[i] for i in members if ws[i] > 0 and rejects(k, n, float(p[i]), alpha, test)
            )
            found.append((weight, 100 * rejected / weight))
    return found


def rejects(k, n, p, alpha=0.05, test="binomial"):
    """Whether k events in n trials reject, at level alpha, that the probability is p."""
    pvalue = t_pvalue(k, n, p) if test == "t" else stats.binomtest(k, n, p).pvalue
    return bool(pvalue <= alpha)


def t_pvalue(k, n, p):
    """One-sample t test, two-sided, of k ones and n − k zeros."""
    if n == 1:
        return 1.0
    if k in (0, n):
        return 1.0 if p == k / n else 0.0
    sd = math.sqrt(k / n * (1 - k / n) * n / (n - 1))
    return float(2 * stats.t.sf(abs(k / n - p) * math.sqrt(n) / sd, n - 1))


def squared_ece(y, p, groups, w=None):
    """T = (1/n) Σ_b [(Σu)² − Σu²] / (n_b − 1), u = y − p; every row written as often as it weighs."""
    ws = weights(w, len(y))
    _demand_whole(ws)
    total = Fraction(0)
    for members in groups:
        u = [int(y[i]) - exact(p[i]) for i in members for _ in range(int(ws[i]))]
        if len(u) >= 2:
            total += (sum(u) ** 2 - sum(value * value for value in u)) / (len(u) - 1)
    return float(total / sum(ws))


def squared_ece_importance(y, p, groups, w):
    """T for weights that are not counts: (1/W) Σ_b W_b [(Σwu)² − Σw²u²] / (W_b² − Σw²)."""
    ws = weights(w, len(y))
    total = Fraction(0)
    for members in groups:
        kept = [(ws[i], int(y[i]) - exact(p[i])) for i in members if ws[i] > 0]
        if len(kept) >= 2:
            W = sum(weight for weight, _ in kept)
            pairs = sum(weight * u for weight, u in kept) ** 2 - sum(
                (weight * u) ** 2 for weight, u in kept
            )
            total += W * pairs / (W * W - sum(weight * weight for weight, _ in kept))
    return float(total / sum(ws))


def estimation_error(y, groups):
    """(total, average): Σ (N_b/N) Var_b(y) and (1/B) Σ Var_b(y), variances with divisor N_b."""
    sizes, variances = [], []
    for members in groups:
        if members:
            rate = Fraction(sum(int(y[i]) for i in members), len(members))
            sizes.append(len(members))
            variances.append(rate * (1 - rate))
    total = sum(n * v for n, v in zip(sizes, variances, strict=True)) / sum(sizes)
    return float(total), float(sum(variances) / len(variances))


def rate_interval(k, n, level=0.95, method="clopper-pearson"):
    """Interval for a rate from k events in n trials (both may be fractions)."""
    tail = (1 - level) / 2
    if method == "wilson":
        z = float(stats.norm.isf(tail))
        rate = k / n
        centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
        return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)
    more = {"clopper-pearson": (0, 1), "jeffreys": (0.5, 0.5)}[method]
    low = 0.0 if k == 0 else float(stats.beta.ppf(tail, k + more[0], n - k + more[1]))
    return low, 1.0 if k == n else float(stats.beta.isf(tail, k + more[1], n - k + more[0]))


# ------------------------------------------------------------------------------------ proper scores


def brier(y, p, w=None):
    ws = weights(w, len(y))
    return float(sum(ws[i] * (int(y[i]) - exact(p[i])) ** 2 for i in range(len(y))) / sum(ws))


def _minus_log(q):
    return math.inf if q == 0 else -math.log(q)


def log_loss(y, p, w=None):
    """Mean of −log of what was given to the label; infinite when that was zero once."""
    ws = weights(w, len(y))
    terms = [
        float(ws[i])
        * (_minus_log(p[i]) if y[i] else (math.inf if p[i] == 1 else -math.log1p(-p[i])))
        for i in range(len(y))
        if ws[i] > 0
    ]
    return math.fsum(terms) / float(sum(ws))


def brier_multiclass(P, y, w=None):
    """Mean over rows of the sum over classes; of two classes, the binary score of the second."""
    ws = weights(w, len(y))
    total = Fraction(0)
    for i, row in enumerate(P):
        squares = [(int(y[i] == k) - exact(q)) ** 2 for k, q in enumerate(row)]
        total += ws[i] * (sum(squares) if len(row) > 2 else sum(squares) / 2)
    return float(total / sum(ws))


def log_loss_multiclass(P, y, w=None):
    ws = weights(w, len(y))
    terms = [float(ws[i]) * _minus_log(P[i][y[i]]) for i in range(len(y)) if ws[i] > 0]
    return math.fsum(terms) / float(sum(ws))


def isotonic_fit(y, p, w=None):
    """The isotonic regression of y on p at every row (nan at rows of weight zero)."""
    fitted = [math.nan] * len(y)
    for members in isotonic_groups(y, p, w):
        weight, events, _ = bin_sums(y, p, members, w)
        for i in members:
            fitted[i] = float(events / weight)
    return fitted


def corp(y, p, score="brier", w=None):
    """(miscalibration, discrimination, uncertainty): MCB − DSC + UNC is the mean score."""
    ws = weights(w, len(y))
    kept = [i for i in range(len(y)) if ws[i] > 0]
    y, p, w = [y[i] for i in kept], [p[i] for i in kept], [ws[i] for i in kept]
    mean_score = {"brier": brier, "log": log_loss}[score]
    rate = float(sum(w[i] for i in range(len(y)) if y[i]) / sum(w))
    given = mean_score(y, p, w)
    recalibrated = mean_score(y, isotonic_fit(y, p, w), w)
    constant = mean_score(y, [rate] * len(y), w)
    return given - recalibrated, constant - recalibrated, constant


# --------------------------------------------------------------------------------- smooth and global

_REACH = (
    9.0  # standard deviations after which a Gaussian is taken for zero (its tail is below 3e-19)
)


def _residual_mass(y, p, w):
    """(score, share of residual y − p) of every distinct score."""
    ws = weights(w, len(y))
    W = sum(ws)
    mass = []
    for group in tie_groups(p, w):
        residual = sum(ws[i] * (int(y[i]) - exact(p[i])) for i in group)
        mass.append((float(p[group[0]]), float(residual / W)))
    return mass


def _images(mass, sigma):
    """Atoms on the whole line after reflection at 0 and 1, as far as they reach into [0, 1]."""
    turns = math.ceil((_REACH * sigma + 1) / 2) + 1
    images = []
    for score, residual in mass:
        for k in range(-turns, turns + 1):
            for centre in (score + 2 * k, -score + 2 * k):
                if -_REACH * sigma <= centre <= 1 + _REACH * sigma:
                    images.append((centre, residual))
    return images


def smooth_ece_at(sigma, y, p, w=None):
    """∫ |Σ K_σ(t, p_i)(y_i − p_i)| dt / n over [0, 1], by Simpson's rule between the changes of sign."""
    mass = _residual_mass(y, p, w)
    images = _images(mass, sigma)
    scale = 1 / (sigma * math.sqrt(2 * math.pi))

    def density(t):
        near = [
            (t - centre, residual)
            for centre, residual in images
            if abs(t - centre) <= _REACH * sigma
        ]
        return math.fsum(
            residual * scale * math.exp(-0.5 * (d / sigma) ** 2) for d, residual in near
        )

    def simpson(a, b, at_a, at_b):
        return (b - a) / 6 * (at_a + 4 * density((a + b) / 2) + at_b)

    parts = []
    for start, stop in _covered(mass, _REACH * sigma):
        panels = math.ceil((stop - start) / (sigma / 12))
        ticks = [start + (stop - start) * j / panels for j in range(panels + 1)]
        for (a, at_a), (b, at_b) in itertools.pairwise([(t, density(t)) for t in ticks]):
            if at_a * at_b < 0:
                root = optimize.brentq(density, a, b, xtol=1e-15)
                parts += [abs(simpson(a, root, at_a, 0.0)), abs(simpson(root, b, 0.0, at_b))]
            else:
                parts.append(abs(simpson(a, b, at_a, at_b)))
    return math.fsum(parts)


def _covered(mass, reach):
    """The parts of [0, 1] within reach of a score; a reflected image lies farther than its score does."""
    parts = []
    for score, _ in mass:
        start, stop = max(0.0, score - reach), min(1.0, score + reach)
        if parts and start <= parts[-1][1]:
            parts[-1][1] = max(stop, parts[-1][1])
        else:
            parts.append([start, stop])
    return parts


def smooth_ece(y, p, w=None, tolerance=1e-8):
    """The σ at which smECE_σ = σ, by bisection: smECE_σ falls in σ and is below one."""
    low, high = 0.0, 1.0
    while high - low > tolerance:
        middle = (low + high) / 2
        if smooth_ece_at(middle, y, p, w) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def slope_intercept(y, p, w=None):
    """(slope, intercept) of the logistic regression of y on logit p; nan when no finite fit exists.

    There is one exactly when the scores of the events and those of the others overlap.
    """
    ws = weights(w, len(y))
    rows = [
        (float(ws[i]), int(y[i]), math.log(p[i]) - math.log1p(-p[i]))
        for i in range(len(y))
        if ws[i] > 0
    ]
    zeros, ones = [x for _, label, x in rows if not label], [x for _, label, x in rows if label]
    if not zeros or not ones or max(zeros) <= min(ones) or max(ones) <= min(zeros):
        return math.nan, math.nan
    W = math.fsum(weight for weight, _, _ in rows)

    def loss(theta):
        slope, intercept = theta
        return (
            math.fsum(v * _logistic_loss(label, intercept + slope * x) for v, label, x in rows) / W
        )

    def derivatives(theta):
        slope, intercept = theta
        excess = [(v * (_expit(intercept + slope * x) - label), x) for v, label, x in rows]
        return [math.fsum(e * x for e, x in excess) / W, math.fsum(e for e, _ in excess) / W]

    rough = optimize.minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"maxfev": 10_000})
    fine = optimize.root(derivatives, rough.x, tol=1e-13)
    if max(abs(d) for d in derivatives(fine.x)) > 1e-10:
        raise ArithmeticError("the logistic regression did not converge")
    return float(fine.x[0]), float(fine.x[1])


def intercept_at_slope_one(y, p, w=None):
    """Calibration in the large: the a for which mean expit(logit p + a) is the rate; ±inf at rate 0 or 1."""
    ws = weights(w, len(y))
    rows = [
        (float(ws[i]), int(y[i]), math.log(p[i]) - math.log1p(-p[i]))
        for i in range(len(y))
        if ws[i] > 0
    ]
    if len({label for _, label, _ in rows}) == 1:
        return math.inf if rows[0][1] else -math.inf

    def excess(a):
        return math.fsum(weight * (_expit(a + x) - label) for weight, label, x in rows)

    reach = 1.0
    while excess(-reach) > 0 or excess(reach) < 0:
        reach *= 2
    return optimize.brentq(excess, -reach, reach, xtol=1e-14)


def _expit(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _logistic_loss(label, x):
    """−log of the probability that expit(x) gives to the label."""
    x = x if label else -x
    return max(-x, 0.0) + math.log1p(math.exp(-abs(x)))


def observed_expected(y, p, w=None):
    """Events over expected events."""
    _, events, scores = bin_sums(y, p, range(len(y)), w)
    if scores == 0:
        return math.inf if events > 0 else math.nan
    return float(events / scores)


# ------------------------------------------------------------------------------------- several classes


def confidence_view(P, y):
    """(correct, confidence) of the top label; the smallest index wins a tie."""
    correct, confidence = [], []
    for row, label in zip(P, y, strict=True):
        row = list(row)
        correct.append(int(row.index(max(row)) == label))
        confidence.append(max(row))
    return correct, confidence


def classwise(P, y, measure, w=None):
    """Mean over classes of `measure(labels, scores, weights)`, each class against the rest."""
    K = len(P[0])
    values = [measure([int(label == k) for label in y], [row[k] for row in P], w) for k in range(K)]
    return math.fsum(values) / K


def toplabel(P, y, measure, w=None):
    """Mean over rows of the measure of (correct, confidence) among the rows predicted as the same class."""
    ws = weights(w, len(y))
    correct, confidence = confidence_view(P, y)
    predicted = [list(row).index(max(row)) for row in P]
    total = []
    for c in range(len(P[0])):
        rows = [i for i in range(len(y)) if predicted[i] == c and ws[i] > 0]
        if rows:
            share = float(sum(ws[i] for i in rows) / sum(ws))
            own = None if w is None else [w[i] for i in rows]
            total.append(
                share * measure([correct[i] for i in rows], [confidence[i] for i in rows], own)
            )
    return math.fsum(total)
