"""``trueness test`` gives the library's tests, and adjusts for their number."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn

WITHIN = ["--equivalent-within", "0.3"]


def lines(result):
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture
def file(grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    return ["test", "x.csv", "--prob", "p"]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        (["--seed", "3"], {"seed": 3}),
        (["--method", "exact", "--bins", "7"], {"method": "exact", "bins": 7}),
        (["--method", "ks", "--resamples", "99"], {"method": "ks", "resamples": 99}),
        (["--method", "cox"], {"method": "cox"}),
        (["--method", "kuiper", "--weight", "w", "--cluster", "who"], {"method": "kuiper"}),
        (WITHIN, {"within": 0.3, "criterion": "l2"}),
        ([*WITHIN, "--criterion", "oe"], {"within": 0.3, "criterion": "oe"}),
        ([*WITHIN, "--criterion", "band"], {"within": 0.3, "criterion": "band"}),
        (
            [*WITHIN, "--criterion", "ece", "--bins", "5"],
            {"within": 0.3, "criterion": "ece", "bins": 5},
        ),
        ([*WITHIN, "--weight", "w", "--cluster", "who"], {"within": 0.3, "criterion": "l2"}),
    ],
)
def test_the_numbers_are_the_librarys(call, file, grouped, more, options):
    (found,) = lines(call(*file, *more, "--format", "csv"))
    if "--cluster" in more:
        options = {**options, "sample_weight": grouped["w"], "cluster": grouped["who"]}
    test = tn.equivalence_test if "within" in options else tn.calibration_test
    expected = test(grouped["y"], grouped["p"], **{"seed": 0} | options)
    assert float(found["pvalue"]) == expected.pvalue
    assert found["statistic"] == (
        "" if expected.alone else repr(expected.statistic)
    )  # omnibus has no single one
    assert found["adjusted_pvalue"] == ""
    assert found["method"] == expected.method


def test_groups_are_tested_apart_and_adjusted_together(call, file, grouped):
    given = [*file, "--by", "region", "--method", "spiegelhalter"]
    north, south = lines(call(*given, "--format", "csv"))
    assert [north["group"], south["group"]] == ["north", "south"]
    raw = [float(line["pvalue"]) for line in (north, south)]
    for line, value in zip((north, south), raw, strict=True):
        rows = grouped["region"] == line["group"]
        alone = tn.calibration_test(
            grouped["y"][rows], grouped["p"][rows], method="spiegelhalter", seed=0
        )
        assert value == alone.pvalue
    assert float(south["adjusted_pvalue"]) == pytest.approx(2 * raw[1])
    assert float(north["adjusted_pvalue"]) == pytest.approx(max(raw[0], 2 * raw[1]))
    methods = ["--method", "kuiper"]
    shown = " ".join(call(*given, *methods).stdout.split())
    assert "Adjusted p-values allow for the number of models and groups (Holm)." in shown
    assert (
        shown.count("kuiper: Rows are independent")
        == shown.count("spiegelhalter: Rows are independent")
        == 1
    )
    assert shown.count("(The first test; JSON has the choices for the others.)") == 1


def test_each_method_gets_the_options_that_it_takes(call, fails, file, grouped):
    methods = [word for name in ("exact", "cox", "hosmer-lemeshow") for word in ("--method", name)]
    given = [*file, *methods, "--bins", "mass:7", "--fitted", *WITHIN]
    found = lines(call(*given, "--format", "csv"))
    fitted = tn.calibration_test(
        grouped["y"], grouped["p"], method="hosmer-lemeshow", bins=tn.EqualMass(7), fitted=True
    )
    assert float(found[2]["pvalue"]) == fitted.pvalue
    assert (
        float(found[1]["pvalue"])
        == tn.calibration_test(grouped["y"], grouped["p"], method="cox").pvalue
    )
    assert found[3]["method"] == "l2 equivalence"
    assert "a small p-value is evidence for calibration within 0.3." in " ".join(
        call(*given).stdout.split()
    )
    assert "`--bins` is not used by `--method cox`" in fails(
        *file, "--method", "cox", "--bins", "5"
    )
    assert "must not depend on the labels" in fails(
        *file, "--method", "exact", "--bins", "isotonic"
    )
    assert "`--fitted`" in fails(*file, "--fitted")


def test_json_has_the_assumptions_and_the_seed_decides_what_is_drawn(call):
    asked = ["test", "--demo", "--rows", "200", "--format", "json", "--seed"]
    one, same, other = (call(*asked, seed).stdout for seed in ("0", "0", "2"))
    assert one == same != other
    found = json.loads(one)
    assert [entry["model"] for entry in found["tests"]] == ["overconfident", "recalibrated"]
    assert "Rows are independent" in found["tests"][0]["assumptions"]
    about = {
        "source": "simulated data (seed 0)",
        "label": "y",
        "weight": None,
        "cluster": None,
        "by": [],
    }
    assert found["data"] == about


def test_groups_that_miss_a_name_are_refused_or_dropped(call, fails, tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{int(rng.random() < 0.5)},0.5,{'ab'[i % 2] if i else ''}\n" for i in range(40))
    (tmp_path / "x.csv").write_text("y,p,g\n" + rows)
    assert "column 'g' must not have missing values; 1 of 40 are" in fails(
        "test", "x.csv", "--by", "g"
    )
    dropped = call("test", "x.csv", "--by", "g", "--missing", "drop", "--method", "ks")
    assert dropped.exit_code == 0
    assert "warning: 1 of 40 rows has a missing value and was dropped." in dropped.stderr


def test_several_classes_are_tested_together(call, tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 80)
    y = (scores.cumsum(axis=1) > rng.random((80, 1))).argmax(axis=1)
    write_columns(
        tmp_path / "x.csv", {"y": y, "a": scores[:, 0], "b": scores[:, 1], "c": scores[:, 2]}
    )
    columns = ["--prob-columns", "a,b,c", "--resamples", "99", "--seed", "1", "--format", "csv"]
    for options, view in (
        (["--kind", "classwise"], {"kind": "classwise"}),
        (["--kind", "top-label"], {"kind": "top-label"}),
        (["--k", "2"], {"k": 2}),
    ):
        (found,) = lines(call("test", "x.csv", *columns, *options))
        expected = tn.calibration_test(y, scores, resamples=99, seed=1, **view)
        assert float(found["pvalue"]) == expected.pvalue


def test_impossible_labels_have_no_statistic_and_the_way_out_is_an_option(call, tmp_path):
    write_columns(tmp_path / "x.csv", {"y": np.array([1, 0, 1]), "p": np.array([0.0, 0.0, 0.5])})
    shown = " ".join(call("test", "x.csv", "--prob", "p").stdout.split())
    assert "statistic" not in shown
    assert "pass `--rounded-to 0.01`" in shown
    assert "strongest" not in call("test", "x.csv", "--prob", "p", "--method", "ks").stdout


def test_labels_that_agree_too_well_get_a_note(call, tmp_path):
    """Of a hundred rows with score p, exactly 100 p are events, for every p."""
    scores = np.arange(5, 100, 5) / 100
    labels = np.concatenate([np.arange(100) < round(100 * p) for p in scores]).astype(int)
    write_columns(tmp_path / "x.csv", {"y": labels, "p": np.repeat(scores, 100)})
    shown = " ".join(call("test", "x.csv", "--prob", "p").stdout.split())
    assert (
        "the labels agree with the scores better than chance allows (p = 0.0001, lower tail)"
        in shown
    )


def test_two_columns_are_not_said_to_be_several_classes(call, grouped, tmp_path):
    columns = {"label": grouped["y"], "p_0": 1 - grouped["p"], "p_1": grouped["p"]}
    write_columns(tmp_path / "x.csv", columns)
    given = ["test", "x.csv", "--label", "label", "--prob-columns", "p_*"]
    binary, top = (
        " ".join(call(*given, *more).stdout.split()) for more in ([], ["--kind", "confidence"])
    )
    assert "binary problem" in binary
    assert "For several classes" not in binary
    assert "For several classes: the largest score" in top


def test_options_that_do_not_go_with_the_equivalence_test_are_refused(call):
    for more, message in (
        (["--criterion", "oe"], "--criterion needs --equivalent-within"),
        (
            ["--equivalent-within", "0.1", "--bins", "5"],
            "--bins is not an option of the equivalence test",
        ),
        (
            ["--equivalent-within", "0.1", "--kind", "classwise"],
            "--kind classwise does not go with it",
        ),
        (["--equivalent-within", "0"], "not in the range 0<x<=1"),
    ):
        result = call("test", "--demo", *more)
        assert result.exit_code == 2
        assert message in result.stderr


def test_the_type_of_weights_is_an_option(call, fails, tmp_path):
    rng = np.random.default_rng(8)
    p = rng.beta(2, 3, 400)
    y = (rng.random(400) < p) * 1
    w = rng.integers(1, 21, 400)
    lines = ["label,prob,w", *(f"{a},{b},{c}" for a, b, c in zip(y, p, w, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    file = str(tmp_path / "rows.csv")
    asked = ["test", file, "--weight", "w", "--format", "json"]
    guessed = call(*asked)
    assert "400 rows stand for" in guessed.stderr
    assert "--weight-type importance" in guessed.stderr
    said = call(*asked, "--weight-type", "importance")
    assert "stand for" not in said.stderr
    assert '"n": 400' in said.stdout
    assert "--weight" in fails("test", file, "--weight-type", "importance")
