"""Limits of the sums of a sketch include the sums of the rows."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.isotonic import IsotonicRegression

import trueness as tn
from trueness._kernels.grid import cell_of, grid_edges
from trueness._tally.rules import as_rule
from trueness.measure._limits import _excess, _layout, _longest, _shortest

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

ORDERS = ("others first", "events first", "alternating", "mixed", "few scores", "one score", "many tie with the last")


def rows_of_cell(cell, n, events, order, seed):
    """`n` rows inside one cell, `events` of them with label 1 (in all orders but the alternating one)."""
    rng = np.random.default_rng(seed)
    low, high = grid_edges()[cell], np.nextafter(grid_edges()[cell + 1], 0)
    p = np.sort(rng.uniform(low, high, n))
    y = (np.arange(n) < events).astype(int)
    if order == "others first":
        y = y[::-1]
    elif order == "alternating":
        y = np.arange(n) % 2
    elif order != "events first":
        y = rng.permutation(y)
    if order == "few scores":
        p = np.sort(rng.choice(p[: max(1, n // 4)], n))
    elif order == "one score":
        p[:] = p[0]
    elif order == "many tie with the last":
        p[n // 3 :] = p[n // 3]
    return y, p


@st.composite
def crowds(draw, most_cells=7, most_rows=25):
    """Labels and scores, several rows in most of the cells that have any."""
    cells = draw(st.lists(st.integers(3300, 4300), min_size=1, max_size=most_cells, unique=True))
    pieces = []
    for cell in sorted(cells):
        n = draw(st.integers(1, most_rows))
        pieces.append(
            rows_of_cell(cell, n, draw(st.integers(0, n)), draw(st.sampled_from(ORDERS)), draw(st.integers(0, 99)))
        )
    y, p = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return (np.r_[y, 0, 1], np.r_[p, 0.01, 0.99]) if y.size < 3 else (y, p)


RULES = [4, 10, [0, 0.4, 0.4501, 0.4502, 1], tn.EqualMass(2), tn.EqualMass(7)]


def excess_below_edges(y, p, w, rule):
    """Σw(y − p) of the rows below each edge, from the bins of the rows themselves."""
    bins = tn.tally(y, p, sample_weight=w).coarsen(rule).parts[0]
    return np.concatenate([[0.0], np.cumsum(bins.excess)])


@pytest.mark.parametrize("bins", RULES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@given(rows=crowds(), seed=st.integers(0, 99))
def test_windows_include_the_sums_below_each_edge(bins, weighted, rows, seed):
    y, p = rows
    w = np.random.default_rng(seed).integers(1, 4, y.size) if weighted else None
    rule = as_rule(bins)
    part = tn.sketch(y, p, sample_weight=w).parts[0]
    windows = _layout(part, rule).below_edges(*_excess(part))
    exact = excess_below_edges(y, p, w, rule)
    if isinstance(rule, tn.EqualMass):  # tied scores can make cuts of the rows coincide: those bins vanish
        assert any_order_fits(windows, exact)
    else:
        assert (windows.low <= exact + 1e-9).all()
        assert (exact <= windows.high + 1e-9).all()


def any_order_fits(windows, exact):
    """Whether every sum of the rows fits some window, in order."""
    at = 0
    for total in exact:
        while at < windows.low.size and not windows.low[at] - 1e-9 <= total <= windows.high[at] + 1e-9:
            at += 1
        if at == windows.low.size:
            return False
    return True


def test_a_cut_at_the_end_of_a_cell_may_lie_in_the_next_if_weights_only_add_up_nearly():
    part = tn.sketch([0, 1, 0, 1], [0.2, 0.2001, 0.7, 0.7001], sample_weight=[0.1, 0.2, 0.1, 0.2]).parts[0]
    layout = _layout(part, tn.EqualMass(2))
    assert layout.first.tolist() == [0, 0]
    assert layout.last.tolist() == [1, 1]


def test_a_tie_is_never_split():
    part = tn.sketch([0, 1, 0, 1], [0.2, 0.2, 0.2, 0.7]).parts[0]
    layout = _layout(part, tn.EqualMass(2))
    assert (layout.first.tolist(), layout.last.tolist()) == ([0, 1], [0, 1])


@settings(max_examples=8)
@given(seed=st.integers(0, 2**20))
def test_every_arrangement_of_one_sketch_lies_within_its_limits(seed):
    """0, 3, 5, 6 and 1, 2, 4, 7 have equal counts, sums and sums of squares: a sketch cannot tell which are events."""
    rng = np.random.default_rng(seed)
    place = np.arange(8)
    first = np.isin(place, [0, 3, 5, 6])
    cells = np.sort(rng.choice(np.arange(8, 24), 7, replace=False))
    times = rng.integers(1, 5, cells.size)
    p = np.concatenate([np.repeat(c / 32 + (1 + place) * 2.0**-14, t) for c, t in zip(cells, times, strict=True)])

    def arrangement():
        return np.concatenate([np.repeat(first ^ (rng.random() < 0.5), t) for t in times]).astype(int)

    sketch = tn.sketch(arrangement(), p)
    edges = [0, *(cells / 32 + 4.5 * 2.0**-14), 1]
    cases = [(measure, bins) for measure in (tn.ece, tn.mce, tn.squared_ece) for bins in (edges, tn.EqualMass(6))]
    limits = [tn.bounded(measure, sketch, bins=bins) for measure, bins in cases]
    for _ in range(20):
        y = arrangement()
        assert tn.sketch(y, p) == sketch
        for (measure, bins), result in zip(cases, limits, strict=True):
            assert result.low <= measure(y, p, bins=bins) <= result.high


@pytest.mark.all_cases
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [8, 60])
@pytest.mark.parametrize("bins", [10, 7, tn.EqualMass(10)], ids=str)
def test_an_order_that_all_cells_share_stays_within_the_limits(order, n, bins):
    rng = np.random.default_rng(n)
    pieces = [rows_of_cell(c, n, rng.binomial(n, (c - 3300) / 1000), order, c) for c in range(3320, 4300, 25)]
    y, p = (np.concatenate(column) for column in zip(*pieces, strict=True))
    for measure, options in ((tn.ece, {}), (tn.ece, {"norm": "l2"}), (tn.mce, {}), (tn.squared_ece, {})):
        result, exact = tn.bounded(measure, tn.sketch(y, p), bins=bins, **options), measure(y, p, bins=bins, **options)
        assert result.low <= exact <= result.high


# ----------------------------------------------------------- the limits themselves, by loops over cells, bins and pairs


def crossing_rows(seed, weights="none"):
    """Several rows in cells that edges of ten bins cut, or whose scores are all equal, and in cells between them."""
    rng = np.random.default_rng(seed)
    centre = rng.choice([0.1, 0.2, 0.3, 0.6, 0.9, 0.05, 0.44, 0.71], 90)
    p = centre + rng.uniform(-2e-4, 2e-4, 90)
    p[centre == 0.71] = 0.71
    p = np.concatenate([p, [0.02, 0.97]])
    y = (rng.random(92) < rng.choice([0.1, 0.5, 0.9], 92)).astype(int)
    w = {"none": np.ones(92), "whole": rng.integers(1, 4, 92), "any": rng.uniform(0.5, 2, 92)}[weights]
    return y, p, w


class Cell:
    """The rows of a cell of the grid."""

    def __init__(self, y, p, w):
        self.y, self.p, self.w = y, p, w
        self.weight, self.tied = w.sum(), p.min() == p.max()
        self.excess = (w * (y - p)).sum()
        self.least, self.most = -(w * p)[y == 0].sum(), (w * (1 - p))[y == 1].sum()  # of any part of the cell
        self.squares = (w * (y - p) ** 2).sum()


def cells_of(y, p, w):
    number = cell_of(p)
    return [Cell(y[number == c], p[number == c], w[number == c]) for c in np.unique(number)]


def bins_of_cells(cells, rule):
    """The first and the last bin that rows of each cell can lie in, and how many bins there are."""
    if isinstance(rule, tn.EqualMass):
        reached = np.cumsum([cell.weight for cell in cells])
        units = [j * reached[-1] / rule.n for j in range(1, rule.n)]
        units = [math.floor(unit) for unit in units] if float(reached[-1]).is_integer() else units
        cuts = [next(c for c, total in enumerate(reached) if total >= unit) for unit in units]
        inside = [unit < reached[c] and not cells[c].tied for unit, c in zip(units, cuts, strict=True)]
        first = [sum(c < number for c in cuts) for number in range(len(cells))]
        split = [sum(c == number and s for c, s in zip(cuts, inside, strict=True)) for number in range(len(cells))]
        return [(a, a + b) for a, b in zip(first, split, strict=True)], rule.n
    edges = as_rule(rule).fixed_edges
    bin_of = [
        max(b for b in range(edges.size - 1) if edges[b] <= x) for cell in cells for x in (cell.p.min(), cell.p.max())
    ]
    return list(zip(bin_of[::2], bin_of[1::2], strict=True)), edges.size - 1


def windows_of_bins(cells, where, n_bins):
    """Per bin, the limits of its weight, of |Σw(y − p)| and of Σw(y − p)²."""
    found = []
    for b in range(n_bins):
        weight, excess, squares = np.zeros(2), np.zeros(2), np.zeros(2)
        for cell, (first, last) in zip(cells, where, strict=True):
            if first == last == b:
                weight, excess, squares = weight + cell.weight, excess + cell.excess, squares + cell.squares
            elif first <= b <= last:
                weight = weight + np.array([0, cell.weight])
                excess = excess + np.array([cell.least, cell.most])
                squares = squares + np.array([0, cell.squares])
        nearest = 0 if excess[0] <= 0 <= excess[1] else min(abs(excess))
        found.append((weight, np.array([nearest, min(max(abs(excess)), weight[1])]), squares))
    return found


def l1_limits(cells, where, n_bins):
    """The shortest and the longest walk through what the sums below each edge can be."""
    low, high = np.zeros(n_bins + 1), np.zeros(n_bins + 1)
    for edge in range(n_bins + 1):
        for cell, (first, last) in zip(cells, where, strict=True):
            whole, cut = last < edge, first < edge <= last
            low[edge] += cell.excess if whole else cell.least if cut else 0
            high[edge] += cell.excess if whole else cell.most if cut else 0
    # Σt, with t at least the length of each step in both directions.
    steps = np.diff(np.eye(n_bins + 1), axis=0)
    rows = np.block([[steps, -np.eye(n_bins)], [-steps, -np.eye(n_bins)]])
    bounds = [*zip(low, high, strict=True), *[(0, None)] * n_bins]
    shortest = linprog(np.r_[np.zeros(n_bins + 1), np.ones(n_bins)], rows, np.zeros(2 * n_bins), bounds=bounds).fun
    corners = itertools.product(*({a, b} for a, b in zip(low, high, strict=True)))
    longest = max(np.abs(np.diff(corner)).sum() for corner in corners)
    return shortest, longest


RULES_THAT_CUT = [10, [0, 0.1, 0.10005, 0.1001, 0.6, 1], [0, 0.03, 0.44, 0.95, 1], tn.EqualMass(3), tn.EqualMass(8)]
cutting = pytest.mark.parametrize("rule", RULES_THAT_CUT, ids=str)
weighted = pytest.mark.parametrize("weights", ["none", "whole", "any"])


@pytest.mark.all_cases
@cutting
@weighted
def test_limits_of_the_l1_error_are_the_shortest_and_the_longest_walk(rule, weights):
    y, p, w = crossing_rows(1, weights)
    found = tn.bounded(tn.ece, tn.sketch(y, p, sample_weight=w), bins=rule)
    cells = cells_of(y, p, w)
    low, high = l1_limits(cells, *bins_of_cells(cells, rule))
    assert (found.low, found.high) == pytest.approx((low / w.sum(), high / w.sum()), abs=1e-8)


@pytest.mark.all_cases
@cutting
@weighted
def test_limits_of_other_norms_come_from_the_limits_of_each_bin(rule, weights):
    y, p, w = crossing_rows(3, weights)
    cells, sketch = cells_of(y, p, w), tn.sketch(y, p, sample_weight=w)
    windows = windows_of_bins(cells, *bins_of_cells(cells, rule))
    filled = [(weight, gap) for weight, gap, _ in windows if weight[1] > 0]
    for loss, degree, q in ((1, "l2", 2), (1, 3, 3), (2, "l1", 2), (2, "l2", 4)):
        low = sum(weight[1] * (gap[0] / weight[1]) ** q for weight, gap in filled)
        # Of all weights that the bin can have, some give the largest w·(gap/w)^q.
        high = 0
        for weight, gap in filled:
            some = np.unique(np.append(np.linspace(*weight, 50), np.clip(gap[1], *weight)))
            high += max(x * (min(gap[1], x) / x) ** q for x in some if x > 0) if gap[1] > 0 else 0
        root = 1 / 2 if q == 4 else 1 / (q / loss)
        expected = [(end / w.sum()) ** root for end in (low, high)]
        found = tn.bounded(tn.gce, sketch, bins=rule, norm=degree, loss="absolute" if loss == 1 else "squared")
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-8)
    low = max(gap[0] / weight[1] for weight, gap in filled if weight[0] > 0)
    high = max(min(gap[1] / weight[0], 1) if weight[0] > 0 else 1 for weight, gap in filled)
    found = tn.bounded(tn.mce, sketch, bins=rule)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-8)
    found = tn.bounded(tn.gce, sketch, bins=rule, norm="max", loss="squared")
    assert (found.low, found.high) == pytest.approx((low**2, high**2), abs=1e-8)


@pytest.mark.all_cases
@cutting
@pytest.mark.parametrize("weights", ["none", "whole"])
def test_limits_of_the_squared_error_come_from_every_number_of_rows_a_bin_can_have(rule, weights):
    y, p, w = crossing_rows(4, weights)
    cells = cells_of(y, p, w)
    low = high = 0
    for weight, gap, squares in windows_of_bins(cells, *bins_of_cells(cells, rule)):
        pairs = range(max(2, int(weight[0])), int(weight[1]) + 1)
        alone = [0.0] if weight[0] < 2 else []
        low += min([*alone, *((gap[0] ** 2 - squares[1]) / (n - 1) for n in pairs)])
        # (Σu)² ≤ n Σu²: no bin adds more than Σu².
        high += max([*alone, *(min((gap[1] ** 2 - squares[0]) / (n - 1), squares[1]) for n in pairs)])
    found = tn.bounded(tn.squared_ece, tn.sketch(y, p, sample_weight=w), bins=rule)
    assert (found.low, found.high) == pytest.approx((low / w.sum(), high / w.sum()), abs=1e-8)


@weighted
def test_limits_of_the_area_count_pairs_inside_a_cell_as_unknown(weights):
    y, p, w = crossing_rows(6, weights)
    number = cell_of(p)
    low = high = total = 0
    for i, j in itertools.product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        pair = w[i] * w[j]
        total += pair
        if number[i] != number[j]:
            low, high = low + pair * (p[i] > p[j]), high + pair * (p[i] > p[j])
        elif np.ptp(p[number == number[i]]) == 0:
            low, high = low + pair / 2, high + pair / 2
        else:
            high += pair
    found = tn.bounded(tn.auc, tn.sketch(y, p, sample_weight=w))
    assert (found.low, found.high) == pytest.approx((low / total, high / total), abs=1e-8)


@pytest.mark.all_cases
@weighted
@pytest.mark.parametrize("seed", [8, 9, 10])
def test_limits_of_a_walk_let_it_climb_with_all_events_of_a_cell_or_fall_with_all_others(weights, seed):
    y, p, w = crossing_rows(seed, weights)
    if seed > 8:  # first up and then down, far below 0; and the other way round
        y = np.where((p < 0.35) == (seed == 9), np.maximum(y, p > 0.1), np.minimum(y, p > 0.9))
    at, ends, turns = 0.0, [0.0], [0.0]
    for cell in cells_of(y, p, w):
        turns += [] if cell.tied else [at + cell.least, at + cell.most]
        at += cell.excess
        ends.append(at)
    turns += ends
    sketch = tn.sketch(y, p, sample_weight=w)
    for name, length in (("ks", lambda x: max(map(abs, x))), ("kuiper", np.ptp)):
        found = tn.bounded(name, sketch)
        assert (found.low, found.high) == pytest.approx((length(ends) / w.sum(), length(turns) / w.sum()), abs=1e-8)
        assert found.value == pytest.approx(found.low, abs=1e-9)


@weighted
def test_limits_of_the_log_loss_put_all_scores_at_the_mean_or_at_the_ends(weights):
    y, p, w = crossing_rows(11, weights)
    low = high = 0
    for cell in cells_of(y, p, w):
        for label, q in ((1, cell.p), (0, 1 - cell.p)):  # the probability of the label
            of = cell.y == label
            if of.any():
                n, mean = cell.w[of].sum(), np.average(q[of], weights=cell.w[of])
                share = (q.max() - mean) / np.ptp(q) if np.ptp(q) else 0.0
                low += -n * np.log(mean)
                high += -n * (share * np.log(q.min()) + (1 - share) * np.log(q.max()))
    found = tn.bounded(tn.log_loss, tn.sketch(y, p, sample_weight=w))
    assert (found.low, found.high) == pytest.approx((low / w.sum(), high / w.sum()), abs=1e-9)


@weighted
@pytest.mark.parametrize("score", ["brier", "log"])
def test_limits_of_corp_take_each_cell_as_a_tie_or_its_others_first(weights, score):
    y, p, w = crossing_rows(12, weights)

    def mean_loss(label, forecast):
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = -np.where(label == 1, np.log(forecast), np.log1p(-forecast))
        return np.average((label - forecast) ** 2 if score == "brier" else logs, weights=w)

    def isotonic(x):
        return mean_loss(y, IsotonicRegression().fit(x, y, sample_weight=w).predict(x))

    cell = cell_of(p)
    tied = np.array([np.ptp(p[cell == one]) == 0 for one in cell])
    as_ties, others_first = isotonic(cell), isotonic(cell + 0.5 * y * ~tied)
    base = mean_loss(y, np.full(y.size, np.average(y, weights=w)))
    sketch = tn.sketch(y, p, sample_weight=w)
    own = tn.bounded(tn.brier if score == "brier" else tn.log_loss, sketch)
    for name, low, high in (
        ("miscalibration", own.low - as_ties, own.high - others_first),
        ("discrimination", base - as_ties, base - others_first),
    ):
        found = tn.bounded(name, sketch, score=score)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-8)
        assert found.high > found.low + 1e-4


@weighted
def test_limits_of_what_needs_only_sums_are_the_value(weights):
    y, p, w = crossing_rows(13, weights)
    sketch = tn.sketch(y, p, sample_weight=w)
    for measure, value in (
        (tn.brier, np.average((y - p) ** 2, weights=w)),
        (tn.observed_expected, (w @ y) / (w @ p)),
    ):
        found = tn.bounded(measure, sketch)
        assert (found.low, found.high) == pytest.approx((value, value), abs=1e-8)
        assert found.low <= value <= found.high


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_limits_of_a_matrix_are_those_of_its_binary_problems(kind):
    rng = np.random.default_rng(14)
    top = rng.choice([0.5, 0.6, 0.7, 0.9], 300) + rng.uniform(-3e-4, 3e-4, 300)
    share = rng.uniform(0.2, 0.8, 300)
    P = np.column_stack([top, (1 - top) * share, (1 - top) * (1 - share)])
    P = np.take_along_axis(P, rng.permuted(np.tile(np.arange(3), (300, 1)), axis=1), axis=1)
    y, predicted = rng.integers(0, 3, 300), P.argmax(axis=1)
    problems = {
        "classwise": [(y == k, P[:, k], 1) for k in range(3)],
        "confidence": [(y == predicted, P.max(axis=1), 1)],
        "top-label": [
            ((y == k)[predicted == k], P.max(axis=1)[predicted == k], (predicted == k).sum()) for k in range(3)
        ],
    }[kind]
    sketch = tn.sketch(y, P, kind=kind)
    for measure, options, factor in (
        (tn.ece, {"bins": 10}, 1),
        (tn.mce, {"bins": 10}, 1),
        (tn.ace, {"bins": 6}, 1),
        (tn.squared_ece, {"bins": 10, "kind": kind}, 1),
        (tn.observed_expected, {}, 1),
        (tn.auc, {}, 1),
        (tn.brier, {}, 3 if kind == "classwise" else 1),
        ("miscalibration", {}, 3 if kind == "classwise" else 1),
        ("discrimination", {"score": "log"}, 1),
    ):
        own = {name: value for name, value in options.items() if name != "kind"}
        each = [tn.bounded(measure, tn.sketch(label, score), **own) for label, score, _ in problems]
        shares = [weight for *_, weight in problems]
        found = tn.bounded(measure, sketch, **options)
        for side in ("low", "high"):
            expected = factor * np.average([getattr(one, side) for one in each], weights=shares)
            assert getattr(found, side) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_that_no_edge_cuts_have_their_value(weighted):
    """Bins of no, one, two and three rows; two of these rows share a cell with different scores."""
    p = np.array([0.1, 0.3, 0.3004, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95])
    y = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1])
    w = np.array([1, 1, 1, 1, 1, 2, 1, 1, 1]) if weighted else np.ones(9, int)
    sketch = tn.sketch(y, p, sample_weight=w)
    for measure, options in (
        (tn.ece, {}),
        (tn.ece, {"norm": "l2"}),
        (tn.mce, {}),
        (tn.squared_ece, {}),
        (tn.gce, {"loss": "squared"}),
    ):
        for bins in ([0, 0.25, 0.5, 0.625, 0.6875, 0.75, 1], 16, 1):
            exact = measure(np.repeat(y, w), np.repeat(p, w), bins=bins, **options)
            found = tn.bounded(measure, sketch, bins=bins, **options)
            assert (found.low, found.value, found.high) == pytest.approx((exact, exact, exact), abs=1e-9)
    if not weighted:  # the only pair contradicts itself
        assert tn.bounded(tn.squared_ece, sketch, bins=16).high < 0


def test_one_pair_inside_a_cell_may_be_in_order_or_not():
    found = tn.bounded(tn.auc, tn.sketch([0, 1], [0.3, 0.3001]))
    assert (found.low, found.high) == pytest.approx((0, 1), abs=1e-9)
    alone = tn.bounded(tn.auc, tn.sketch([1, 1], [0.3, 0.3001]))
    assert math.isnan(alone.value)
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)


@pytest.mark.parametrize("edges", [[0.3002, 0.5, 1], [0, 0.5, 0.7002]])
def test_edges_that_leave_out_a_part_of_a_cell_are_refused_at_either_end(edges):
    sketch = tn.sketch([0, 1, 0, 1], [0.3, 0.3004, 0.7, 0.7004])
    with pytest.raises(tn.InputError, match=r"must cover every (cell|score)"):
        tn.bounded(tn.ece, sketch, bins=edges)
    assert tn.bounded(tn.ece, sketch, bins=[0.3, 0.5, 0.7004]).error < 1e-9


def test_no_events_and_scores_of_nearly_zero_leave_the_ratio_between_zero_and_zero():
    for p in ([0.3, 0.3001, 0.7], [0.0, 0.0, 0.7]):
        found = tn.bounded(tn.observed_expected, tn.sketch([0, 0, 0], p))
        assert (found.low, found.value, found.high) == pytest.approx((0, 0, 0), abs=1e-9)


def test_scores_of_zero_leave_a_ratio_without_events_undefined_unless_one_may_be_above():
    found = tn.bounded(tn.observed_expected, tn.sketch([0, 0], [0.0, 0.0]))
    assert np.isnan([found.low, found.high]).all()
    found = tn.bounded(tn.observed_expected, tn.sketch([0, 0], [0.0, 5e-324]))
    assert (found.low, found.high) == pytest.approx((0, 0), abs=1e-9)


def test_walks_through_windows_are_those_of_a_search_over_their_ends_and_middles():
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 4):
        for _ in range(20):
            low = rng.integers(0, 9, n).astype(float)
            high = low + rng.integers(0, 4, n)
            places = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
            lengths = [np.abs(np.diff(walk)).sum() for walk in itertools.product(*places)]
            assert (_shortest((low, high)), _longest((low, high))) == (min(lengths), max(lengths))


@weighted
def test_a_ratio_to_scores_below_the_unit_of_sums_takes_their_least_and_greatest(weights):
    """Scores are cut to multiples of 2⁻⁵³ before they are added: here to 0, or to few of them."""
    w = {"none": np.ones(4), "whole": np.array([1, 3, 2, 1]), "any": np.array([0.5, 1.5, 0.7, 1.1])}[weights]
    y, tiny = np.array([0, 1, 1, 0]), np.array([3e-17, 5e-17, 2e-17, 4e-17])
    found = tn.bounded(tn.observed_expected, tn.sketch(y, tiny, sample_weight=w))
    if weights != "any":
        low, high = (w @ y) / (w.sum() * 5e-17), (w @ y) / (w.sum() * 2e-17)
        assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
    small = np.array([3e-11, 4.1e-10, 2e-11, 4e-10])
    found = tn.bounded(tn.observed_expected, tn.sketch(y, small, sample_weight=w))
    exact = (w @ y) / (w @ small)
    assert found.low <= exact <= found.high
    assert (found.low, found.high) == pytest.approx((exact, exact), rel=1e-5)
    certain = tn.bounded(tn.observed_expected, tn.sketch(y, [0.0, 0.0, 1e-12, 0.0], sample_weight=w))
    assert certain.low <= (w @ y) / (w[2] * 1e-12) <= certain.high
