"""Sums per bin: whole numbers while they fit, floats beyond, and what adding and coarsening keep."""

import numpy as np
import pytest

import trueness as tn
from trueness._tally.bins import Bins

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

RNG = np.random.default_rng(0)
Y, P = RNG.integers(0, 2, 200), RNG.random(200).round(2)
WEIGHTS = {"none": None, "whole": RNG.integers(0, 4, 200), "any": RNG.uniform(0, 2, 200)}
weighted = pytest.mark.parametrize("weights", WEIGHTS)


def rows_of_score_zero(others, events=0):
    """Bins of many rows of score 0, whose other sums are 0, and of none."""
    edges = np.array([0.0, 0.5, 1.0])
    table = np.zeros((2, 2, 5), dtype=np.int64)
    table[0, :, 0] = others, events
    return Bins(edges, table, moments=True)


def check_sums(bins, y, p, w, edges):
    """Every column, against the rows."""
    for b in range(edges.size - 1):
        here = (p >= edges[b]) & ((p < edges[b + 1]) | (b == edges.size - 2)) & (w > 0)
        wb, yb, pb = w[here], y[here], p[here]
        assert bins.count[b] == here.sum()
        assert bins.weight[b] == pytest.approx(wb.sum(), rel=1e-12)
        assert bins.events[b] == pytest.approx(wb @ yb, rel=1e-12)
        assert bins.sum_score[b] == pytest.approx(wb @ pb, rel=1e-12)
        assert bins.sum_square[b] == pytest.approx(wb @ pb**2, rel=1e-12)
        assert bins.sum_event_score[b] == pytest.approx(wb @ (yb * pb), rel=1e-12)
        assert bins.squares[b] == pytest.approx(wb.sum() if bins.whole else wb @ wb, rel=1e-12)
        assert bins.excess[b] == pytest.approx(wb @ (yb - pb), abs=1e-9)
        if here.any():
            assert bins.rate[b] == pytest.approx(np.average(yb, weights=wb), rel=1e-12)
            assert bins.score[b] == pytest.approx(np.average(pb, weights=wb), rel=1e-12)
            assert bins.gap[b] == pytest.approx(np.average(yb - pb, weights=wb), abs=1e-12)
        else:
            assert np.isnan([bins.rate[b], bins.score[b], bins.gap[b]]).all()
    kept = w > 0
    assert bins.totals == pytest.approx((kept.sum(), w.sum(), w @ y), rel=1e-12)


@weighted
@pytest.mark.parametrize("edges", [[0, 0.25, 0.5, 1], [0, 0.003, 0.004, 0.9, 1]])
def test_sums_of_bins_are_those_of_their_rows_however_they_were_made(weights, edges):
    given = WEIGHTS[weights]
    w, edges = np.ones(200) if given is None else given, np.array(edges, dtype=float)
    halves = [np.arange(200) < 90, np.arange(200) >= 90]
    some = [
        tn.binned(Y[h], P[h], bins=edges, sample_weight=None if given is None else given[h])
        for h in halves
    ]
    finer = np.unique([*edges, 0.25, 0.3, 0.7])
    for sums in (
        tn.binned(Y, P, bins=edges, sample_weight=given),
        tn.tally(Y, P, sample_weight=given).coarsen(edges),
        some[0] + some[1],
        tn.binned(Y, P, bins=finer, sample_weight=given).coarsen(edges),
        tn.tally(Y, P, sample_weight=given).coarsen(finer).coarsen(edges),
    ):
        (part,) = sums.parts
        assert part.edges.tolist() == edges.tolist()
        assert part.whole == (weights != "any")
        check_sums(part, Y, P, w, edges)
        assert repr(part) == f"Bins({edges.size - 1} bins, {(w > 0).sum()} rows)"


def test_sums_are_whole_numbers_up_to_two_to_the_36_rows_of_a_bin():
    half, one = rows_of_score_zero(2**34, 2**34), rows_of_score_zero(1)
    full = half + half
    assert full.table is not None
    assert full.weight.tolist() == [2**36, 0]
    assert full.totals == (2**36, 2**36, 2**35)
    more = full + one
    assert more.table is None
    assert more.weight.tolist() == [2**36 + 1, 0]
    assert more.totals == (2**36 + 1, 2**36 + 1, 2**35)
    assert more.whole


