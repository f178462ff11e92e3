"""``trueness test`` gives the library's tests, and adjusts for their number."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


def lines(result):
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.mark.parametrize("method", ["omnibus", "exact", "ks", "cox", "hosmer-lemeshow"])
def test_the_numbers_are_the_librarys(call, grouped, tmp_path, method):
    write_columns(tmp_path / "x.csv", grouped)
    (found,) = lines(call("test", "x.csv", "--prob", "p", "--method", method, "--seed", "3", "--format", "csv"))
    expected = tn.calibration_test(grouped["y"], grouped["p"], method=method, seed=3)
    assert float(found["pvalue"]) == expected.pvalue
    assert float(found["statistic"]) == expected.statistic
    assert found["adjusted_pvalue"] == ""


def test_clusters_and_weights_reach_the_test(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["--prob", "p", "--weight", "w", "--cluster", "who", "--method", "kuiper", "--resamples", "199"]
    (found,) = lines(call("test", "x.csv", *given, "--format", "csv"))
    expected = tn.calibration_test(
        grouped["y"],
        grouped["p"],
        sample_weight=grouped["w"],
        cluster=grouped["who"],
        method="kuiper",
        resamples=199,
        seed=0,
    )
    assert float(found["pvalue"]) == expected.pvalue


def test_groups_are_tested_apart_and_adjusted_together(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["--prob", "p", "--by", "region", "--method", "spiegelhalter"]
    north, south = lines(call("test", "x.csv", *given, "--format", "csv"))
    assert [north["group"], south["group"]] == ["north", "south"]
    raw = [float(line["pvalue"]) for line in (north, south)]
    for line, value in zip((north, south), raw, strict=True):
        rows = grouped["region"] == line["group"]
        alone = tn.calibration_test(grouped["y"][rows], grouped["p"][rows], method="spiegelhalter", seed=0)
        assert value == alone.pvalue
    assert float(south["adjusted_pvalue"]) == pytest.approx(2 * raw[1])
    assert float(north["adjusted_pvalue"]) == pytest.approx(max(raw[0], 2 * raw[1]))
    methods = ["--method", "kuiper"]
    shown = " ".join(call("test", "x.csv", *given, *methods).stdout.split())
    assert "Adjusted p-values allow for the number of models and groups (Holm)." in shown
    assert shown.count("kuiper: Rows are independent") == shown.count("spiegelhalter: Rows are independent") == 1
    assert shown.count("(The first test; JSON has the choices for the others.)") == 1


def test_each_method_gets_the_options_that_it_takes(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    methods = [word for name in ("exact", "cox", "hosmer-lemeshow") for word in ("--method", name)]
    found = lines(call("test", "x.csv", "--prob", "p", *methods, "--bins", "mass:7", "--fitted", "--format", "csv"))
    fitted = tn.calibration_test(
        grouped["y"], grouped["p"], method="hosmer-lemeshow", bins=tn.EqualMass(7), fitted=True
    )
    assert float(found[2]["pvalue"]) == fitted.pvalue
    assert float(found[1]["pvalue"]) == tn.calibration_test(grouped["y"], grouped["p"], method="cox").pvalue


def test_an_option_that_no_method_takes_is_refused(fails, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    assert "`--bins` is not used by `--method cox`" in fails(
        "test", "x.csv", "--prob", "p", "--method", "cox", "--bins", "5"
    )
    assert "must not depend on the labels" in fails(
        "test", "x.csv", "--prob", "p", "--method", "exact", "--bins", "isotonic"
    )
    assert "`--fitted`" in fails("test", "x.csv", "--prob", "p", "--fitted")


def test_json_has_the_assumptions_and_the_seed_decides_what_is_drawn(call):
    asked = ["test", "--demo", "--rows", "200", "--format", "json", "--seed"]
    one, same, other = (call(*asked, seed).stdout for seed in ("0", "0", "2"))
    assert one == same != other
    found = json.loads(one)
    assert [entry["model"] for entry in found["tests"]] == ["overconfident", "recalibrated"]
    assert "Rows are independent" in found["tests"][0]["assumptions"]
    about = {"source": "simulated data (seed 0)", "label": "y", "weight": None, "cluster": None, "by": []}
    assert found["data"] == about


def test_groups_that_miss_a_name_are_refused_or_dropped(call, fails, tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{int(rng.random() < 0.5)},0.5,{'ab'[i % 2] if i else ''}\n" for i in range(40))
    (tmp_path / "x.csv").write_text("y,p,g\n" + rows)
    assert "column 'g' must not have missing values; 1 of 40 are" in fails("test", "x.csv", "--by", "g")
    dropped = call("test", "x.csv", "--by", "g", "--missing", "drop", "--method", "ks")
    assert dropped.exit_code == 0
    assert "warning: 1 of 40 rows have a missing value and were dropped." in dropped.stderr


def test_several_classes_are_tested_together(call, tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 80)
    y = (scores.cumsum(axis=1) > rng.random((80, 1))).argmax(axis=1)
    write_columns(tmp_path / "x.csv", {"y": y, "a": scores[:, 0], "b": scores[:, 1], "c": scores[:, 2]})
    columns = ["--prob-columns", "a,b,c", "--resamples", "99", "--seed", "1", "--format", "csv"]
    for options, view in (
        (["--kind", "classwise"], {"kind": "classwise"}),
        (["--kind", "top-label"], {"kind": "top-label"}),
        (["--k", "2"], {"k": 2}),
    ):
        (found,) = lines(call("test", "x.csv", *columns, *options))
        expected = tn.calibration_test(y, scores, resamples=99, seed=1, **view)
        assert float(found["pvalue"]) == expected.pvalue


def test_labels_that_agree_too_well_get_a_note(call, tmp_path):
    """Of a hundred rows with score p, exactly 100 p are events, for every p."""
    scores = np.arange(5, 100, 5) / 100
    labels = np.concatenate([np.arange(100) < round(100 * p) for p in scores]).astype(int)
    write_columns(tmp_path / "x.csv", {"y": labels, "p": np.repeat(scores, 100)})
    shown = " ".join(call("test", "x.csv", "--prob", "p").stdout.split())
    assert "the labels agree with the scores better than chance allows (p = 0.0001, lower tail)" in shown


def test_two_columns_are_not_said_to_be_several_classes(call, grouped, tmp_path):
    columns = {"label": grouped["y"], "p_0": 1 - grouped["p"], "p_1": grouped["p"]}
    write_columns(tmp_path / "x.csv", columns)
    given = ["test", "x.csv", "--label", "label", "--prob-columns", "p_*"]
    binary, top = (" ".join(call(*given, *more).stdout.split()) for more in ([], ["--kind", "confidence"]))
    assert "binary problem" in binary
    assert "For several classes" not in binary
    assert "For several classes: the largest score" in top


@pytest.mark.parametrize("criterion", ["l2", "oe", "band", "ece"])
def test_equivalent_within_is_the_librarys_equivalence_test(call, grouped, tmp_path, criterion):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["--equivalent-within", "0.3", "--criterion", criterion, "--bins", "5"][: 6 if criterion == "ece" else 4]
    (found,) = lines(call("test", "x.csv", "--prob", "p", *given, "--format", "csv"))
    bins = {"bins": 5} if criterion == "ece" else {}
    expected = tn.equivalence_test(grouped["y"], grouped["p"], within=0.3, criterion=criterion, seed=0, **bins)
    assert float(found["pvalue"]) == expected.pvalue
    assert found["method"] == f"{criterion} equivalence"
    table = " ".join(call("test", "x.csv", "--prob", "p", *given).stdout.split())
    assert "a small p-value is evidence for calibration within 0.3." in table


def test_clusters_and_weights_reach_the_equivalence_test(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    asked = ["test", "x.csv", "--prob", "p", "--weight", "w", "--cluster", "who", "--equivalent-within", "0.3"]
    (found,) = lines(call(*asked, "--format", "csv"))
    options = {"sample_weight": grouped["w"], "cluster": grouped["who"], "within": 0.3, "seed": 0}
    assert float(found["pvalue"]) == tn.equivalence_test(grouped["y"], grouped["p"], **options).pvalue
    both = lines(call(*asked, "--method", "kuiper", "--format", "csv"))
    assert [line["method"] for line in both] == ["kuiper", "l2 equivalence"]


def test_options_that_do_not_go_with_the_equivalence_test_are_refused(call):
    for more, message in (
        (["--criterion", "oe"], "--criterion needs --equivalent-within"),
        (["--equivalent-within", "0.1", "--bins", "5"], "--bins is not an option of the equivalence test"),
        (["--equivalent-within", "0.1", "--kind", "classwise"], "--kind classwise does not go with it"),
        (["--equivalent-within", "0"], "not in the range 0<x<=1"),
    ):
        result = call("test", "--demo", *more)
        assert result.exit_code == 2
        assert message in result.stderr
