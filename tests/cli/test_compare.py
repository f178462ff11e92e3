"""``trueness compare`` gives the library's comparisons."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


@pytest.fixture
def lines(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)

    def run(*arguments):
        result = call(
            "compare", "x.csv", "--prob", "p", "--prob", "q", *arguments, "--format", "csv"
        )
        assert result.exit_code == 0, result.stderr
        return list(csv.DictReader(io.StringIO(result.stdout)))

    return run


@pytest.mark.parametrize(
    ("more", "options"),
    [
        (["--cluster", "who"], {"cluster": "who"}),
        (["--measure", "brier", "--weight", "w"], {"measure": "brier", "sample_weight": "w"}),
        (["--measure", "log-loss", "--level", "0.9"], {"measure": "log_loss", "level": 0.9}),
        (["--bins", "5"], {"bins": 5}),
        (
            ["--measure", "ece", "--bins", "5", "--resamples", "99", "--seed", "4"],
            {
                "measure": lambda t: tn.ece(t, bins=5),
                "method": "bootstrap",
                "resamples": 99,
                "seed": 4,
            },
        ),
    ],
)
def test_the_numbers_are_the_librarys(lines, grouped, more, options):
    (found,) = lines(*more, "--no-intervals")
    options = {
        key: grouped.get(value, value) if isinstance(value, str) else value
        for key, value in options.items()
    }
    expected = tn.compare(grouped["y"], {"p": grouped["p"], "q": grouped["q"]}, **options)["p", "q"]
    for name in ("difference", "standard_error", "low", "high", "pvalue", "adjusted_pvalue"):
        assert float(found[name]) == getattr(expected, name)


def test_groups_are_compared_apart(lines, grouped):
    found = lines("--by", "region", "--measure", "brier", "--no-intervals")
    assert [line["group"] for line in found] == ["north", "south"]
    y, p, q = (grouped[key][grouped["region"] == "south"] for key in "ypq")
    assert (
        float(found[1]["difference"])
        == tn.compare(y, {"p": p, "q": q}, measure="brier")["p", "q"].difference
    )


def test_three_models_are_three_pairs_with_adjusted_p_values(call, fails):
    given = ["compare", "--demo", "--rows", "200", "--no-intervals"]
    three = ["--prob", "overconfident", "--prob", "recalibrated", "--prob", "truth"]
    found = call(*given, *three)
    assert len(found.stdout.split("\n\n")[0].splitlines()) == 4
    assert "adjusted p" in found.stdout
    assert "adjusted p" not in call(*given).stdout
    (found,) = json.loads(call(*given, "--format", "json").stdout)["comparisons"]
    (pair,) = found["pairs"]
    assert pair["first"] == "overconfident"
    assert pair["difference"] == pytest.approx(
        found["estimates"]["overconfident"] - found["estimates"]["recalibrated"]
    )
    assert found["measure"] == "squared_ece"
    assert "two models or more to compare; got 'overconfident' alone" in fails(*given, *three[:2])


def test_any_measure_is_compared_and_the_last_line_names_the_winner_or_none(call):
    given = [
        "compare",
        "--demo",
        "--rows",
        "2000",
        "--no-intervals",
        "--resamples",
        "99",
        "--measure",
    ]
    said = {
        name: " ".join(call(*given, name).stdout.split())
        for name in ("squared-ece", "auc", "slope")
    }
    assert "“recalibrated” is better calibrated than “" in said["squared-ece"]
    assert said["squared-ece"].endswith(" percentage points (p < 0.0001).")
    assert "No winner: " in said["auc"]
    assert said["slope"].endswith(
        "No winner: the models differ in slope, of which neither less nor more is better."
    )


def test_what_does_not_go_together_is_refused(fails):
    given = ("compare", "--demo", "--rows", "100", "--measure")
    assert "must be 'bootstrap'" in fails(*given, "ece", "--method", "influence")
    assert "`--bins` needs a measure in bins, by its name, such as 'ece'; TCE has none" in fails(
        *given, "tce", "--bins", "5"
    )


@pytest.fixture
def answers(grouped, tmp_path):
    """Two models with labels of their own: side by side, and as a long table in which 4 rows have no partner."""
    y, p, q, region = (grouped[name] for name in ("y", "p", "q", "region"))
    wide = {
        "a": y,
        "b": np.where(np.arange(y.size) % 5 == 0, 1 - y, y),
        "p": p,
        "q": q,
        "region": region,
    }
    write_columns(tmp_path / "wide.csv", wide)
    n = y.size
    long = {"model": ["p"] * n + ["q"] * n, "right": np.r_[y, wide["b"]], "conf": np.r_[p, q]}
    long |= {"question": np.r_[0:n, 0:n], "region": np.r_[region, region]}
    order = np.r_[0 : n - 4, n : 2 * n][::-1]
    write_columns(
        tmp_path / "long.csv", {name: np.array(values)[order] for name, values in long.items()}
    )
    return wide


OWN = ("wide.csv", "--label", "a", "--prob", "p", "--label", "b", "--prob", "q")
LONG = (
    "long.csv",
    "--model-column",
    "model",
    "--pair",
    "question",
    "--label",
    "right",
    "--prob",
    "conf",
)


def test_each_model_may_have_its_own_labels(call, answers):
    def data(*typed):
        result = call(*typed, "--format", "json")
        assert result.exit_code in (0, 1), result.stderr
        return json.loads(result.stdout)

    y, p, q = ({"p": answers["a"], "q": answers["b"]}, answers["p"], answers["q"])
    (pair,) = data("compare", *OWN, "--measure", "brier", "--no-intervals")["comparisons"][0][
        "pairs"
    ]
    assert (
        pair["difference"] == tn.compare(y, {"p": p, "q": q}, measure="brier")["p", "q"].difference
    )
    assert tn.brier(y["p"], p) - tn.brier(y["q"], q) == pytest.approx(pair["difference"], rel=1e-9)
    for typed in (("--no-stream",), ("--stream",), ("--stream", "--pos-label", "1")):
        models = data("measure", *OWN, "--no-intervals", *typed)["models"]
        assert [one["measures"]["brier"] for one in models] == [
            tn.brier(y["p"], p),
            tn.brier(y["q"], q),
        ]
    findings = data("gate", *OWN, "--max-ece", "0.5")["findings"]
    assert [one["estimate"] for one in findings] == pytest.approx(
        [tn.ece(y["p"], p), tn.ece(y["q"], q)], rel=1e-12
    )


@pytest.mark.slow
def test_reports_of_models_with_their_own_labels_and_of_a_long_table(call, answers):
    report = json.loads(call("report", *OWN, "--no-intervals", "--format", "json").stdout)
    y, p = ({"p": answers["a"], "q": answers["b"]}, {"p": answers["p"], "q": answers["q"]})
    assert [one["summary"]["ece"] for one in report["models"]] == [
        tn.ece(y[name], p[name]) for name in "pq"
    ]
    assert report["comparison"]["estimates"] == tn.compare(y, p).estimates
    assert (
        "trueness fit long.csv"
        not in call("report", *LONG, "--no-intervals", "--format", "text").stdout
    )


def test_a_long_table_is_paired(call, fails, answers, tmp_path):
    n = answers["a"].size - 4
    left = {
        "label": {"p": answers["a"][:n], "q": answers["b"][:n]},
        "prob": {"p": answers["p"][:n], "q": answers["q"][:n]},
    }
    result = call("compare", *LONG, "--measure", "brier", "--no-intervals", "--format", "json")
    assert "4 rows have no partner with the same 'question'" in result.stderr
    (pair,) = json.loads(result.stdout)["comparisons"][0]["pairs"]
    expected = tn.compare(left["label"], left["prob"], measure="brier")[
        pair["first"], pair["second"]
    ]
    assert pair["difference"] == pytest.approx(expected.difference, rel=1e-12)
    shown = json.loads(
        call("measure", *LONG, "--no-intervals", "--by", "region", "--format", "json").stdout
    )["groups"]
    assert sum(one["models"][0]["measures"]["n"] for one in shown) == n
    found = json.loads(call("gate", *LONG, "--max-ece", "0.5", "--format", "json").stdout)
    assert [one["n"] for one in found["findings"]] == [
        n,
        n + 4,
    ]  # nothing is compared: each has all of its rows
    assert found["data"]["label"] == json.loads(result.stdout)["data"]["label"] == "right"
    assert [pair["first"], pair["second"]] == ["p", "q"]  # not in the order of the rows
    swapped = ("long.csv", "--model-column", "question", "--pair", "model", *LONG[5:])
    for typed, message in (
        (
            ("compare", *OWN[:7]),
            "`--label` must be given once, or once for each `--prob` in the same order; got 2",
        ),
        (("compare", *OWN, "--label", "a"), "got 3 for 2 models"),
        (
            ("measure", "wide.csv", "--label", "a", "--label", "x", "--prob", "p", "--prob", "q"),
            "has no column 'x'",
        ),
        (
            ("gate", *LONG[:3], *LONG[5:], "--max-ece", "1"),
            "`--model-column` needs `--pair`, one `--label`",
        ),
        (
            ("gate", *LONG, "--prob", "question", "--max-ece", "1"),
            "`--model-column` needs `--pair`, one `--label`",
        ),
        (
            ("compare", "long.csv", "--model-column", "m", *LONG[3:]),
            "`--model-column`: long.csv has no column 'm'",
        ),
        (("compare", *LONG, "--weight", "conf"), "cannot be both scores and weights"),
        (("compare", *LONG, "--by", "right"), "must not name the column of labels"),
        (("compare", *LONG[:4], "model", *LONG[5:]), "one `--prob`, which are other columns"),
        (
            ("gate", *swapped, "--max-ece", "1"),
            f"must name at most 50 models; 'question' has {n + 4}. Are",
        ),
        (
            ("measure", *OWN, "--by", "region", "--by", "region"),
            "`--by` must name a column once; got 'region' again",
        ),
    ):
        assert message in fails(*typed)
    (tmp_path / "z.csv").write_text("m,y,p,g,k\na,0,0.5,1,7\nb,1,0.5,2,7\n")
    asked = ("compare", "z.csv", "--model-column", "m", "--label", "y", "--prob", "p", "--pair")
    assert "column 'g' must be the same for all models of a 'k'" in fails(*asked, "k", "--by", "g")
    assert "'a' and 'b' have no 'g' in common" in fails(*asked, "g")
    (tmp_path / "z.csv").write_text("m,y,p,k\na,0,0.5,7\na,1,0.2,7\nb,1,0.5,7\nb,0,0.1,7\n")
    assert "rows of the same 'k' are taken as a cluster" in call(*asked, "k").stderr
    (tmp_path / "z.csv").write_text("m,y,p,k\na,0,0.5,7\nb,1,0.5,7\nb,0,0.1,7\n")
    assert "must have a 'k' equally often; of 7 the rows are 1 of 'a', 2 of 'b'" in fails(
        *asked, "k"
    )
    (tmp_path / "z.csv").write_text("a,b,p,q\n0,,0.5,0.7\n1,1,0.2,0.7\n0,1,0.3,0.6\n")
    assert "Model 'q': column 'b' must not have missing values" in fails(
        "compare", "z.csv", *OWN[1:]
    )


def test_models_with_their_classes_in_another_order_are_refused(fails, multiclass, tmp_path):
    y, P = multiclass
    names = np.array(["cat", "dog", "ant"])
    columns = {
        f"{m}_{name}": P[:, k]
        for m in "ab"
        for k, name in enumerate(names if m == "a" else names[::-1])
    }
    write_columns(tmp_path / "x.csv", {"y": names[y], **columns})
    message = fails("compare", "x.csv", "--prob-columns", "a_*", "--prob-columns", "b_*")
    assert message == "x.csv: All models must have their columns in the same order of classes."


def test_fractional_weights_are_importance_and_that_is_said(call, fails, grouped, tmp_path):
    w = grouped["w"] / 7
    write_columns(tmp_path / "x.npz", grouped | {"w": w})
    asked = ["x.npz", "--prob", "p", "--prob", "q", "--weight", "w", "--format", "json"]
    bare = {"compare": ["--no-intervals"], "gate": ["--max-ece", "0.9"]}
    for verb, key in (("compare", "comparisons"), ("gate", "findings")):
        result = call(verb, *asked, *bare[verb])
        assert (
            "note: Weights are not whole numbers: they are taken as importance weights"
            in result.stderr
        )
        assert len(json.loads(result.stdout)[key]) == (1 if verb == "compare" else 2)
    expected = tn.compare(
        grouped["y"],
        {"p": grouped["p"], "q": grouped["q"]},
        sample_weight=w,
        weight_type="importance",
    )
    found = json.loads(call("compare", *asked).stdout)["comparisons"][0]["pairs"][0]
    assert found["low"] == expected["p", "q"].low
    message = fails("compare", *asked, "--measure", "ece")
    assert "must count rows for `--method bootstrap`" in message


@pytest.mark.parametrize("measure", ["squared-ece", "brier", "ece"])
def test_each_model_has_its_own_interval(call, lines, grouped, measure):
    asked = ["--measure", measure, "--cluster", "who", "--level", "0.9", "--resamples", "99"]
    (found,) = lines(*asked)
    for place, name in (("first", "p"), ("second", "q")):
        value, low, high = (float(found[f"{place}_estimate{end}"]) for end in ("", "_low", "_high"))
        assert low <= value <= high
        if measure == "brier":
            own = tn.estimate(
                "brier", grouped["y"], grouped[name], cluster=grouped["who"], level=0.9
            )
            assert (low, high) == (own.low, own.high)
    text = call("compare", "x.csv", "--prob", "p", "--prob", "q", *asked).stdout
    assert "90 % interval" in text
    (alone,) = lines(*asked, "--no-intervals")
    assert "first_estimate_low" not in alone
    assert alone["first_estimate"] == found["first_estimate"]


def test_an_error_that_cannot_be_estimated_is_not_written_as_zero(call):
    result = call("compare", "--demo")
    assert "difference of squares" in result.stdout.splitlines()[0]
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("recalibrated "))
    assert line.split("  ")[-1].startswith("at most ")
    assert "too small to be estimated" in line
    demo = tn.simulate.demo()
    text = str(tn.compare(demo.y_true, {"a": demo.columns["recalibrated"], "b": demo.y_prob}))
    assert "a      too small to be estimated" in text