def test_merged_bins_and_cells_are_whole_numbers_up_to_the_same_limit():
    for rows, whole in ((2**36, True), (2**36 + 1, False)):
        upper = Bins(
            np.array([0.0, 0.0, 1.0]),
            np.array([[[rows - 5, 0, 0, 0, 0], [0] * 5], [[5, 0, 0, 0, 0], [0] * 5]]),
            moments=True,
        )
        merged = upper.coarsen(tn.Edges([0, 1]))
        assert (merged.table is not None) == whole
        assert merged.weight.tolist() == [rows]
        tally = tn.Tally.from_dict(
            {
                **tn.tally([0, 0], [0.0, 0.5]).to_dict(),
                "parts": [
                    {
                        "whole": True,
                        "score": [0.0, 0.5],
                        "count": [rows - 5, 5],
                        "weight": [rows - 5, 5],
                        "events": [0, 5],
                    }
                ],
            }
        )
        part = tally.coarsen(1).parts[0]
        assert (part.table is not None) == whole
        assert (part.weight.tolist(), part.events.tolist(), part.count.tolist()) == (
            [rows],
            [5],
            [rows],
        )
        assert part.sum_score.tolist() == [2.5]
        assert part.whole


def test_second_moments_of_a_sum_are_known_if_both_know_them():
    known = rows_of_score_zero(3)
    unknown = Bins(known.edges, known.table)
    assert [(a + b).moments for a in (known, unknown) for b in (known, unknown)] == [
        True,
        False,
        False,
        False,
    ]


def test_bins_are_equal_if_edges_sums_and_kind_of_weights_are():
    same = [tn.binned(Y, P, bins=3, sample_weight=np.full(200, 2)).parts[0] for _ in range(2)]
    assert same[0] == same[1]
    part = same[0]
    assert part != Bins(part.edges, None, part.floats, part.count, moments=True, whole=False)
    assert part != Bins(part.edges, None, part.floats, part.count + 1, moments=True)
    assert part != Bins(part.edges, None, part.floats * 2, part.count, moments=True)
    assert part != Bins(part.edges, np.zeros((3, 2, 5), np.int64), None, part.count, moments=True)
    assert part != tn.binned(Y, P, bins=3).parts[0]
    assert part != tn.binned(Y, P, bins=[0, 0.3, 0.6, 1], sample_weight=np.full(200, 2)).parts[0]
    assert part != "part"


@pytest.mark.parametrize("edges", [[0.2, 0.5, 1], [0, 0.2, 0.5], [0, 0.3, 1], [0, 0.5, 0.9]])
def test_coarser_edges_must_be_among_the_edges_and_keep_both_ends(edges):
    sums = tn.binned(Y, P, bins=[0, 0.2, 0.5, 1])
    with pytest.raises(
        tn.InputError,
        match=r"must be a coarsening of the 3 bins at hand; .*Pass their edges as `bins`",
    ):
        sums.coarsen(edges)
    with pytest.raises(
        tn.InputError, match="must be a coarsening of the 3 bins at hand; EqualMass"
    ):
        sums.coarsen(tn.EqualMass(2))
    assert sums.coarsen([0, 0.5, 1]).parts[0].count.sum() == 200
    assert sums.coarsen(1).parts[0].count.tolist() == [200]
    assert sums.coarsen([0, 0.2, 0.5, 1]) == sums


def test_bins_of_equal_width_name_their_number_when_others_are_asked_for():
    with pytest.raises(tn.InputError, match="Pass `bins=4` to measure these sums"):
        tn.ece(tn.binned(Y, P, bins=4), bins=3)


def test_empty_bins_have_no_rows_and_add_nothing():
    empty = tn.binned([], [], bins=3)
    assert empty.parts[0].totals == (0, 0, 0)
    assert empty.parts[0].sum_square.tolist() == [0, 0, 0]
    sums = tn.binned(Y, P, bins=3)
    assert sums + empty == sums
    assert tn.tally([], []).coarsen(3) == empty
