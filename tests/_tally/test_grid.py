"""The sums of each cell of a sketch, against the rows of that cell."""

from functools import reduce
from operator import add

import numpy as np
import pytest

import trueness as tn
from trueness._input.sample import Sample
from trueness._kernels.grid import cell_of
from trueness._tally.grid import GridCells, PlacedCells, grid_of_rows

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

RNG = np.random.default_rng(1)
# Several scores in most cells, ties, and the ends.
P = np.concatenate(
    [
        0.3 + RNG.uniform(0, 8e-3, 60),
        RNG.random(20).round(1),
        RNG.random(20),
        [0.0, 1.0, 1e-12, 1.0],
    ]
)
Y = RNG.integers(0, 2, P.size)
WEIGHTS = {"none": None, "whole": RNG.integers(0, 4, P.size), "any": RNG.uniform(0, 2, P.size)}
PIECES = [np.arange(P.size) % 3 == i for i in range(3)]


def check_cells(part, y, p, w, weights):
    """Every column; `weights` says how Σw² is kept."""
    kept = w > 0
    y, p, w = y[kept], p[kept], w[kept]
    number = cell_of(p)
    assert part.cell.tolist() == np.unique(number).tolist()
    assert part.size == np.unique(number).size
    assert part.whole == (weights != "any")
    for i, c in enumerate(part.cell):
        here = number == c
        assert part.count[i] == here.sum()
        assert tuple(part.ends[i]) == (p[here].min(), p[here].max())
        for label in (0, 1):
            of = here & (y == label)
            assert part.by_label[i, label] == pytest.approx(w[of].sum(), rel=1e-12)
            assert part.scores_by_label[i, label] == pytest.approx(
                w[of] @ p[of], rel=1e-12, abs=1e-14
            )
            assert part.squares_by_label[i, label] == pytest.approx(
                w[of] @ p[of] ** 2, rel=1e-12, abs=1e-14
            )
            if weights != "none":
                assert part.squares[i, label] == pytest.approx(w[of] @ w[of], rel=1e-12)
        assert part.weight[i] == pytest.approx(w[here].sum(), rel=1e-12)
        assert part.events[i] == pytest.approx(w[here] @ y[here], rel=1e-12)
        assert part.sum_score[i] == pytest.approx(w[here] @ p[here], rel=1e-12, abs=1e-14)
        assert part.score[i] == pytest.approx(
            np.average(p[here], weights=w[here]), rel=1e-12, abs=1e-15
        )
    assert part.totals == pytest.approx((w.size, w.sum(), w @ y), rel=1e-12)
    assert (part.squares is None) == (weights == "none")
    cells = part.at_means()
    assert cells.score.tolist() == part.score.tolist()
    assert cells.weight == pytest.approx([w[number == c].sum() for c in part.cell], rel=1e-12)
    assert cells.events == pytest.approx([(w * y)[number == c].sum() for c in part.cell], rel=1e-12)
    if weights != "none":
        assert cells.squares == pytest.approx(
            [(w * w)[number == c].sum() for c in part.cell], rel=1e-12
        )
        assert cells.event_squares == pytest.approx(
            [(w * w * y)[number == c].sum() for c in part.cell], rel=1e-12
        )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_sums_of_a_cell_are_those_of_its_rows(weights):
    w = WEIGHTS[weights]
    check_cells(
        tn.sketch(Y, P, sample_weight=w).parts[0],
        Y,
        P,
        np.ones(P.size) if w is None else w,
        weights,
    )
    added = sum(tn.sketch(Y[i], P[i], sample_weight=None if w is None else w[i]) for i in PIECES)
    check_cells(added.parts[0], Y, P, np.ones(P.size) if w is None else w, weights)


