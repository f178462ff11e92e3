"""``trueness measure``: the numbers are the library's, and each stands beside its interval or its noise floor."""

import csv
import io
import json
import math
import re

import numpy as np
import polars as pl
import pytest

import trueness as tn

KINDS = ("classwise", "confidence", "top-label")
NAMES = np.array(["cat", "dog", "ant"])


@pytest.fixture
def measures(call):
    """The measures of each model, by name; the values alone, unless limits are asked for."""

    def run(*arguments, limits=False, **options):
        result = call(
            "measure",
            *arguments,
            *([] if limits else ["--no-intervals"]),
            "--format",
            "csv",
            **options,
        )
        assert result.exit_code == 0, result.stderr
        head, *lines = csv.reader(io.StringIO(result.stdout))
        return {
            name: {line[0]: float(line[i] or "nan") for line in lines}
            for i, name in enumerate(head)
            if i
        }

    return run


@pytest.fixture
def matrix(multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    return y, P


def library(y, p, bins=10, mass=10, **rows):
    parts = tn.corp(y, p, **rows)
    return {
        "ece": tn.ece(y, p, bins=bins, **rows),
        "l2": max(0, tn.squared_ece(y, p, **rows)) ** 0.5,
        "ace": tn.ace(y, p, bins=mass, **rows),
        "mce": tn.mce(y, p, bins=bins, **rows),
        "tce": tn.tce(y, p, **rows),
        "smooth_ece": tn.smooth_ece(y, p, **rows),
        "brier": tn.brier(y, p, **rows),
        "brier_miscalibration": parts.miscalibration,
        "brier_discrimination": parts.discrimination,
        "brier_uncertainty": parts.uncertainty,
        "log_loss": tn.log_loss(y, p, **rows),
        "observed_expected": tn.observed_expected(y, p, **rows),
        "intercept": tn.calibration_intercept(y, p, **rows),
        "slope": tn.calibration_slope(y, p, **rows),
    }


def agree(found, expected):
    """Compare the measures that are expected; a new one need not be among them."""
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)


def test_measures_of_a_vector_are_the_librarys(call, measures, binary, tmp_path):
    y, p, w = binary
    np.savez(tmp_path / "x.npz", y=y, a=p, b=p**2, w=w, f=w / 3)
    found = measures("x.npz", "--prob", "a", "--prob", "b")
    assert list(found) == ["a", "b"]
    for name, scores in (("a", p), ("b", p**2)):
        agree(found[name], {"n": 400, "prevalence": y.mean()} | library(y, scores))
    sums = {"n": (w > 0).sum(), "weight": w.sum(), "prevalence": np.average(y, weights=w)}
    agree(
        measures("x.npz", "--prob", "a", "--weight", "w")["a"],
        sums | library(y, p, sample_weight=w),
    )
    fractions = measures("x.npz", "--prob", "a", "--weight", "f")["a"]
    assert math.isnan(fractions["tce"])
    expected = tn.squared_ece(y, p, sample_weight=w / 3, weight_type="importance") ** 0.5
    assert fractions["l2"] == pytest.approx(expected, rel=1e-12)
    said = call("measure", "x.npz", "--prob", "a", "--weight", "f", "--no-intervals").stderr
    assert "TCE, which counts rows, is left out" in said


@pytest.mark.parametrize(
    ("text", "bins", "mass"),
    [
        ("width:7", 7, 7),
        ("mass:8", tn.EqualMass(8), 8),
        ("0,0.2,1", [0, 0.2, 1], 2),
        ("isotonic", tn.Isotonic(), 10),
        ("block", tn.BlockIsotonic(), 10),
        ("Distinct", tn.Distinct(), 10),
    ],
)
def test_bins_can_be_said(measures, binary, tmp_path, text, bins, mass):
    y, p, _ = binary
    p = p.round(2)
    np.savez(tmp_path / "x.npz", y=y, p=p)
    found = measures("x.npz", "--bins", text)["p"]
    assert [found[key] for key in ("ece", "mce", "ace")] == [
        tn.ece(y, p, bins=bins),
        tn.mce(y, p, bins=bins),
        tn.ace(y, p, bins=mass),
    ]


