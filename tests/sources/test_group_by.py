"""A sketch made where the rows lie: its cells, its weights, the ways it goes; the contract has every engine."""

import duckdb
import numpy as np
import polars as pl
import pytest
from engine_cases import grid
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn

OPTIONS = {"label": "y", "prob": "p", "bins": "sketch"}
SCORES = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1).map(lambda p: 1 - p),
    st.integers(1, 1074).map(lambda k: 2.0**-k),
    st.sampled_from(grid.tolist()),
)
GROUPS = st.sampled_from([0.25, 0.5, 0.75])  # groups of floats are left to a group-by


@given(rows=st.lists(st.tuples(st.integers(0, 1), SCORES, GROUPS), min_size=1, max_size=60))
def test_groups_of_any_rows_add_up_to_the_sketch_of_memory(rows):
    y, p, g = (np.array(column) for column in zip(*rows, strict=True))
    found = tn.scan_groups(pl.LazyFrame({"y": y, "p": p, "g": g}), by="g", **OPTIONS)
    assert sum(found.values()).to_bytes() == tn.sketch(y, p).to_bytes()


@given(st.lists(st.tuples(st.integers(0, 1), SCORES, st.integers(0, 9)), min_size=1, max_size=40))
def test_whole_weights_are_exact_and_are_the_row_so_often(rows):
    y, p, w = (np.array(column) for column in zip(*rows, strict=True))
    if w.sum() == 0:
        w[0] = 1
    frame = pl.LazyFrame({"y": y, "p": p, "w": w, "g": np.full(p.size, 0.5)})
    found = tn.scan_groups(frame, by="g", weight="w", **OPTIONS)[0.5]
    assert found.to_bytes() == tn.sketch(y, p, sample_weight=w).to_bytes()
    assert (
        found.parts[0].table == tn.sketch(np.repeat(y, w), np.repeat(p, w)).parts[0].table
    ).all()


@given(
    st.lists(
        st.tuples(SCORES.filter(lambda p: p > 2.0**-60), st.floats(1e-9, 1e9)),
        min_size=1,
        max_size=40,
    )
)
def test_other_weights_keep_twelve_digits_in_every_cell(rows):
    p, w = (np.array(column) for column in zip(*rows, strict=True))
    y, w = np.arange(p.size) % 2, w * 1.1
    frame = pl.LazyFrame({"y": y, "p": p, "w": w, "g": np.full(p.size, 0.5)})
    found = tn.scan_groups(frame, by="g", weight="w", **OPTIONS)[0.5].parts[0]
    wanted = tn.sketch(y, p, sample_weight=w).parts[0]
    assert found.ends.tolist() == wanted.ends.tolist()
    # Below 2⁻³¹ lies one cell, and digits count from its upper end.
    floor = np.where(wanted.cell == 1, 1e-12 * wanted.weight, 0)[:, None]
    for name, unit in (
        ("by_label", 0),
        ("scores_by_label", 2.0**-31),
        ("squares_by_label", 2.0**-62),
        ("squares", 0),
    ):
        mine, theirs = getattr(found, name), getattr(wanted, name)
        assert (np.abs(mine - theirs) <= 1e-12 * theirs + floor * unit).all(), name


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("many", [2.0**34, 2.0**70])
@pytest.mark.parametrize("batches", [True, False])
def test_weights_whose_products_pass_64_bits_are_summed_as_floats(engine, many, batches):
    rows = pl.DataFrame({"y": [0, 1] * 40, "p": [0.9] * 80, "w": [3.0, many] * 40})
    names = [1, 2] if batches else [0.5, 1.5]  # groups of floats are left to a group-by
    rows = rows.with_columns(g=pl.Series(names * 40))
    source = duckdb.sql("from rows") if engine == "duckdb" else rows.lazy()
    found = tn.scan_groups(source, by="g", weight="w", **OPTIONS)
    for key, w in zip(names, (3.0, many), strict=True):
        part = found[key].parts[0]
        assert part.weight.tolist() == [40 * w]
        assert part.sum_score[0] == pytest.approx(36 * w, rel=1e-12)


def test_a_scan_joins_an_accumulator_and_its_file(tmp_path):
    rows = pl.LazyFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.9], "day": ["mon", "mon", "tue"]})
    seen = tn.Accumulator(by="day")
    seen.merge(tn.scan_groups(rows, by="day", **OPTIONS))
    seen.save(tmp_path / "days.tally")
    assert tn.Accumulator.load(tmp_path / "days.tally").total == tn.sketch(
        [0, 1, 1], [0.2, 0.7, 0.9]
    )