@pytest.mark.parametrize(
    "kinds", [("none", "whole"), ("whole", "none"), ("any", "whole"), ("none", "any")]
)
def test_pieces_with_and_without_weights_add(kinds):
    pieces, used = [], np.ones(P.size)
    for kind, here in zip(
        kinds, (np.arange(P.size) % 2 == 0, np.arange(P.size) % 2 == 1), strict=True
    ):
        w = None if kind == "none" else WEIGHTS[kind][here]
        used[here] = 1 if w is None else w
        pieces.append(tn.sketch(Y[here], P[here], sample_weight=w))
    check_cells((pieces[0] + pieces[1]).parts[0], Y, P, used, "any" if "any" in kinds else "whole")


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_sketch_in_bins_that_cut_no_cell_has_the_sums_of_the_rows_in_these_bins(weights):
    w = WEIGHTS[weights]
    for bins in ([0, 0.25, 0.5, 1], 16, [0, 0.75, 0.875, 1]):
        found = tn.sketch(Y, P, sample_weight=w).coarsen(bins).parts[0]
        exact = tn.binned(Y, P, bins=bins, sample_weight=w).parts[0]
        for name in (
            "count",
            "weight",
            "events",
            "sum_score",
            "sum_square",
            "sum_event_score",
            "squares",
            "rate",
            "gap",
        ):
            assert getattr(found, name) == pytest.approx(
                getattr(exact, name), rel=1e-12, abs=1e-14, nan_ok=True
            )
        assert (found.whole, found.moments) == (exact.whole, True)


def test_a_cell_holds_two_to_the_36_rows_of_each_label():
    """Their sums of scores, of both labels together, would pass 64 bits."""
    one = tn.sketch([0, 1, 1], [0.75, 0.75, 0.2]).parts[0]
    factor = np.where(one.ends[:, 0] == 0.75, 2**36, 1)
    full = GridCells(one.cell, one.count * factor, one.ends, one.table * factor[:, None, None])
    at = int(np.flatnonzero(one.ends[:, 0] == 0.75)[0])
    assert full.sum_score[at] == 0.75 * 2**37
    assert (
        tn.sources.Sketch.from_dict(tn.sources.Sketch("binary", (full,)).to_dict()).parts[0] == full
    )
    half = GridCells(
        one.cell,
        one.count * (factor // 2 + 1),
        one.ends,
        one.table * (factor // 2 + 1)[:, None, None],
    )
    with pytest.raises(
        tn.InputError,
        match="at most 68,719,476,736 rows of one cell and label; these have 68,719,476,738",
    ):
        half + half
    exactly = GridCells(one.cell, one.count * 2**35, one.ends, one.table * 2**35)
    assert (exactly + exactly).by_label.max() == 2**37 // 2


def test_cells_of_other_kinds_are_not_equal():
    part = tn.sketch(Y, P).parts[0]
    assert part == tn.sketch(Y, P).parts[0]
    assert part != tn.sketch(1 - Y, P).parts[0]
    assert part != tn.sketch(Y, P, sample_weight=np.ones(P.size)).parts[0]
    assert part != "part"


def test_no_cells_change_nothing():
    for w in WEIGHTS.values():
        part = tn.sketch(Y, P, sample_weight=w).parts[0]
        assert GridCells.empty() + part == part == part + GridCells.empty()
        assert GridCells.empty().totals == (0, 0, 0)


@pytest.mark.parametrize("pieces", [1, 3])
def test_cells_by_place_are_those_of_each_place(pieces):
    rng = np.random.default_rng(pieces)
    p = np.concatenate([rng.uniform(size=500).round(2), [0.0, -0.0, 1.0, 2.0**-40] * 5])
    y = (rng.uniform(size=p.size) < 0.5).astype(np.int64)
    place = rng.integers(0, 40, p.size)
    at = np.array_split(rng.permutation(p.size), pieces)
    placed = [PlacedCells.of_rows(Sample(y[rows], p[rows]), place[rows]) for rows in at]
    grids = dict(reduce(PlacedCells.plus, placed).grids())
    assert sorted(grids) == np.unique(place).tolist()
    for code, grid in grids.items():
        rows = place == code
        assert grid == grid_of_rows(Sample(y[rows], p[rows]))


def test_pooled_is_the_sum_one_after_the_other():
    rng = np.random.default_rng(0)
    grids = []
    for n in (0, 1, 50, 300):
        p = rng.beta(0.5, 3, n)
        grids.append(grid_of_rows(Sample((rng.uniform(size=n) < p).astype(np.int64), p)))
    assert GridCells.pooled(grids) == reduce(add, grids)
    assert GridCells.pooled(grids[:1]) == GridCells.empty()
    weighted = grid_of_rows(Sample(np.array([0, 1]), np.array([0.2, 0.7]), np.array([0.5, 1.5])))
    assert GridCells.pooled([*grids, weighted]) == reduce(add, [*grids, weighted])
