"""The segments of a report: all are tested, jointly, and a flagged one is named."""

import numpy as np
import pytest
from _report.conftest import answers, entry

import trueness as tn


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
    return entry(tn.report(y, p, by={"region": segment}, intervals=False))["segments"]


def segments_of(y, p, by, **options):
    return entry(tn.report(y, p, by=by, intervals=False, **options))["segments"]["rows"]


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
    expected = tn.segments(y, p, {"region": segment}, seed=0)
    assert found["pvalue"] == expected.joint_pvalue
    for one, other in zip(found["rows"], expected.rows(), strict=True):
        assert all(one[name] == other[name] for name in one if name != "ece")
    assert found["alpha"] == 0.05
    assert {one["value"]: one["finding"] for one in found["rows"] if one["flagged"]} == {
        "south": "over-predicted"
    }


@pytest.mark.slow
def test_one_of_sixty_segments_off_by_more_than_twice_is_flagged_by_name():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 12_000)
    segment = np.repeat([f"s{i:02d}" for i in range(1, 61)], 200)
    y = rng.random(p.size) < np.where(segment == "s55", np.minimum(1, 2.2 * p), p)
    report = tn.report(y, p, by={"shop": segment}, intervals=False)
    found = entry(report)["segments"]
    assert len(found["rows"]) == 60
    assert [(one["column"], one["value"]) for one in found["rows"] if one["flagged"]] == [
        ("shop", "s55")
    ]
    assert found["rows"][0]["finding"] == "under-predicted"
    worst = answers(report)["where"]["numbers"]["segment"]
    assert (worst["value"], round(worst["ratio"], 1)) == ("s55", 2.1)


@pytest.mark.slow
def test_the_page_shows_forty_segments_and_says_how_many_it_leaves_out():
    rng = np.random.default_rng(1)
    p = rng.random(1_000)
    y, segment = rng.random(p.size) < p, np.arange(p.size) % 100
    report = tn.report(y, p, by=segment.astype(str), intervals=False)
    assert len(entry(report)["segments"]["rows"]) == 100
    assert report.page().count("<td>by</td>") <= 40 < 100
    assert "60 segments that cost less and are not flagged are left out here" in report.page()
    assert "its brackets hold at 95 % for one segment alone" in report.page()
    assert "segment" not in answers(report)["where"]["numbers"]  # none is flagged


@pytest.mark.slow
def test_columns_may_come_as_a_dict_or_a_frame_and_be_crossed(rows):
    pandas = pytest.importorskip("pandas")
    y, p, segment = (values[:200].copy() for values in rows)
    segment = segment.astype(object)
    segment[7] = "alone"
    columns = {"region": segment, "half": np.arange(200) // 100}
    by_dict = segments_of(y, p, columns, crossed=2)
    assert segments_of(y, p, pandas.DataFrame(columns), crossed=2) == by_dict
    assert {one["column"] for one in by_dict} == {"region", "half", "region × half"}
    crossed = {one["value"]: one["n"] for one in by_dict if one["column"] == "region × half"}
    assert crossed["south × 1"] == ((segment == "south") & (np.arange(200) >= 100)).sum()
    assert len(crossed) == 7
    alone = next(one for one in by_dict if one["value"] == "alone")
    assert (alone["n"], alone["flagged"]) == (1, False)
    assert segments_of(y, p, pandas.Series(segment, name="place"))[0]["column"] == "place"


@pytest.mark.slow
def test_several_columns_have_a_section_of_slices(rows):
    y, p, segment = rows
    by = {"region": segment, "kind": np.arange(p.size) % 3}
    made = tn.report(y, p, by=by, intervals=False)
    expected = tn.worst_slices(y, p, by, most=40, seed=0)
    assert entry(made)["slices"]["rule"] == list(expected.rule)
    assert entry(made)["slices"]["adjusted_p"] == expected.adjusted_p.tolist()
    assert "region = south" in made.to_markdown().partition("## Slices")[2]
    assert entry(tn.report(y, p, by={"region": segment}, intervals=False))["slices"] is None
