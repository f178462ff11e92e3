"""The numbers are the library's."""

import csv
import io
import json
import math

import numpy as np
import polars as pl
import pytest

import trueness as tn
from trueness.cli._options import bin_rule


@pytest.fixture
def measures(call):
    """The measures of each model, by name; the values alone, unless limits are asked for."""

    def run(*arguments, limits=False, **options):
        result = call("measure", *arguments, *([] if limits else ["--no-intervals"]), "--format", "csv", **options)
        assert result.exit_code == 0, result.stderr
        head, *lines = csv.reader(io.StringIO(result.stdout))
        return {name: {line[0]: float(line[i] or "nan") for line in lines} for i, name in enumerate(head) if i}

    return run


def library(y, p, bins=10, mass=10, **rows):
    parts = tn.corp(y, p, **rows)
    return {
        "ece": tn.ece(y, p, bins=bins, **rows),
        "ece_l2": tn.ece(y, p, bins=bins, norm="l2", **rows),
        "ace": tn.ace(y, p, bins=mass, **rows),
        "mce": tn.mce(y, p, bins=bins, **rows),
        "tce": tn.tce(y, p, **rows),
        "smooth_ece": tn.smooth_ece(y, p, **rows),
        "squared_ece": tn.squared_ece(y, p, **rows),
        "brier": tn.brier(y, p, **rows),
        "brier_miscalibration": parts.miscalibration,
        "brier_discrimination": parts.discrimination,
        "brier_uncertainty": parts.uncertainty,
        "log_loss": tn.log_loss(y, p, **rows),
        "slope": tn.calibration_slope(y, p, **rows),
        "intercept": tn.calibration_intercept(y, p, **rows),
        "observed_expected": tn.observed_expected(y, p, **rows),
    }


def test_measures_of_a_vector_are_the_librarys(measures, binary, tmp_path):
    y, p, _ = binary
    np.savez(tmp_path / "x.npz", y=y, a=p, b=p**2)
    found = measures("x.npz", "--prob", "a", "--prob", "b")
    assert list(found) == ["a", "b"]
    for name, scores in (("a", p), ("b", p**2)):
        assert found[name] == pytest.approx({"n": 400, "prevalence": y.mean()} | library(y, scores), rel=1e-12)


def test_weights_reach_every_measure(measures, binary, tmp_path):
    y, p, w = binary
    np.savez(tmp_path / "x.npz", y=y, p=p, w=w)
    expected = library(y, p, sample_weight=w)
    sums = {"n": (w > 0).sum(), "weight": w.sum(), "prevalence": np.average(y, weights=w)}
    assert measures("x.npz", "--weight", "w")["p"] == pytest.approx(sums | expected, rel=1e-12)


def test_fractional_weights_leave_tce_out_and_say_so(call, measures, binary, tmp_path):
    y, p, w = binary
    np.savez(tmp_path / "x.npz", y=y, p=p, w=w / 3)
    found = measures("x.npz", "--weight", "w")["p"]
    assert math.isnan(found["tce"])
    assert found["squared_ece"] == tn.squared_ece(y, p, sample_weight=w / 3, weight_type="importance")
    assert "TCE, which counts rows, is left out" in call("measure", "x.npz", "--weight", "w", "--no-intervals").stderr


@pytest.mark.parametrize(
    ("text", "bins", "mass"),
    [
        ("5", 5, 5),
        ("width:7", 7, 7),
        ("mass:8", tn.EqualMass(8), 8),
        ("0,0.2,1", [0, 0.2, 1], 2),
        ("isotonic", tn.Isotonic(), 10),
        ("block-isotonic", tn.BlockIsotonic(), 10),
        ("block", tn.BlockIsotonic(), 10),
        ("Distinct", tn.Distinct(), 10),
    ],
)
def test_bins_can_be_said(measures, binary, tmp_path, text, bins, mass):
    y, p, _ = binary
    p = p.round(2)
    np.savez(tmp_path / "x.npz", y=y, p=p)
    found = measures("x.npz", "--bins", text)["p"]
    assert found["ece"] == tn.ece(y, p, bins=bins)
    assert found["mce"] == tn.mce(y, p, bins=bins)
    assert found["ace"] == tn.ace(y, p, bins=mass)


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "ten",
        "-3",
        "",
        "1.5",
        "mass:x",
        "mass:",
        "mass:0",
        "1,0",
        "0,2",
        "0,,1",
        "99999999999",
        "nan,1",
        "mass:99999999999",
    ],
)
def test_bins_that_make_no_sense_are_refused(fails, text):
    assert fails("measure", "--demo", "--bins", text).startswith("`--bins`")


