"""Sums over segments of cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import weighted_rows

import trueness as tn
from trueness._tally.cells import pool_cells, pool_runs, score_sums, segment_sums


@pytest.mark.parametrize("n", [1, 512, 513, 40_000])
@pytest.mark.parametrize("weights", ["none", "whole", "other"])
def test_sums_of_scores_are_those_of_the_products_to_the_bit(n, weights):
    rng = np.random.default_rng(n)
    w = {"none": None, "whole": rng.integers(1, 5, n), "other": rng.random(n) + 0.1}[weights]
    cells = tn.tally(np.arange(n) % 2, rng.random(n), sample_weight=w).parts[0]
    for cuts in 0, 3, 50:
        starts = np.union1d([0], rng.integers(0, n, cuts))
        assert (
            score_sums(cells, starts).tolist()
            == segment_sums(cells.weight * cells.score, starts).tolist()
        )


@pytest.mark.parametrize("make", [tn.tally, tn.sketch])
@pytest.mark.parametrize("total", [2**35 - 1, 2**35, 2**35 + 7])
def test_the_form_of_whole_weights_depends_on_their_sum_and_not_on_the_pieces(make, total):
    y, p, w = [0, 1, 1], [0.2, 0.6, 0.601], [2**34, total - 2**34 - 2, 2]
    rows = [make([a], [b], sample_weight=[c]) for a, b, c in zip(y, p, w, strict=True)]
    one = make(y, p, sample_weight=w)
    for several in (one, sum(rows), rows[2] + (rows[1] + rows[0]), make([1], [0.6]) + one):
        assert several.parts[0].whole == (several.weight < 2**35)
    assert tn.ace(sum(rows), bins=2) == pytest.approx(
        tn.ace(y, p, bins=2, sample_weight=w), abs=1e-12
    )
    for asked in (lambda t: tn.tce(t, bins=1), lambda t: tn.squared_ece(t, bins=2)):
        if total < 2**35:
            assert asked(sum(rows)) == pytest.approx(asked(one))
    if total < 2**35:
        return
    for sums in (one, sum(rows)):
        with pytest.raises(tn.InputError, match="must be whole numbers that sum to less than 2³⁵"):
            tn.tce(sums, bins=1)
        with pytest.raises(
            tn.InputError, match=f"this {type(one).__name__} holds sampling weights"
        ):
            tn.squared_ece(sums, bins=2, weight_type="frequency")


def test_rows_without_weights_stay_exact_whatever_their_number():
    t = tn.tally([0, 1], [0.2, 0.7])
    for _ in range(36):
        t += t
    assert t.weight == 2**37
    assert t.parts[0].whole
    assert tn.Tally.from_bytes(t.to_bytes()) == t


@pytest.mark.parametrize(
    ("make", "bins"), [(tn.tally, (1, 2, 10)), (tn.sketch, (1, 2, 10)), (tn.binned, (2, 5, 10))]
)
def test_a_bin_of_any_number_of_rows_has_the_error_that_it_has(make, bins):
    """Of 2⁴² rows, whose sums as whole numbers would pass 64 bits many times."""
    rng = np.random.default_rng(0)
    p = rng.random(2**12)
    y = rng.random(p.size) < p
    few = many = make(y, p)
    for _ in range(30):
        many += many
    assert many.n == 2**42
    for n in bins:
        assert tn.ece(many, bins=n) == pytest.approx(tn.ece(few, bins=n), abs=1e-12)
        assert tn.ece(many.coarsen(10), bins=2) == pytest.approx(
            tn.ece(few.coarsen(10), bins=2), abs=1e-12
        )
    if make is not tn.binned:
        assert tn.brier(many) == pytest.approx(tn.brier(y, p), abs=1e-12)
        assert tn.observed_expected(many) == pytest.approx(tn.observed_expected(y, p), abs=1e-12)
    assert tn.sources.Binned.from_bytes(many.coarsen(2).to_bytes()) == many.coarsen(2)


@given(sample=weighted_rows(), most=st.integers(1, 8))
def test_pooled_cells_keep_the_sums_of_every_bin(sample, most):
    y, p, w = sample
    rule = tn.EqualWidth(3)
    cells = tn.tally(y, p, sample_weight=w).parts[0]
    few = pool_cells(cells, most, rule.group(cells).start)
    assert few.size <= most + 3
    whole, pooled = (rule.group(found) for found in (cells, few))
    for b in range(3):
        a, c = slice(*whole.start[b : b + 2]), slice(*pooled.start[b : b + 2])
        assert cells.weight[a].sum() == few.weight[c].sum()
        assert cells.events[a].sum() == few.events[c].sum()
        assert (cells.weight * cells.score)[a].sum() == pytest.approx(
            (few.weight * few.score)[c].sum()
        )


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_a_run_of_cells_has_the_sums_of_its_cells_and_their_mean_score(weights):
    rng = np.random.default_rng(3)
    p, y = np.round(rng.random(3000), 3), rng.integers(0, 2, 3000)
    w = {"none": None, "whole": rng.integers(1, 5, 3000), "real": rng.random(3000) + 0.1}[weights]
    cells = tn.tally(y, p, sample_weight=w).parts[0]
    start = np.array([0, 1, 2, 300, 900])
    few = pool_runs(cells, start)
    assert few.columns().keys() == cells.columns().keys()
    for i, run in enumerate(map(slice, start, [*start[1:], cells.size])):
        for name in cells.columns().keys() - {"score"}:
            same = pytest.approx(
                getattr(cells, name)[run].sum(), rel=1e-13 if weights == "real" else 0
            )
            assert getattr(few, name)[i] == same
        assert few.score[i] == pytest.approx(
            np.average(cells.score[run], weights=cells.weight[run]), rel=1e-13
        )
    assert few.weight.dtype == cells.weight.dtype
    assert few.whole == (weights != "real")


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("ends", [0, 1, 5])
@pytest.mark.parametrize("most", [1, 2, 7, 30])
def test_pools_end_where_the_weight_reaches_each_share_and_leave_the_outermost_cells_alone(
    weights, ends, most
):
    rng = np.random.default_rng(4)
    p, y = np.sort(rng.random(60)), rng.integers(0, 2, 60)
    w = {"none": None, "whole": rng.integers(1, 9, 60), "real": rng.uniform(0.1, 3, 60)}[weights]
    cells = tn.tally(y, p, sample_weight=w).parts[0]
    one = np.ones(60) if w is None else w
    first = {
        *range(ends + 1),
        *range(60 - ends, 60),
    }  # the first cell after those at the low end begins a pool
    for j in range(1, most):
        reached = next(
            i for i in range(60) if one[: i + 1].sum() >= j * one.sum() / most * (1 - 1e-12)
        )
        first.add(reached + 1)
    starts = sorted(start for start in first if start < 60)
    found = pool_cells(cells, most, ends=ends)
    for i, (a, b) in enumerate(zip(starts, [*starts[1:], 60], strict=True)):
        assert found.count[i] == b - a
        assert found.weight[i] == pytest.approx(one[a:b].sum(), rel=1e-12)
        assert found.events[i] == pytest.approx((one * y)[a:b].sum(), rel=1e-12)
        assert found.score[i] == pytest.approx(np.average(p[a:b], weights=one[a:b]), rel=1e-12)
    assert found.size == len(starts)
    assert found.score[:ends].tolist() == p[:ends].tolist()
    assert found.score[found.size - ends :].tolist() == p[60 - ends :].tolist()


def test_pools_are_remembered_by_their_number_and_ends():
    rng = np.random.default_rng(5)
    cells = tn.tally(rng.integers(0, 2, 50), rng.random(50)).parts[0]
    sizes = {
        (most, ends): pool_cells(cells, most, ends=ends).size for most in (5, 9) for ends in (0, 2)
    }
    assert sizes == {(5, 0): 5, (9, 0): 9, (5, 2): 9, (9, 2): 13}
    assert pool_cells(cells, 5) is pool_cells(cells, 5)
    assert pool_cells(cells, 5, np.array([0, 3])).size == 6  # not the one that is remembered
    assert pool_cells(cells, 5).size == 5
    assert pool_cells(cells, 50) is cells
    assert pool_cells(cells, 49) is not cells


def test_sums_hold_as_many_rows_as_floats_can_count():
    data = tn.tally([0], [0.5]).to_dict()

    def many(rows):
        return tn.Tally.from_dict(
            {**data, "parts": [{**data["parts"][0], "count": [rows], "weight": [rows]}]}
        )

    assert (many(2**52) + many(2**52)).n == 2**53
    with pytest.raises(tn.InputError, match="hold at most 9,007,199,254,740,992 rows"):
        many(2**52) + many(2**52 + 2)


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_tallies_of_every_kind_of_weight_add_to_the_tally_of_all_rows(weights):
    rng = np.random.default_rng(6)
    p, y = rng.random(40).round(1), rng.integers(0, 2, 40)
    w = {"none": np.ones(40), "whole": rng.integers(1, 4, 40), "real": rng.uniform(0.1, 2, 40)}[
        weights
    ]
    other = tn.tally(y[:15], p[:15])  # without weights: each row weighs 1
    w[:15] = 1
    for several in (
        other + tn.tally(y[15:], p[15:], sample_weight=w[15:]),
        tn.tally(y[15:], p[15:], sample_weight=w[15:]) + other,
    ):
        (cells,) = several.parts
        assert cells.score.tolist() == np.unique(p).tolist()
        for i, at in enumerate(cells.score):
            here = p == at
            assert cells.count[i] == here.sum()
            for name, values in (
                ("weight", w),
                ("events", w * y),
                ("squares", w * w),
                ("event_squares", w * w * y),
            ):
                assert getattr(cells, name)[i] == pytest.approx(values[here].sum(), rel=1e-12)
        assert cells.whole == (weights != "real")
        assert cells.totals == pytest.approx((40, w.sum(), w @ y), rel=1e-12)


def test_rows_of_no_cells_change_neither_sums_nor_their_form():
    empty = {"whole": tn.tally([], []), "real": tn.tally([0], [0.5], sample_weight=[0.5])}
    real_empty = tn.Tally.from_dict(
        {
            **empty["whole"].to_dict(),
            "parts": [
                {"whole": False}
                | {
                    name: []
                    for name in ("score", "count", "weight", "events", "squares", "event_squares")
                }
            ],
        }
    )
    for sums in (
        tn.tally([0, 1], [0.2, 0.7]),
        tn.tally([0, 1], [0.2, 0.7], sample_weight=[2, 3]),
        empty["real"],
    ):
        assert sums + empty["whole"] == sums == empty["whole"] + sums
        for added in (sums + real_empty, real_empty + sums):
            assert not added.parts[0].whole
            assert (added.n, added.weight) == (sums.n, sums.weight)


def test_long_sums_of_floats_keep_their_digits():
    """Added one after another, a million times 0.1 is 100000.0000013."""
    found = segment_sums(np.full(1_000_010, 0.1), np.array([0, 10]))
    assert found == pytest.approx([1, 100_000], rel=1e-13)
