"""A sketch made where the rows lie: its cells, its weights, the ways it goes; the contract has every engine."""

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trueness as tn
from trueness._kernels.grid import cell_of, grid_edges
from trueness.sources import _scan
from trueness.sources._group_by import with_grid_cell

OPTIONS = {"label": "y", "prob": "p", "bins": "sketch"}
SCORES = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1).map(lambda p: 1 - p),
    st.integers(1, 1074).map(lambda k: 2.0**-k),
    st.sampled_from(grid_edges().tolist()),
)


def placed(frame):
    found = with_grid_cell(nw.from_native(frame)).select("p", "place", "x").lazy().collect()
    return tuple(found.get_column(name).to_numpy() for name in ("p", "place", "x"))


@example(grid_edges().tolist())
@given(st.lists(SCORES, min_size=1, max_size=80))
def test_the_cell_of_any_score_is_that_of_its_bits(scores):
    p, place, x = placed(pl.LazyFrame({"p": scores}))
    assert place.tolist() == cell_of(p).tolist()
    # A power of two that the cell alone decides lies between the score and x.
    for cell in np.unique(place):
        here = (place == cell) & (p > 2.0**-1000)
        assert np.unique(x[here] / p[here]).size <= 1
    assert ((x >= 0.5) | (p < 2.0**-31)).all()


def test_a_score_of_float32_is_placed_as_float64_would_be():
    p = np.nextafter(grid_edges().astype(np.float32), np.float32(0.3))
    rows = pl.DataFrame({"p": p, "y": np.arange(p.size) % 2, "g": 0})
    assert tn.scan_groups(rows, by="g", **OPTIONS)[0] == tn.sketch(rows["y"], p)


@given(
    rows=st.lists(st.tuples(st.integers(0, 1), SCORES, st.integers(0, 2)), min_size=1, max_size=60),
)
def test_groups_of_any_rows_add_up_to_the_sketch_of_memory(rows):
    y, p, g = (np.array(column) for column in zip(*rows, strict=True))
    found = tn.scan_groups(pl.LazyFrame({"y": y, "p": p, "g": g}), by="g", **OPTIONS)
    assert sum(found.values()).to_bytes() == tn.sketch(y, p).to_bytes()


@given(st.lists(st.tuples(st.integers(0, 1), SCORES, st.integers(0, 9)), min_size=1, max_size=40))
def test_whole_weights_are_exact_and_are_the_row_so_often(rows):
    y, p, w = (np.array(column) for column in zip(*rows, strict=True))
    if w.sum() == 0:
        w[0] = 1
    found = tn.scan(pl.LazyFrame({"y": y, "p": p, "w": w}), weight="w", **OPTIONS)
    assert found.to_bytes() == tn.sketch(y, p, sample_weight=w).to_bytes()
    assert (found.parts[0].table == tn.sketch(np.repeat(y, w), np.repeat(p, w)).parts[0].table).all()


@given(st.lists(st.tuples(SCORES.filter(lambda p: p > 2.0**-60), st.floats(1e-9, 1e9)), min_size=1, max_size=40))
def test_other_weights_keep_twelve_digits_in_every_cell(rows):
    p, w = (np.array(column) for column in zip(*rows, strict=True))
    y, w = np.arange(p.size) % 2, w * 1.1
    found = tn.scan(pl.LazyFrame({"y": y, "p": p, "w": w}), weight="w", **OPTIONS).parts[0]
    wanted = tn.sketch(y, p, sample_weight=w).parts[0]
    assert found.ends.tolist() == wanted.ends.tolist()
    # Below 2⁻³¹ lies one cell, and digits count from its upper end.
    floor = np.where(wanted.cell == 1, 1e-12 * wanted.weight, 0)[:, None]
    for name, unit in (("by_label", 0), ("scores_by_label", 2.0**-31), ("squares_by_label", 2.0**-62), ("squares", 0)):
        mine, theirs = getattr(found, name), getattr(wanted, name)
        assert (np.abs(mine - theirs) <= 1e-12 * theirs + floor * unit).all(), name


def test_groups_of_whole_and_of_broken_weights_are_as_in_memory():
    rows = pl.DataFrame(
        {"y": [0, 1] * 4, "p": [0.3] * 8, "g": list("aabbccdd"), "w": [1.0, 2.0, 0.5, 1.0, 3.0, 0.0, 0.0, 0.0]}
    )
    found = tn.scan_groups(rows, by="g", weight="w", **OPTIONS)
    assert list(found) == ["a", "b", "c"]
    for key, sums in found.items():
        mine = rows.filter(pl.col("g") == key)
        assert sums == tn.sketch(mine["y"], mine["p"], sample_weight=mine["w"])
    assert [sums.parts[0].whole for sums in found.values()] == [True, False, True]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("many", [2.0**34, 2.0**70])
@pytest.mark.parametrize("batches", [True, False])
def test_weights_whose_products_pass_64_bits_are_summed_as_floats(monkeypatch, engine, many, batches):
    if not batches:
        monkeypatch.setattr(_scan, "sums_of_batches", lambda *_: None)
    rows = pl.DataFrame({"y": [0, 1] * 40, "p": [0.9] * 80, "g": ["a", "b"] * 40, "w": [3.0, many] * 40})
    source = duckdb.sql("from rows") if engine == "duckdb" else rows.lazy()
    found = tn.scan_groups(source, by="g", weight="w", **OPTIONS)
    for key, w in (("a", 3.0), ("b", many)):
        part = found[key].parts[0]
        assert part.weight.tolist() == [40 * w]
        assert part.sum_score[0] == pytest.approx(36 * w, rel=1e-12)
    # In a group-by, weights beyond 2³⁵ count for nothing among integers, so that those of the other group can be had.
    assert found["a"].parts[0].whole == (batches or many > 2.0**35)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "path"])
def test_plain_rows_need_no_group_by(monkeypatch, tmp_path, engine):
    rng = np.random.default_rng(0)
    p = rng.random(5_000)
    rows = pl.DataFrame({"p": p, "y": rng.random(p.size) < p})
    rows.write_parquet(tmp_path / "rows.parquet")
    sources = {"polars": rows.lazy(), "duckdb": duckdb.sql("from rows"), "path": tmp_path / "rows.parquet"}
    monkeypatch.setattr(_scan, "grid_query", None)
    assert tn.scan(sources[engine], **OPTIONS).to_bytes() == tn.sketch(rows["y"], p).to_bytes()


def test_a_scan_joins_an_accumulator_and_its_file(tmp_path):
    rows = pl.LazyFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.9], "day": ["mon", "mon", "tue"]})
    seen = tn.Accumulator(by="day")
    seen.merge(tn.scan_groups(rows, by="day", **OPTIONS))
    seen.save(tmp_path / "days.tally")
    assert tn.Accumulator.load(tmp_path / "days.tally").total == tn.sketch([0, 1, 1], [0.2, 0.7, 0.9])