def test_bins_that_make_no_sense_are_refused(fails):
    for text in (
        "0",
        "ten",
        "-3",
        "",
        "1.5",
        "mass:",
        "mass:0",
        "1,0",
        "0,2",
        "0,,1",
        "99999999999",
        "nan,1",
    ):
        assert fails("measure", "--demo", "--bins", text).startswith("`--bins`"), text


def test_text_labels_need_to_be_told_which_is_the_event(measures, fails):
    rows = "label,score\nyes,0.9\nno,0.2\nno,0.6\nyes,0.7\n"
    message = fails("measure", "-", stdin=rows)
    assert message.startswith("standard input: Column 'label' ")
    assert "`--pos-label 'yes'`" in message
    found = measures("-", "--pos-label", "yes", stdin=rows)["score"]
    assert found["brier"] == tn.brier([1, 0, 0, 1], [0.9, 0.2, 0.6, 0.7])
    assert measures("-", "--labels", "no,yes", stdin=rows)["score"] == pytest.approx(
        found, nan_ok=True
    )
    assert "'maybe'" in fails("measure", "-", "--pos-label", "maybe", stdin=rows)


def test_scores_out_of_range_are_named_and_placed(measures, fails):
    message = fails("measure", "-", stdin="y,p\n0,50\n1,20\n")
    assert message.startswith(
        "standard input: Column 'p' must lie in [0, 1]; 2 of 2 values do not, the first is 50 at row 0."
    )
    assert "percentages" in message
    logits = "y,p\n0,-1.5\n1,2\n1,0.25\n0,0.5\n"
    assert "`--from-logits`" in fails("measure", "-", stdin=logits)
    found = measures("-", "--from-logits", stdin=logits)["p"]
    assert found["brier"] == tn.brier([0, 1, 1, 0], [-1.5, 2, 0.25, 0.5], from_logits=True)
    above = "y,p\n0,0.2\n1,1.0000001\n1,0.3\n"
    assert "`--clip-tolerance " in fails("measure", "-", stdin=above)
    assert measures("-", "--clip-tolerance", "1e-6", stdin=above)["p"]["n"] == 3


def test_rows_that_miss_any_score_are_dropped_for_all_models(call, measures, fails):
    rows = "y,p,q,w\n0,0.5,,1\n1,NA,0.3,1\n1,0.7,0.8,1\n0,0.2,0.1,1\n,0.2,0.1,1\n1,0.4,0.4,\n1,0.5,0.6,2\n"
    asked = ["-", "--prob", "p", "--prob", "q", "--weight", "w", "--missing", "drop"]
    found = measures(*asked, stdin=rows)
    for name, scores in (("p", [0.7, 0.2, 0.5]), ("q", [0.8, 0.1, 0.6])):
        assert found[name]["n"] == 3
        assert found[name]["brier"] == pytest.approx(
            tn.brier([1, 0, 1], scores, sample_weight=[1, 1, 2])
        )
    said = call("measure", *asked, "--no-intervals", stdin=rows).stderr
    assert said.count("4 of 7 rows have a missing value and were dropped") == 1
    assert "all 2 have a missing value" in fails(
        "measure", "-", "--missing", "drop", stdin="y,p\n0,\n1,NA\n"
    )


def test_measures_of_a_matrix_are_the_librarys(measures, matrix):
    y, P = matrix
    found = measures(
        "x.npz", "--prob", "P", *(word for kind in KINDS for word in ("--kind", kind))
    )["P"]
    expected = {"n": 300, "classes": 3, "accuracy": (P.argmax(axis=1) == y).mean()}
    for kind in KINDS:
        for measure in (tn.ece, tn.ace, tn.mce, tn.tce, tn.smooth_ece):
            expected[f"{measure.__name__}_{kind.replace('-', '_')}"] = measure(y, P, kind=kind)
    expected["l2_confidence"] = max(0, tn.squared_ece(tn.tally(y, P, kind="confidence"))) ** 0.5
    parts = tn.corp(y, P)
    expected |= {
        f"brier_{part}": getattr(parts, part)
        for part in ("miscalibration", "discrimination", "uncertainty")
    }
    agree(found, expected | {"brier": parts.score, "log_loss": tn.log_loss(y, P)})
    usual = measures("x.npz", "--prob", "P")["P"]
    assert (
        usual.items()
        == {key: value for key, value in found.items() if "top_label" not in key}.items()
    )


