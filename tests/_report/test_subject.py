"""Reports of sums: the same numbers as from the rows, and what sums lack is named."""

import json

import numpy as np
import pytest
from _report.conftest import entry
from grids import slow

import trueness as tn
from trueness.errors import InputError


@pytest.fixture(scope="module")
def rows():
    d = tn.simulate.demo(1_000)
    return d.y_true, d.y_prob


def summed(rows, bins, **options):
    found = tn.Accumulator(bins=bins, **options)
    found.update(*rows)
    return found


@pytest.mark.slow
def test_a_tally_gives_the_numbers_of_the_rows(rows):
    of_rows, of_sums = entry(tn.report(*rows)), entry(tn.report(tn.tally(*rows)))
    for key in ("verdict", "summary", "bins", "worst", "blocks"):
        assert of_sums[key] == of_rows[key], key
    assert of_sums["remedies"] is None


@pytest.mark.parametrize("kind", ["tally", "edges", *slow("sketch", "bins", "accumulator")])
def test_sums_make_a_report_in_every_form(rows, kind, tmp_path):
    sums = {
        "tally": lambda: tn.tally(*rows),
        "sketch": lambda: tn.sketch(*rows),
        "bins": lambda: summed(rows, 10).total,
        "edges": lambda: summed(rows, [0, 0.2, 0.5, 1]).total,
        "accumulator": lambda: summed(rows, "sketch"),
    }[kind]()
    report = tn.report(sums, title="Sums", intervals=False)
    assert report.to_dict()["source"] == {"edges": "bins", "accumulator": "sketch"}.get(kind, kind)
    assert report.to_dict()["rows"]["used"] == 1_000
    json.loads(report.to_json())
    for text in (report.to_markdown(), report.page(), " ".join(str(report).split())):
        assert (
            "This report was computed from sums, not from rows: no calibrators are compared" in text
        )
        assert "What would fix it" not in text
    assert report.to_html(tmp_path / "page.html").stat().st_size < 2_000_000


@pytest.mark.slow
def test_a_sketch_shows_its_own_measures_and_says_that_it_is_one(rows):
    report, sketch = tn.report(tn.sketch(*rows)), tn.sketch(*rows)
    summary = entry(report)["summary"]
    for key, measure in (
        ("ece", tn.ece),
        ("ace", tn.ace),
        ("brier", tn.brier),
        ("log_loss", tn.log_loss),
    ):
        assert summary[key] == measure(sketch)
    assert "It is from a sketch" in " ".join(str(report).split())


def test_bins_have_their_measures_and_name_the_others(rows):
    report = tn.report(summed(rows, 10))
    summary = entry(report)["summary"]
    assert summary["ece"] == tn.ece(*rows)
    assert summary["brier"] == pytest.approx(tn.brier(*rows))
    assert summary["slope"] is None
    assert "the slope" in summary["absent"]
    assert report.verdicts == {"scores": "undetermined"}
    assert "Sums of bins do not give the confidence set, the test" in report.to_dict()["omitted"]
    assert entry(report)["bins"]["outside"] == [False] * 10


def test_the_bins_that_were_kept_are_the_default(rows):
    def settings(kept, **options):
        return tn.report(summed(rows, kept), intervals=False, **options).to_dict()["settings"]

    assert settings(7)["bins"] == "EqualWidth(n=7)"
    assert settings([0, 0.3, 1])["bins_in_words"] == "2 bins between the edges 0, 0.3, 1"
    assert settings(10, bins=5)["bins"] == "EqualWidth(n=5)"


@pytest.mark.parametrize("bins", [10, *slow("distinct", "sketch")])
def test_the_groups_of_an_accumulator_are_segments(rows, bins):
    y, p = rows
    day = np.arange(y.size) % 3
    sums = tn.Accumulator(bins=bins, by="day")
    sums.update(y, p, group=day)
    found = entry(tn.report(sums, intervals=False))["segments"]["rows"]
    assert {(one["column"], one["value"]) for one in found} == {
        ("day", "0"),
        ("day", "1"),
        ("day", "2"),
    }
    for one in found:
        some = day == int(one["value"])
        assert one["n"] == some.sum()
        assert one["rate"] == pytest.approx(y[some].mean())
        assert one["ece"] == pytest.approx(tn.ece(y[some], p[some]), abs=0.01)
        exact = tn.segments(y[some], p[some], np.zeros(some.sum()), seed=0).pvalue[0]
        assert one["pvalue"] == pytest.approx(
            exact, abs={"distinct": 1e-12, "sketch": 1e-4, 10: 0.05}[bins]
        )
        assert one["pvalue"] >= exact - 1e-12  # a mean score for several rows makes tails larger


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classwise", "top-label"])
def test_sums_per_class_are_reported_class_by_class(classes, kind):
    y, P = classes
    report = tn.report(tn.tally(y, P, kind=kind, labels=list(range(10))), intervals=False)
    found = report.to_dict()
    assert found["view"] == kind
    assert [one["name"] for one in found["models"]] == [f"class {k}" for k in range(10)]
    top = P.argmax(axis=1)
    third = found["models"][3]["summary"]
    some = slice(None) if kind == "classwise" else top == 3
    assert third["ece"] == pytest.approx(tn.ece(y[some] == 3, P[some, 3]))
    assert "Comparison of the classes" in report.page()


