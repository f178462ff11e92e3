"""Every number of a report is that of the library."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from _report.conftest import entry

import trueness as tn
from trueness.errors import InputError, TruenessWarning


@pytest.fixture(scope="module")
def model(binary):
    return entry(binary)


MEASURES = {
    "ece": tn.ece,
    "ace": tn.ace,
    "mce": tn.mce,
    "smooth_ece": tn.smooth_ece,
    "tce": tn.tce,
    "brier": tn.brier,
    "observed_expected": tn.observed_expected,
}


@pytest.mark.filterwarnings("ignore::trueness.errors.CertainScoresWarning")
def test_the_measures_are_the_librarys(model, edges):
    for key, measure in MEASURES.items():
        assert model["summary"][key] == pytest.approx(measure(*edges), abs=1e-15)
    assert model["summary"]["slope"] == tn.calibration_slope(*edges)
    assert model["summary"]["intercept"] == tn.calibration_intercept(*edges)
    (note,) = (note for note in model["notes"] if "log-odds are infinite" in note)
    certain, wrong = model["summary"]["n_certain"], model["summary"]["n_certain_wrong"]
    assert note.startswith(f"{certain} of ")
    assert f"{wrong} of them contradict their label" in note
    parts, summary = tn.corp(*edges), model["summary"]
    for name in ("miscalibration", "discrimination", "uncertainty"):
        assert summary[name] == getattr(parts, name)


def test_an_infinite_log_loss_is_null_and_shown_as_such(model, edges, binary):
    assert math.isinf(tn.log_loss(*edges))
    assert model["summary"]["log_loss"] is None
    assert "∞" in str(binary)


def test_the_evidence_is_the_librarys(model, edges):
    summary = model["summary"]
    assert summary["ece_interval"] == tn.ece_interval(*edges, level=0.95, seed=0).to_dict()
    assert summary["test"] == tn.calibration_test(*edges, seed=0, resamples=999).to_dict()
    floor = tn.noise_floor("ece", tn.tally(*edges), seed=0)
    assert summary["noise_floor"] == floor.to_dict()


def test_the_bins_are_the_librarys(model, edges):
    bands = tn.curve_band(
        *edges, level=0.95, band="simultaneous-consistency", method="bins"
    ).to_dict()
    alone = tn.bin_table(*edges, level=0.95)
    found = dict(model["bins"])
    assert found.pop("interval_low") == alone.low.tolist()
    assert found.pop("interval_high") == alone.high.tolist()
    assert found["ratio_low"] == alone.ratio_low.tolist()  # limits of the ratio, not its band
    assert found["ratio_high"] == alone.ratio_high.tolist()
    assert found == bands | {name: found[name] for name in ("ratio_low", "ratio_high")}


def test_the_worst_bins_are_those_that_add_most_to_the_error(model, edges):
    table = tn.bin_table(*edges)
    damage = np.nan_to_num(table.n * np.abs(table.gap))
    assert model["worst"] == np.argsort(-damage)[:3].tolist()


def test_the_blocks_make_up_the_tce(model, edges):
    blocks = model["blocks"]
    shares = np.array(blocks["refuted"]) @ np.array(blocks["n"]) / sum(blocks["n"])
    assert 100 * shares == pytest.approx(tn.tce(*edges))
    table = tn.bin_table(*edges, bins=tn.BlockIsotonic())
    assert blocks["n"] == table.n.tolist()
    np.testing.assert_allclose(blocks["rate"], table.rate)
    assert all(
        a <= b <= c
        for a, b, c in zip(
            blocks["score_q1"], blocks["score_median"], blocks["score_q3"], strict=True
        )
    )


def test_json_is_strict_and_the_same_each_time(edges, binary, tmp_path):
    text = binary.to_json(tmp_path / "report.json")
    assert json.loads(text) == binary.to_dict()
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == text
    assert "NaN" not in text


@pytest.mark.slow
def test_another_seed_changes_what_is_drawn_alone(edges):
    d = tn.simulate.demo(200)
    a, b = (
        tn.report(d.y_true, d.y_prob, seed=seed).to_dict()["models"][0]["summary"]
        for seed in (1, 2)
    )
    assert a["ece"] == b["ece"]
    assert a["noise_floor"]["mean"] != b["noise_floor"]["mean"]


@pytest.mark.slow
def test_a_generator_gives_the_seed_that_the_report_names():
    d = tn.simulate.demo(100)
    found = tn.report(d.y_true, d.y_prob, seed=np.random.default_rng(3)).to_dict()
    assert found["settings"]["seed"] == int(np.random.default_rng(3).integers(2**32))
    assert tn.report(d.y_true, d.y_prob, seed=found["settings"]["seed"]).to_dict() == found


@pytest.mark.slow
def test_several_models_are_compared_on_the_same_rows_with_progress():
    d = tn.simulate.demo(400)
    models, seen = {"model": d.y_prob, "recalibrated": d.columns["recalibrated"]}, []
    found = tn.report(
        d.y_true, models, progress=lambda *steps: seen.append(steps), intervals=False
    ).to_dict()
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for _, total in seen} == {len(seen)}
    assert [model["name"] for model in found["models"]] == list(models)
    for model in found["models"]:
        assert model["summary"]["ece"] == tn.ece(d.y_true, models[model["name"]])
    assert found["comparison"] == tn.compare(d.y_true, models, level=0.95).to_dict()


@pytest.mark.slow
def test_rows_that_miss_a_value_in_one_model_are_dropped_for_all():
    d = tn.simulate.demo(300)
    a, b = d.y_prob.copy(), d.y_prob**2
    a[3], b[5] = np.nan, np.nan
    segment = np.array(["u", "v", "w"])[np.arange(300) % 3]
    kept = np.delete(np.arange(300), [3, 5])
    found = tn.report(d.y_true, {"a": a, "b": b}, by=segment, missing="drop").to_dict()
    assert found["rows"] == {
        "given": 300, "used": 298, "dropped": 2, "weight": 298.0, "weights": "none", "classes": None
    }  # fmt: skip
    assert found == {
        **tn.report(d.y_true[kept], {"a": a[kept], "b": b[kept]}, by=segment[kept]).to_dict(),
        "rows": found["rows"],
    }


def test_a_weight_counts_as_that_many_rows():
    d = tn.simulate.demo(18)
    w = np.arange(18) % 3
    found = tn.report(d.y_true, d.y_prob, sample_weight=w, intervals=False).to_dict()
    again = tn.report(np.repeat(d.y_true, w), np.repeat(d.y_prob, w), intervals=False).to_dict()
    assert found["rows"]["used"] == (w > 0).sum()
    weighted, repeated = (page["models"][0]["summary"] for page in (found, again))
    assert weighted["ece_interval"].pop("note").startswith("Weights are whole numbers")
    assert repeated["ece_interval"].pop("note") == ""
    for key in ("ece", "brier", "slope", "tce", "ece_interval"):
        assert weighted[key] == repeated[key], key


@pytest.mark.slow
def test_weights_of_one_change_nothing(edges, binary):
    found = tn.report(*edges, sample_weight=np.ones(600)).to_dict()
    assert found["rows"]["weights"] == "none"
    assert found["models"] == binary.to_dict()["models"]


@pytest.mark.slow
def test_weights_that_are_not_whole_leave_out_what_counts_rows():
    d = tn.simulate.demo(200)
    w = np.random.default_rng(0).random(200)
    found = tn.report(
        d.y_true, {"a": d.y_prob, "b": d.truth}, sample_weight=w, intervals=False
    ).to_dict()
    summary = found["models"][0]["summary"]
    assert summary["tce"] is None
    assert summary["ece"] == pytest.approx(tn.ece(d.y_true, d.y_prob, sample_weight=w))
    assert summary["test"]["method"] == "omnibus"
    assert found["comparison"] is not None  # which weighs, and does not count
    assert found["models"][0]["blocks"] is None
    assert any("are sampling weights" in note for note in found["models"][0]["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [2, 17])
def test_weights_that_are_not_whole_have_the_set_of_rows_that_matter_more_or_less(decimals):
    d = tn.simulate.demo(2_000)
    p, w = d.y_prob.round(decimals), np.random.default_rng(0).random(2_000)
    w[:5] = 0
    found = tn.report(d.y_true, p, sample_weight=w)
    model = found.to_dict()["models"][0]
    options = {"sample_weight": w[5:], "weight_type": "auto", "seed": 0}
    alone = tn.ece_interval(d.y_true[5:], p[5:], level=0.95, **options)
    assert model["summary"]["ece_interval"] == alone.to_dict()
    assert alone.note == "Weights are not whole numbers but sampling weights: each row counts once."
    as_importance = tn.ece_interval(
        d.y_true[5:], p[5:], level=0.95, **options | {"weight_type": "importance"}
    )
    assert replace(alone, note="") == as_importance
    floor = tn.noise_floor(
        partial(tn.ece, bins=tn.EqualWidth(10)), p[5:], progress=False, **options
    )
    of_scores = {"measure", "observed", "pvalue"}  # the report also knows the labels
    expected = {key: value for key, value in floor.to_dict().items() if key not in of_scores}
    assert {
        key: value for key, value in model["summary"]["noise_floor"].items() if key not in of_scores
    } == expected
    assert found.verdicts == {"scores": "miscalibrated"}
    notes = " ".join([*model["notes"], *model["remedies"]["notes"]])
    assert "could not be computed" not in notes
    assert "`" not in notes
    assert [one["name"] for one in model["remedies"]["after"]][-1] == "histogram binning"
    assert "1,995 rows used of 2,000; 5 rows with weight 0 left out" in found.page()


@pytest.mark.slow
def test_a_matrix_with_weights_that_are_not_whole_has_a_set_too(classes):
    y, P = classes
    w = np.random.default_rng(0).random(y.size)
    found = tn.report(y, P, sample_weight=w).to_dict()["models"][0]
    alone = tn.ece_interval(y, P, sample_weight=w, weight_type="importance", seed=0, level=0.95)
    assert found["summary"]["ece_interval"]["high"] == pytest.approx(alone.high)
    assert not any("could not be computed" in note for note in found["notes"])


def test_warnings_of_the_library_become_notes(recwarn):
    found = tn.report([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], intervals=False)
    assert sum("fewer rows (4) than bins (10)" in note for note in entry(found)["notes"]) == 1
    assert [w for w in recwarn if issubclass(w.category, TruenessWarning)] == []


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 1] * 20, [0.0, 1.0] * 20),
        pytest.param([0, 1] * 20, [1.0, 0.0] * 20, marks=pytest.mark.slow),
        pytest.param([0, 1] * 20, [0.4] * 40, marks=pytest.mark.slow),
        pytest.param([0] * 30, np.linspace(0, 0.2, 30), marks=pytest.mark.slow),
        ([1], [0.3]),
        ([False, True, True], np.array([0.25, 0.5, 1], dtype=np.float32)),
    ],
    ids=["right", "wrong", "one score", "one class", "one row", "bool"],
)
def test_degenerate_rows_make_a_report_in_every_form(y, p, tmp_path):
    found = tn.report(y, p)
    assert found.verdict.endswith(".")
    assert found.to_markdown().startswith("# Calibration report")
    assert "How it was computed" in str(found)
    json.loads(found.to_json())
    assert found.to_html(tmp_path / "page.html").stat().st_size < 2_000_000


@pytest.mark.slow
def test_every_container_is_taken(edges, binary):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": edges[0], "p": edges[1]})
    found = tn.report(frame["y"], frame["p"], intervals=False).to_dict()
    assert found["models"][0]["name"] == "p"
    assert found["models"][0]["summary"]["ece_interval"] == entry(binary)["summary"]["ece_interval"]


@pytest.mark.slow
def test_class_names_come_from_the_labels():
    y = ["cat", "dog", "owl"] * 20
    P = np.tile([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], (20, 1))
    found = tn.report(y, P).to_dict()
    assert found["task"] == "multiclass"
    assert found["rows"]["classes"] == ["cat", "dog", "owl"]
    assert {one["label"] for one in found["models"][0]["classes"]} == {"cat", "dog", "owl"}


def test_a_report_says_what_it_is(binary):
    assert repr(binary) == "Report('scores'; 600 rows)"
    assert binary.verdicts == {"scores": "miscalibrated"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        ({"bins": 1_001}, "`bins` must be at most 1,000 for a report; got 1,001"),
        ({"bins": "ten"}, "`bins` must be a whole number"),
        ({"level": 0.3}, "`level` must lie strictly between 0.5 and 1; got 0.3"),
        ({"level": True}, "`level` must lie strictly between 0.5 and 1; got True"),
        ({"seed": -1}, "`seed` must be a whole number ≥ 0"),
        ({"title": 3}, "`title` must be a string or None; got 3"),
        ({"progress": 1}, "`progress` must be True, False or a function"),
        ({"kind": "confidence"}, "`kind` must be .multilabel. or be left out"),
        ({"by": [1, 2]}, "`by` must have one entry per row; 'by' has shape"),
        ({"by": {}}, "`by` must hold at least one column; the dict is empty"),
        ({"sample_weight": [0, 0, 0, 0]}, "`sample_weight` must"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    with pytest.raises(InputError, match=message):
        tn.report([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], **options)


@pytest.mark.parametrize(
    ("y_prob", "message"),
    [
        ({}, "`y_prob` must hold at least one model; the dict is empty"),
        ({1: [0.1, 0.9]}, "`y_prob` must have strings as names; got 1"),
        ({"a": [0.1, 0.9], "b": [0.1, 1.9]}, r"Model 'b': `y_prob` must lie in \[0, 1\]"),
        (
            {"a": [0.1, 0.9], "b": [[0.1, 0.9], [0.5, 0.5]]},
            "`y_prob` must hold vectors only, or matrices",
        ),
        ([0.1, 1.9], r"^`y_prob` must lie in \[0, 1\]; 1 of 2 values does not"),
        ([0.1, np.nan], "`y_prob` must not have missing values"),
    ],
)
def test_wrong_scores_are_named(y_prob, message):
    with pytest.raises(InputError, match=message):
        tn.report([0, 1], y_prob)


def test_models_with_other_classes_are_refused():
    pandas = pytest.importorskip("pandas")
    a = pandas.DataFrame([[0.5, 0.5], [0.1, 0.9]], columns=["x", "y"])
    with pytest.raises(
        InputError, match="`y_prob` must hold models of the same classes in the same order"
    ):
        tn.report(["x", "y"], {"a": a, "b": a[["y", "x"]]})


def test_too_many_distinct_scores_for_bins_of_their_own_are_refused():
    p = np.linspace(0, 1, 1_500)
    with pytest.raises(
        InputError,
        match=r"`bins` must make at most 1,000 bins for a report; Distinct\(\) makes 1,500",
    ):
        tn.report(np.arange(1_500) % 2, p, bins=tn.Distinct())


def test_a_matrix_is_reported_in_every_view_so_kind_is_for_several_labels_only():
    with pytest.raises(InputError, match="`kind` must"):
        tn.report([0, 1, 2, 0], np.full((4, 3), 1 / 3), kind="confidence")


@pytest.mark.slow
def test_a_million_rows_make_a_small_page():
    d = tn.simulate.demo(1_000_000)
    found = tn.report(d.y_true, d.y_prob)
    assert len(found.page().encode()) < 2_000_000
    summary = found.to_dict()["models"][0]["summary"]
    assert summary["ece"] == tn.ece(d.y_true, d.y_prob)
    assert summary["test"]["method"] == "omnibus"


@pytest.mark.slow
def test_rows_without_a_weight_are_dropped_too():
    d = tn.simulate.demo(120)
    w = np.full(120, 2.0)
    w[4] = np.nan
    found = tn.report(
        d.y_true, {"a": d.y_prob, "b": d.truth}, sample_weight=w, missing="drop"
    ).to_dict()
    kept = np.delete(np.arange(120), 4)
    assert found["rows"]["dropped"] == 1
    assert found["models"][1]["summary"]["ece"] == tn.ece(d.y_true[kept], d.truth[kept])


def test_no_complete_row_is_an_error():
    with pytest.raises(InputError, match="at least one"):
        tn.report([0, 1], {"a": [0.1, np.nan], "b": [np.nan, 0.4]}, missing="drop")


def test_rows_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    y, p = pandas.Series([0, 1, 1]), pandas.Series([0.2, 0.7, 0.9], index=[2, 1, 0])
    with pytest.raises(
        InputError, match="`y_true` and `y_prob` have the same index in a different order"
    ):
        tn.report(y, p)


@pytest.mark.slow
def test_fractional_weights_leave_the_set_of_one_largest_score(classes):
    y, P = classes
    w = np.random.default_rng(0).uniform(0.2, 3, y.size)
    model = tn.report(y, P, sample_weight=w).to_dict()["models"][0]
    (top,) = model["top_k"]
    expected = tn.ece_interval(y, P, sample_weight=w, weight_type="importance", level=0.95, seed=0)
    assert (top["k"], top["interval"]["high"]) == (1, expected.high)
    assert any("requires whole-number weights: k = 1 only." in note for note in model["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("side", ["rare", "confident"])
def test_where_it_is_wrong_has_bins_where_the_scores_are(side):
    rng = np.random.default_rng(0)
    p = rng.random(5_000) * 0.02
    y = (rng.random(5_000) < p).astype(int)
    if side == "confident":
        p, y = 1 - p, 1 - y
    found = tn.report(y, p)
    data = found.to_dict()["models"][0]
    assert len(data["bins"]["n"]) == 10
    assert min(data["bins"]["n"]) >= 400
    assert data["summary"]["ece"] == tn.ece(y, p)
    assert any("10 bins of equal mass" in note for note in data["notes"])


@pytest.mark.slow
def test_reports_made_in_eight_threads_are_the_one_made_alone():
    rng = np.random.default_rng(0)
    p = rng.random(60).round(1)
    y = (rng.random(60) < p).astype(int)
    by = {"g": np.repeat(["a", "b", "one"], [30, 29, 1])}

    def page(_=None):
        made = tn.report(y, p, by=by, seed=1)
        return made.to_json() + made.to_markdown()

    alone = page()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(page, range(8))) == {alone}