def test_a_bin_rule_needs_no_data():
    assert bin_rule("mass:3") == tn.EqualMass(3)


def test_text_labels_need_to_be_told_which_is_the_event(measures, fails):
    rows = "label,score\nyes,0.9\nno,0.2\nno,0.6\nyes,0.7\n"
    message = fails("measure", "-", stdin=rows)
    assert message.startswith("standard input: Column 'label' ")
    assert "`--pos-label 'yes'`" in message
    found = measures("-", "--pos-label", "yes", stdin=rows)["score"]
    assert found["brier"] == tn.brier([1, 0, 0, 1], [0.9, 0.2, 0.6, 0.7])
    assert measures("-", "--labels", "no,yes", stdin=rows)["score"] == pytest.approx(found, nan_ok=True)
    assert "'maybe'" in fails("measure", "-", "--pos-label", "maybe", stdin=rows)


def test_scores_out_of_range_are_named_and_placed(fails):
    message = fails("measure", "-", stdin="y,p\n0,50\n1,20\n")
    assert message.startswith(
        "standard input: Column 'p' must lie in [0, 1]; 2 of 2 values do not, the first is 50 at line 2."
    )
    assert "percentages" in message


def test_logits_and_small_excesses_are_accepted_when_said(measures, fails):
    logits = "y,p\n0,-1.5\n1,2\n1,0.25\n0,0.5\n"
    assert "`--from-logits`" in fails("measure", "-", stdin=logits)
    found = measures("-", "--from-logits", stdin=logits)["p"]
    assert found["brier"] == tn.brier([0, 1, 1, 0], [-1.5, 2, 0.25, 0.5], from_logits=True)
    above = "y,p\n0,0.2\n1,1.0000001\n1,0.3\n"
    assert "`--clip-tolerance " in fails("measure", "-", stdin=above)
    assert measures("-", "--clip-tolerance", "1e-6", stdin=above)["p"]["n"] == 3


def test_rows_that_miss_any_score_are_dropped_for_all_models(call, measures):
    rows = "y,p,q,w\n0,0.5,,1\n1,NA,0.3,1\n1,0.7,0.8,1\n0,0.2,0.1,1\n,0.2,0.1,1\n1,0.4,0.4,\n1,0.5,0.6,2\n"
    found = measures("-", "--prob", "p", "--prob", "q", "--weight", "w", "--missing", "drop", stdin=rows)
    for name, scores in (("p", [0.7, 0.2, 0.5]), ("q", [0.8, 0.1, 0.6])):
        assert found[name]["n"] == 3
        assert found[name]["brier"] == pytest.approx(tn.brier([1, 0, 1], scores, sample_weight=[1, 1, 2]))
    said = call(
        "measure", "-", "--prob", "p", "--prob", "q", "--weight", "w", "--missing", "drop", "--no-intervals", stdin=rows
    ).stderr
    assert said.count("4 of 7 rows have a missing value and were dropped") == 1


def test_no_complete_row_is_refused(fails):
    assert "all 2 have a missing value" in fails("measure", "-", "--missing", "drop", stdin="y,p\n0,\n1,NA\n")


KINDS = ("classwise", "confidence", "top-label")


