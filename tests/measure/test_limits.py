"""Limits of the sums of a sketch include the sums of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness as tn
from trueness._kernels.grid import grid_edges
from trueness._tally.rules import as_rule
from trueness.measure._limits import _excess, _layout

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