@pytest.mark.slow
def test_floors_of_a_matrix_are_those_of_the_library(measures, matrix):
    y, P = matrix
    found = measures("x.npz", "--prob", "P", limits=True)["P"]
    # Floors are means over classes of one against the rest; drawn row by row, the classes are dependent.
    of_parts = {"brier_miscalibration": (lambda t: tn.corp(t).miscalibration, "classwise")}
    for key, (measure, kind) in (
        of_parts.items()
        | {f"ece_{kind}": (tn.ece, kind) for kind in ("classwise", "confidence")}.items()
    ):
        of_rows = tn.noise_floor(measure, P, kind=kind, resamples=99, seed=1)
        assert abs(found[f"{key}_floor"] - of_rows.mean) < 4 * of_rows.std * np.sqrt(2 / 99)
    brier = tn.estimate("brier", y, P)
    assert (found["brier_low"], found["brier_high"]) == pytest.approx((brier.low, brier.high))


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
def test_columns_find_their_classes(measures, multiclass, tmp_path, labels, columns, asked):
    y, P = multiclass
    order = np.random.default_rng(0).permutation(3) if asked == ["p_*"] else np.arange(3)
    pl.DataFrame({"y": labels[y]} | {columns[k]: P[:, k] for k in order}).write_csv(
        tmp_path / "x.csv"
    )
    (found,) = measures("x.csv", "--prob-columns", *asked).values()
    assert found["ece_confidence"] == pytest.approx(tn.ece(y, P, kind="confidence"), rel=1e-12)
    assert found["log_loss"] == pytest.approx(tn.log_loss(y, P), rel=1e-12)


def test_classes_that_are_not_named_are_said_or_refused(call, fails, multiclass, tmp_path):
    y, P = multiclass
    a, b, c = P.T
    pl.DataFrame({"y": NAMES[y], "a": a, "b": b, "c": c}).write_csv(tmp_path / "x.csv")
    message = fails("measure", "x.csv", "--prob-columns", "a,b,c")
    assert "are not the names of the score columns ('a', 'b', 'c'); `--labels` must name" in message
    pl.DataFrame({"y": y + 1, "p1": a, "p2": b, "p3": c}).write_csv(tmp_path / "x.csv")
    result = call("measure", "x.csv", "--prob-columns", "p*", "--no-intervals")
    assert "note: Classes are taken from the names of the columns: 1, 2, 3." in result.stderr
    np.savez(tmp_path / "x.npz", y=np.array(["a", "b", "c"])[y], P=P, R=P.round(3), p=a)
    result = call("measure", "x.npz", "--prob", "P", "--no-intervals")
    assert (
        "note: Columns of 'P' are taken to be the labels in sorted order: a, b, c." in result.stderr
    )
    assert "`--sum-tolerance" in fails("measure", "x.npz", "--prob", "R")
    assert (
        call(
            "measure", "x.npz", "--prob", "R", "--sum-tolerance", "0.01", "--no-intervals"
        ).exit_code
        == 0
    )
    assert "measure them apart" in fails("measure", "x.npz", "--prob", "P", "--prob", "p")
    kind = fails("measure", "x.npz", "--prob", "p", "--pos-label", "a", "--kind", "confidence")
    assert "`--kind` is only for scores of several classes" in kind
    assert "`--labels`" in fails("measure", "x.npz", "--prob", "P", "--pos-label", "a")


