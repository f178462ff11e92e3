"""Segments are measured and tested alone, and corrected for their number."""

import numpy as np
import pytest

import trueness as tn
from trueness._report.segments import read_by
from trueness.infer._compare import holm


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    p = rng.random(1_200)
    segment = np.array(["north", "south", "east"])[rng.integers(0, 3, p.size)]
    truth = np.where(segment == "south", p**2, p)
    return (rng.random(p.size) < truth).astype(int), p, segment


@pytest.fixture(scope="module")
def found(rows):
    y, p, segment = rows
    return tn.report(y, p, by={"region": segment}).to_dict()["models"][0]["segments"]


def test_each_segment_has_the_numbers_of_its_rows(found, rows):
    y, p, segment = rows
    assert {one["value"] for one in found["rows"]} == {"north", "south", "east"}
    for one in found["rows"]:
        some = segment == one["value"]
        assert one["column"] == "region"
        assert one["n"] == some.sum()
        assert one["ece"] == tn.ece(y[some], p[some])
        assert one["rate"] == pytest.approx(y[some].mean())
        assert one["score"] == pytest.approx(p[some].mean())
        assert one["gap"] == pytest.approx(y[some].mean() - p[some].mean())
        assert one["pvalue"] == tn.calibration_test(y[some], p[some], seed=0, resamples=999).pvalue


def test_flags_are_corrected_by_holms_method(found):
    pvalues = np.array([one["pvalue"] for one in found["rows"]])
    assert [one["adjusted_pvalue"] for one in found["rows"]] == holm(pvalues).tolist()
    assert {one["value"] for one in found["rows"] if one["flagged"]} == {"south"}


def test_draws_are_enough_to_flag_one_of_many():
    rng = np.random.default_rng(0)
    p = rng.random(1_500)
    segment = np.repeat(np.arange(30).astype(str), 50)
    found = tn.report((rng.random(p.size) < p).astype(int), p, by=segment, level=0.99).to_dict()
    assert "5,999 draws" in found["models"][0]["segments"]["test"]


def cut(values):
    values = np.asarray(values)
    (column,) = read_by(values, np.zeros(values.size), np.ones(values.size, dtype=bool))
    return [column.values[code] for code in column.code], column.note


def test_few_numbers_are_kept_apart_and_many_are_cut_into_groups():
    assert cut([3, 1, 1, 2])[0] == ["3", "1", "1", "2"]
    names, note = cut(np.arange(100))
    assert sorted(set(names)) == ["0 to 19", "20 to 39", "40 to 59", "60 to 79", "80 to 99"]
    assert names[19] == "0 to 19"
    assert names[20] == "20 to 39"
    assert "cut into 5 groups" in note


def test_groups_do_not_split_equal_numbers():
    names, _ = cut([0.0] * 60 + list(np.arange(1, 41)))
    assert names[:60] == ["0 to 0"] * 60
    assert len(set(names)) == 3


def test_missing_values_are_a_segment_of_their_own():
    assert cut(np.array(["a", None, "b"], dtype=object))[0] == ["a", "(missing)", "b"]
    assert cut([1.0, np.nan, 2.0])[0] == ["1.0", "(missing)", "2.0"]


def test_of_very_many_values_the_largest_are_kept():
    values = ["big"] * 50 + ["large"] * 30 + [f"small {i}" for i in range(60)]
    names, note = cut(values)
    assert {"big", "large", "(all others)"} <= set(names)
    assert len(set(names)) == 40
    assert "62 distinct values: the 39 largest are shown" in note


def test_columns_may_come_as_a_dict_or_a_frame(rows):
    pandas = pytest.importorskip("pandas")
    y, p, segment = (values[:200] for values in rows)
    columns = {"region": segment, "half": np.arange(200) // 100}
    by_dict = tn.report(y, p, by=columns).to_dict()
    assert (
        tn.report(y, p, by=pandas.DataFrame(columns)).to_dict()["models"][0]["segments"]["rows"]
        == (by_dict["models"][0]["segments"]["rows"])
    )
    assert {one["column"] for one in by_dict["models"][0]["segments"]["rows"]} == {"region", "half"}
    named = pandas.Series(segment, name="place")
    assert tn.report(y, p, by=named).to_dict()["models"][0]["segments"]["rows"][0]["column"] == "place"


def test_a_segment_without_a_test_is_kept(rows):
    y, p, segment = (values[:200].copy() for values in rows)
    segment = segment.astype(object)
    segment[7] = "alone"
    found = tn.report(y, p, by=segment).to_dict()["models"][0]["segments"]
    alone = next(one for one in found["rows"] if one["value"] == "alone")
    assert alone["n"] == 1
    assert not alone["flagged"]