def test_measures_of_a_matrix_are_the_librarys(measures, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    asked = [word for kind in KINDS for word in ("--kind", kind)]
    found = measures("x.npz", "--prob", "P", *asked)["P"]
    expected = {"n": 300, "classes": 3, "accuracy": (P.argmax(axis=1) == y).mean()}
    for kind in KINDS:
        for measure in (tn.ece, tn.ace, tn.mce, tn.tce, tn.smooth_ece):
            expected[f"{measure.__name__}_{kind.replace('-', '_')}"] = measure(y, P, kind=kind)
    expected["squared_ece_confidence"] = tn.squared_ece(tn.tally(y, P, kind="confidence"))
    parts = tn.corp(y, P)
    expected |= {f"brier_{part}": getattr(parts, part) for part in ("miscalibration", "discrimination", "uncertainty")}
    expected |= {"brier": parts.score, "log_loss": tn.log_loss(y, P)}
    assert found == pytest.approx(expected, rel=1e-12)


def test_floors_of_a_matrix_are_those_of_the_library(measures, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    found = measures("x.npz", "--prob", "P", limits=True)["P"]
    # Floors are means over classes of one against the rest; drawn row by row, the classes are dependent.
    for name, measure in {"ece": tn.ece, "tce": tn.tce}.items():
        for kind in ("classwise", "confidence"):
            of_rows = tn.noise_floor(measure, P, kind=kind, resamples=199, seed=1)
            error = 4 * of_rows.std * np.sqrt(1 / 199 + 1 / 99)
            assert abs(found[f"{name}_{kind}_floor"] - of_rows.mean) < error
    of_rows = tn.noise_floor(lambda t: tn.corp(t).miscalibration, P, resamples=199, seed=1)
    assert found["brier_miscalibration_floor"] == pytest.approx(of_rows.mean, abs=4 * of_rows.std * 0.12)


def test_a_matrix_is_measured_class_by_class_and_by_confidence_unless_said_otherwise(measures, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    found = measures("x.npz", "--prob", "P")["P"]
    assert "ece_classwise" in found
    assert "ece_confidence" in found
    assert "ece_top_label" not in found


NAMES = np.array(["cat", "dog", "ant"])


@pytest.mark.parametrize(
    ("labels", "columns", "asked"),
    [
        (NAMES, ["p_cat", "p_dog", "p_ant"], ["p_*"]),
        (NAMES, ["cat", "dog", "ant"], ["cat,dog,ant"]),
        (NAMES, ["p_cat", "p_dog", "p_ant"], ["p_cat,p_dog,p_ant", "--labels", "cat,dog,ant"]),
        (np.array([0, 1, 2]), ["a", "b", "c"], ["a,b,c"]),
        (np.array([5, 7, 10]), ["p5", "p7", "p10"], ["p*"]),
        (np.array([5, 7, 10]), ["a", "b", "c"], ["a,b,c", "--labels", "5,7,10"]),
        (np.array([0, 1, 2]), ["p1", "p2", "p3"], ["p*"]),
    ],
    ids=["star", "names", "labels", "codes", "numbers", "numbers said", "codes from 1"],
)
@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_columns_find_their_classes(measures, multiclass, tmp_path, labels, columns, asked, name):
    y, P = multiclass
    order = np.random.default_rng(0).permutation(3) if asked == ["p_*"] else np.arange(3)
    frame = pl.DataFrame({"y": labels[y]} | {columns[k]: P[:, k] for k in order})
    frame.write_csv(tmp_path / name) if name.endswith("csv") else frame.write_parquet(tmp_path / name)
    (found,) = measures(name, "--prob-columns", *asked).values()
    assert found["ece_confidence"] == pytest.approx(tn.ece(y, P, kind="confidence"), rel=1e-12)
    assert found["log_loss"] == pytest.approx(tn.log_loss(y, P), rel=1e-12)


def test_text_labels_are_not_matched_to_columns_of_other_names(fails, multiclass, tmp_path):
    y, P = multiclass
    pl.DataFrame({"y": NAMES[y], "a": P[:, 0], "b": P[:, 1], "c": P[:, 2]}).write_csv(tmp_path / "x.csv")
    message = fails("measure", "x.csv", "--prob-columns", "a,b,c")
    assert "are not the names of the score columns ('a', 'b', 'c'); `--labels` must name" in message


def test_the_order_of_text_labels_is_said_where_columns_have_no_names(call, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=np.array(["a", "b", "c"])[y], P=P)
    result = call("measure", "x.npz", "--prob", "P", "--no-intervals")
    assert "note: Columns of 'P' are taken to be the labels in sorted order: a, b, c." in result.stderr


def test_numbers_taken_from_names_are_said(call, multiclass, tmp_path):
    y, P = multiclass
    pl.DataFrame({"y": y + 1, "p1": P[:, 0], "p2": P[:, 1], "p3": P[:, 2]}).write_csv(tmp_path / "x.csv")
    result = call("measure", "x.csv", "--prob-columns", "p*", "--no-intervals")
    assert "note: Classes are taken from the names of the columns: 1, 2, 3." in result.stderr


def test_rows_that_do_not_sum_to_one_are_refused_unless_said(call, fails, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P.round(3))
    assert "`--sum-tolerance" in fails("measure", "x.npz", "--prob", "P")
    assert call("measure", "x.npz", "--prob", "P", "--sum-tolerance", "0.01", "--no-intervals").exit_code == 0


def test_vectors_and_matrices_are_not_mixed(fails, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P, p=P[:, 0])
    assert "measure them apart" in fails("measure", "x.npz", "--prob", "P", "--prob", "p")
    assert "`--kind` is only for scores of several classes" in fails(
        "measure", "x.npz", "--prob", "p", "--kind", "confidence"
    )
    assert "`--labels`" in fails("measure", "x.npz", "--prob", "P", "--pos-label", "1")


def test_bin_tables_are_the_librarys(call, binary, multiclass, tmp_path):
    y, p, _ = binary
    np.savez(tmp_path / "x.npz", y=y, p=p)
    result = call("measure", "x.npz", "--no-intervals", "--table", "--bins", "4", "--level", "0.9", "--format", "json")
    (model,) = json.loads(result.stdout)["models"]
    assert model["bin_tables"]["binary"] == tn.bin_table(y, p, bins=4, level=0.9).to_dict()
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    result = call(
        "measure", "x.npz", "--prob", "P", "--no-intervals", "--table", "--kind", "confidence", "--format", "json"
    )
    (model,) = json.loads(result.stdout)["models"]
    found = model["bin_tables"]["confidence"]
    assert found["n"] == tn.bin_table(y, P, kind="confidence").n.tolist()
    assert found["rate"][0] is None


def test_limits_and_floors_are_those_of_estimate(measures, binary, tmp_path):
    y, p, w = binary
    clusters = np.arange(400) // 4
    np.savez(tmp_path / "x.npz", y=y, p=p, w=w, f=w / 3, g=clusters)
    for options, rows in (
        ([], {}),
        (["--weight", "w", "--level", "0.9"], {"sample_weight": w, "level": 0.9}),
        (["--weight", "f"], {"sample_weight": w / 3}),
        (["--cluster", "g"], {"cluster": clusters}),
    ):
        found = measures("x.npz", *options, limits=True)["p"]
        exact = ("ece_l2", "mce", "brier", "brier_uncertainty", "log_loss", "slope", "intercept", "prevalence")
        for key in exact:  # not those of ECE and ACE, which redraw labels
            one = tn.estimate(key, y, p, floor=False, seed=0, **rows)
            assert [found[f"{key}_low"], found[f"{key}_high"]] == pytest.approx(
                [one.low, one.high], rel=1e-9, nan_ok=True
            )
            assert math.isnan(one.low) or found[f"{key}_low"] <= found[key] <= found[f"{key}_high"]
        for key in ("ece", "mce", "smooth_ece", "brier_miscalibration"):
            one = tn.estimate(key, y, p, seed=1, **rows)
            assert found[f"{key}_floor"] == pytest.approx(one.floor, rel=0.3)


def test_clusters_widen_the_limits(measures, tmp_path):
    y, p = np.repeat([0, 1, 1, 0, 1, 0, 0, 1] * 10, 5), np.repeat(np.linspace(0.1, 0.9, 80), 5)
    np.savez(tmp_path / "x.npz", y=y, p=p, g=np.arange(400) // 5)
    alone, clustered = (measures("x.npz", *more, limits=True)["p"] for more in ([], ["--cluster", "g"]))
    for key in ("brier", "slope", "observed_expected", "ece"):
        width = [found[f"{key}_high"] - found[f"{key}_low"] for found in (alone, clustered)]
        assert width[1] > 1.5 * width[0]


def test_clusters_need_all_rows_and_intervals(fails, tmp_path):
    (tmp_path / "x.csv").write_text("y,p,g\n0,0.2,a\n1,0.7,b\n")
    assert "--cluster needs all rows at once" in fails("measure", "x.csv", "--cluster", "g", "--stream")
    assert "--cluster is for intervals" in fails("measure", "x.csv", "--cluster", "g", "--no-intervals")