def test_bin_tables_are_the_librarys(call, binary, matrix, tmp_path):
    y, p, _ = binary
    np.savez(tmp_path / "v.npz", y=y, p=p)
    asked = ["measure", "v.npz", "--no-intervals", "--table", "--bins", "4", "--level", "0.9"]
    (model,) = json.loads(call(*asked, "--format", "json").stdout)["models"]
    assert model["bin_tables"]["binary"] == tn.bin_table(y, p, bins=4, level=0.9).to_dict()
    markdown = call(*asked, "--format", "markdown").stdout
    assert "Bins of p:" in markdown
    assert "| bin | rows | score | rate | 90 % interval | gap | O/E | 90 % interval |" in markdown
    y, P = matrix
    asked = ["measure", "x.npz", "--prob", "P", "--no-intervals", "--table", "--bins", "3"]
    (model,) = json.loads(call(*asked, "--format", "json").stdout)["models"]
    assert (
        model["bin_tables"]["confidence"]["n"]
        == tn.bin_table(y, P, kind="confidence", bins=3).n.tolist()
    )
    lines = list(csv.DictReader(io.StringIO(call(*asked, "--format", "csv").stdout)))
    assert [line["kind"] for line in lines] == ["classwise"] * 9 + ["confidence"] * 3
    assert [line["label"] for line in lines] == [*"000111222", "", "", ""]
    assert sum(int(line["n"]) for line in lines) == 4 * 300


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (["--weight", "w", "--level", "0.9"], {"sample_weight": "w", "level": 0.9}),
        pytest.param([], {}, marks=pytest.mark.slow),
        pytest.param(["--weight", "f"], {"sample_weight": "f"}, marks=pytest.mark.slow),
        pytest.param(["--cluster", "g"], {"cluster": "g"}, marks=pytest.mark.slow),
    ],
)
def test_limits_and_floors_are_those_of_estimate(measures, binary, tmp_path, options, rows):
    y, p, w = binary
    columns = {"y": y, "p": p, "w": w, "f": w / 3, "g": np.arange(400) // 4}
    np.savez(tmp_path / "x.npz", **columns)
    rows = {
        name: columns.get(value, value) if isinstance(value, str) else value
        for name, value in rows.items()
    }
    found = measures("x.npz", *options, limits=True)["p"]
    # Not those of ECE and ACE, which redraw labels.
    for key in (
        "l2",
        "mce",
        "brier",
        "brier_uncertainty",
        "log_loss",
        "slope",
        "intercept",
        "prevalence",
    ):
        one = tn.estimate(key, y, p, floor=False, seed=0, **rows)
        assert [found[f"{key}_low"], found[f"{key}_high"]] == pytest.approx(
            [one.low, one.high], rel=1e-9, nan_ok=True
        )
        assert math.isnan(one.low) or found[f"{key}_low"] <= found[key] <= found[f"{key}_high"]
    for key in ("ece", "mce", "brier_miscalibration"):
        assert found[f"{key}_floor"] == pytest.approx(
            tn.estimate(key, y, p, seed=1, **rows).floor, rel=0.3
        )


def test_options_that_would_be_ignored_are_refused(fails, tmp_path):
    (tmp_path / "x.csv").write_text("y,p,g\n0,0.2,a\n1,0.7,b\n")
    (tmp_path / "x.jsonl").write_text('{"y": 0, "p": 0.2}\n{"y": 1, "p": 0.8}\n')
    assert "`--cluster` needs all rows at once" in fails(
        "measure", "x.csv", "--cluster", "g", "--stream"
    )
    assert "--cluster is for intervals" in fails(
        "measure", "x.csv", "--cluster", "g", "--no-intervals"
    )
    assert "--level is for intervals" in fails(
        "measure", "x.csv", "--level", "0.9", "--no-intervals"
    )
    message = fails("measure", "x.jsonl", "--separator", ";")
    assert "`--separator` is only for CSV and TSV; x.jsonl is JSON lines. Leave it out." in message


def test_json_is_strict_and_has_its_keys(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=[1, 0, 1], p=[0.0, 0.4, 0.9])

    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(call("measure", "x.npz", "--format", "json").stdout, parse_constant=refuse)
    assert list(data) == ["schema", "version", "data", "bins", "level", "models"]
    assert data["data"] == {
        "source": "x.npz",
        "label": "y",
        "weight": None,
        "cluster": None,
        "by": [],
    }
    assert data["bins"].keys() >= {"ece", "mce", "ace", "tce", "l2"}
    (model,) = data["models"]
    assert list(model) == ["name", "columns", "classes", "measures", "infinite", "methods", "notes"]
    assert model["measures"]["log_loss"] is None
    assert "log_loss" in model["infinite"]
    assert (model["measures"]["n_certain"], model["measures"]["n_certain_wrong"]) == (1, 1)
    found, ends = list(model["measures"]), ("", "_low", "_high", "_floor")
    assert found[:5] == ["n", *(f"prevalence{end}" for end in ends)]
    assert found[-2:] == ["n_certain", "n_certain_wrong"]
    assert {
        key + end for key in library([0, 1] * 10, np.linspace(0.1, 0.8, 20)) for end in ends
    } < set(found)


def cells(text, name):
    """The cells of the row that begins with a name."""
    (line,) = (line for line in text.splitlines() if re.split(r"\s{2,}", line)[0] == name)
    return re.split(r"\s{2,}", line)


def test_every_number_stands_beside_its_interval_or_its_floor(call, tmp_path):
    asked = ["measure", "--demo", "--rows", "300", "--prob", "overconfident"]
    text = call(*asked).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert re.split(r"\s{2,}", text.splitlines()[0])[1:4] == [
        "overconfident",
        "95 % interval",
        "if calibrated",
    ]
    table, notes = text.split("\n\n")
    for line in table.splitlines()[2:]:
        name, _, interval, floor, *_ = [*re.split(r"\s{2,}", line), "", ""]
        has_floor = re.fullmatch(r"0\.\d*[1-9]\d*|[\d.]+ %", floor) is not None
        assert " to " in interval or (
            interval == "-" and has_floor != (name == "– discrimination")
        ), line
    assert "smooth ECE, miscalibration: no valid interval is known; compare" in " ".join(
        notes.split()
    )
    lines = call(*asked, "--prob", "recalibrated", "--prob", "truth").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    below = {line.split("  ")[0]: lines[at + 1] for at, line in enumerate(lines[:-1])}
    assert len(re.findall(r"[\d.]+ to [\d.]+", below["slope"])) == 3
    assert below["slope"].startswith("– 95 % interval ")
    assert all(
        below[name].startswith("– if calibrated ") for name in ("MCE", "TCE", "– miscalibration")
    )


@pytest.mark.slow
def test_groups_and_sums_show_the_tce_with_its_floor_only(call, tmp_path):
    d = tn.simulate.demo(120)
    np.savez(tmp_path / "x.npz", y=d.y_true, p=d.y_prob.round(2), g=np.arange(120) % 2)
    by = ["measure", "x.npz", "--prob", "p", "--by", "g"]
    head = call(*by).stdout.splitlines()[0]
    assert head.split()[2:7] == ["ECE", "95", "%", "interval", "floor"]
    assert "| TCE | floor |" in call(*by, "--format", "markdown").stdout
    for bins in ("distinct", "10"):
        assert (
            call("tally", "x.npz", "--prob", "p", "--bins", bins, "-o", f"{bins}.tally").exit_code
            == 0
        )
        text = call("measure", f"{bins}.tally").stdout
        assert max(map(len, text.splitlines())) <= 80
        if bins != "10":
            floors = [
                re.split(r"\s{2,}", line)[3]
                for line in text.splitlines()
                if line.startswith(("ECE ", "TCE "))
            ]
            assert len(floors) == 2
            assert all(float(floor.removesuffix(" %")) > 0 for floor in floors)


def test_the_numbers_alone_are_the_same_numbers(call):
    asked = ["measure", "--demo", "--rows", "300", "--prob", "overconfident", "--format", "json"]
    alone, whole = (
        json.loads(call(*asked, *more).stdout) for more in (["--no-intervals"], ["--level", "0.8"])
    )
    assert ("level" in alone, whole["level"]) == (False, 0.8)
    (model,) = alone["models"]
    assert not [key for key in model["measures"] if key.endswith(("_low", "_high", "_floor"))]
    both = whole["models"][0]["measures"]
    # Of the l2 error, the limits come with a value of their own, equal but for the last digits.
    assert model["measures"].pop("l2") == pytest.approx(both["l2"], rel=1e-12)
    assert model["measures"].items() <= both.items()
    text = call(*asked[:-2], "--no-intervals").stdout
    assert "interval" not in text
    assert "calibrated" not in text


def test_rows_of_a_matrix_name_their_view(call, matrix):
    text = call("measure", "x.npz", "--prob", "P", "--no-intervals").stdout
    for name in (
        "ECE (class-wise)",
        "ECE (confidence)",
        "TCE (confidence)",
        "Brier score (all classes)",
    ):
        assert f"\n{name} " in text
    for name in ("classwise", "confidence"):
        assert (
            call("tally", "x.npz", "--prob", "P", "--kind", name, "-o", f"{name}.tally").exit_code
            == 0
        )
        view = "class-wise" if name == "classwise" else name
        assert f"\nECE ({view}) " in call("measure", f"{name}.tally", "--no-intervals").stdout


def test_scores_of_0_and_1_are_counted(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=[1, 0, 1, 0, 1, 0], p=[0.0, 0.4, 0.9, 0.7, 0.6, 0.0])
    result = call("measure", "x.npz", "--no-intervals")
    assert cells(result.stdout, "scores of 0 or 1")[1:] == ["2", "no log-odds"]
    assert cells(result.stdout, "– contradicted")[1] == "1"
    assert "2 of 6 scores are exactly 0 or 1. Slope and intercept leave them out" in result.stderr
    assert "1 of them contradicts its label" in result.stderr
    assert (
        "scores of 0 or 1"
        not in call("measure", "--demo", "--rows", "200", "--no-intervals").stdout
    )


def test_numbers_are_written_so_that_models_compare(call, tmp_path):
    """Brier scores of 1/4 and 6.4e-5 have as many decimals; long and hostile names are text."""
    names = ["宽", "[bold]\x1b[31m a|b", "a very long name whose middle goes, as it must/b"]
    frame = pl.DataFrame(
        {
            "y": [0, 1] * 10,
            names[0]: [0.5] * 20,
            names[1]: [0.008, 0.992] * 10,
            names[2]: [0.5] * 20,
        }
    )
    frame.write_csv(tmp_path / "x.csv")
    asked = [
        "measure",
        "x.csv",
        *(word for name in names for word in ("--prob", name)),
        "--no-intervals",
    ]
    result = call(*asked)
    text = result.stdout
    head, *_ = text.splitlines()
    assert "宽" in head
    assert r"[bold]\x1b[31m a|b" in head
    assert "…" in head
    assert cells(text, "Brier score")[1:] == ["0.250000", "0.000064", "0.250000"]
    markdown = call(*asked, "--format", "markdown").stdout.splitlines()[0]
    assert r"\[bold\]" in markdown
    assert len(re.findall(r"(?<!\\)\|", markdown)) == 6
    assert [
        model["name"] for model in json.loads(call(*asked, "--format", "json").stdout)["models"]
    ] == names


def test_a_negative_slope_is_not_called_too_extreme(call, tmp_path):
    pl.DataFrame({"y": [0, 1, 0, 1, 0, 1], "p": [0.7, 0.3, 0.8, 0.4, 0.5, 0.6]}).write_csv(
        tmp_path / "x.csv"
    )
    text = call("measure", str(tmp_path / "x.csv"), "--no-intervals").stdout
    assert re.search(r"^slope.*$", text, re.MULTILINE)[0].endswith("< 0: inverted")
