"""Tables of bins in all their forms."""

import json
import math

import numpy as np
import pytest

import trueness as tn

Y, P = [0, 0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9, 0.9]


def test_a_table_has_a_row_for_every_bin_empty_ones_included():
    table = tn.bin_table(Y, P, bins=4)
    assert table.n.tolist() == [2, 0, 0, 3]
    assert math.isnan(table.rate[1])
    assert math.isnan(table.score[1])
    assert math.isnan(table.low[1])
    assert len(table) == 4


def test_a_table_as_dict_is_column_wise_and_json_ready():
    data = tn.bin_table(Y, P, bins=4, level=0.9, interval="wilson").to_dict()
    assert list(data)[:9] == [
        "low_edge",
        "high_edge",
        "n",
        "weight",
        "score",
        "rate",
        "low",
        "high",
        "gap",
    ]
    assert list(data)[9:12] == ["ratio", "ratio_low", "ratio_high"]
    assert data["n"] == [2, 0, 0, 3]
    assert (data["level"], data["interval"], data["kind"]) == (0.9, "wilson", "binary")
    assert json.loads(json.dumps(data))["low_edge"] == [0, 0.25, 0.5, 0.75]


def test_rows_of_a_table():
    rows = tn.bin_table(Y, P, bins=2).rows()
    assert [r["n"] for r in rows] == [2, 3]
    assert rows[1]["high_edge"] == 1


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_as_a_frame(library):
    pytest.importorskip(library)
    table = tn.bin_table(Y, P, bins=4)
    frame = table.to_frame(library)
    assert type(frame).__module__.partition(".")[0] == library
    assert list(frame.columns if library != "pyarrow" else frame.column_names) == list(
        table.columns()
    )
    assert np.asarray(frame["n"]).tolist() == [2, 0, 0, 3]


def test_the_table_of_a_matrix_names_the_classes():
    table = tn.bin_table(["a", "b", "a"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], bins=2)
    assert table.label == ("a", "a", "b", "b")
    assert table.columns()["label"] == ["a", "a", "b", "b"]
    text = str(table).splitlines()
    assert text[0].startswith("class  bin")
    assert text[2].startswith("a      [0.5, 1]")
    assert text[3].startswith("b      [0, 0.5)")


def test_a_table_prints_empty_bins_blank():
    lines = str(tn.bin_table(Y, P, bins=4)).splitlines()
    assert lines[2].split() == ["[0.25,", "0.5)", "0"]


@pytest.mark.parametrize("level", [0, 1, 1.5, True, "high", float("nan")])
def test_a_level_that_is_none(level):
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        tn.bin_table(Y, P, bins=2, level=level)
