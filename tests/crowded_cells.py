"""Rows that crowd few cells of a sketch, in orders that mislead: what a sketch does not know is what matters here."""

import numpy as np
from hypothesis import strategies as st

from trueness._kernels.grid import grid_edges

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