def test_the_confidence_of_a_matrix_is_one_problem(classes):
    y, P = classes
    report = tn.report(tn.tally(y, P, kind="confidence", labels=list(range(10))), intervals=False)
    assert entry(report)["summary"]["ece"] == tn.ece(y, P, kind="confidence")
    assert "Mean confidence" in str(report)


@pytest.mark.slow
def test_of_very_many_classes_the_worst_are_shown():
    P = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 400)
    y = np.arange(400) % 30
    found = tn.report(tn.tally(y, P)).to_dict()
    assert len(found["models"]) == 24
    assert found["notes"] == ["The 24 classes with the largest ECE are shown, of 30."]


def test_weights_are_summed_too(rows):
    w = np.arange(1_000) % 3
    found = tn.report(tn.tally(*rows, sample_weight=w), intervals=False).to_dict()
    assert found["rows"]["weights"] == "whole"
    assert found["rows"]["weight"] == w.sum()
    for sums in (tn.tally(*rows, sample_weight=w * 0.37), tn.sketch(*rows, sample_weight=w * 0.37)):
        fractions = tn.report(sums, intervals=False).to_dict()
        assert fractions["rows"]["weights"] == "fractional"
        assert fractions["models"][0]["summary"]["tce"] is None


def test_sums_and_rows_do_not_mix(rows):
    for options in (
        {"y_prob": rows[1]},
        {"by": rows[0]},
        {"cluster": rows[0]},
        {"sample_weight": rows[1]},
    ):
        with pytest.raises(
            InputError, match=r"`y_true` must be labels if .* is passed; got a Tally"
        ):
            tn.report(tn.tally(*rows), **options)


@pytest.mark.parametrize("bins", [10, *slow("distinct", "sketch")])
@pytest.mark.parametrize(("y", "p"), [([1], [0.3]), ([0] * 30, [0.0] * 30)])
def test_degenerate_sums_make_a_report(y, p, bins):
    report = tn.report(summed((y, p), bins))
    assert report.verdict.endswith(".")
    assert report.page()
    json.loads(report.to_json())


def test_no_rows_are_an_error():
    with pytest.raises(
        InputError, match="`y_true` must hold at least one row; this Tally is empty"
    ):
        tn.report(tn.tally(np.zeros(0, dtype=int), np.zeros(0)))
    with pytest.raises(InputError, match="empty Accumulator"):
        tn.report(tn.Accumulator())


@pytest.mark.slow
def test_a_matrix_of_two_columns_is_the_binary_problem_of_the_second():
    d = tn.simulate.demo(19)
    P = np.column_stack([1 - d.y_prob, d.y_prob])
    asked = (
        ((d.y_true, P), (d.y_true, d.y_prob)),
        ((tn.tally(d.y_true, P),), (tn.tally(d.y_true, d.y_prob),)),
    )
    for pair in asked:
        found, same = (tn.report(*one, intervals=False).to_dict() for one in pair)
        assert found["task"] == "binary"
        assert found["verdict"] == same["verdict"]
        (note,) = found["notes"]
        assert (
            note == "The two columns of scores are one binary problem: the event is the second, 1."
        )
        summaries = [[model["summary"] for model in page["models"]] for page in (found, same)]
        from_columns, from_scores = map(json.dumps, summaries)
        assert from_columns.replace(f" {note}", "").replace(note, "") == from_scores
        if len(pair[0]) == 2:  # rows, whose records say how the columns were read
            assert summaries[0][0]["ece_interval"]["note"] == note
            assert summaries[0][0]["test"]["assumptions"].endswith(note)
