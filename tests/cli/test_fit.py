"""``trueness fit`` writes what the library learns."""

import json
import warnings

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn
from trueness import recalibrate


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("HistogramBinning", "HistogramBinning"),
        ("PlattScaling", "platt"),
        ("TemperatureScaling", "temperature_scaling"),
    ],
)
def test_the_map_is_the_librarys(call, grouped, tmp_path, name, typed):
    write_columns(tmp_path / "x.csv", grouped)
    result = call(
        "fit", "x.csv", "--prob", "p", "--weight", "w", "--calibrator", typed, "-o", "map.json"
    )
    assert result.exit_code == 0, result.stderr
    assert f"note: {name} fitted on 600 rows and written to map.json." in result.stderr
    cls = getattr(recalibrate, name)
    seed = {"seed": 0} if "seed" in cls().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.errors.TiedScoresWarning)
        expected = cls(**seed).fit(grouped["p"], grouped["y"], sample_weight=grouped["w"])
    new = np.linspace(0.05, 0.95, 7)
    found = recalibrate.load_calibrator(tmp_path / "map.json")
    np.testing.assert_array_equal(found.predict(new), expected.predict(new))


def test_a_map_by_segment_is_applied_by_the_same_columns(call, fails, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    result = call(
        "fit", "x.csv", "--prob", "p", "--calibrator", "platt", "--by", "region", "-o", "map.json"
    )
    assert "note: Map by region, " in result.stderr
    fitted = tn.SegmentCalibration(tn.PlattScaling()).fit(
        grouped["p"], grouped["y"], by={"region": grouped["region"]}
    )
    write_columns(tmp_path / "new.csv", {name: grouped[name][:5] for name in ("p", "region")})
    lines = call("apply", "new.csv", "--calibrator", "map.json").stdout.splitlines()[1:]
    expected = fitted.predict(grouped["p"][:5], by={"region": grouped["region"][:5]})
    assert [float(line.split(",")[-1]) for line in lines] == expected.tolist()
    write_columns(tmp_path / "new.csv", {"p": grouped["p"][:5]})
    assert "no column 'region', by which the map was fitted" in fails(
        "apply", "new.csv", "--calibrator", "map.json"
    )


def test_the_prior_is_a_method_whose_weight_is_estimated_or_set(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    result = call("fit", "x.csv", "--prob", "p", "--method", "prior", "-o", "map.json")
    assert result.exit_code == 0
    assert "note: The odds of the scores are divided by " in result.stderr
    found = recalibrate.load_calibrator(tmp_path / "map.json")
    assert found.weight_ == recalibrate.PriorCorrection().fit(grouped["p"], grouped["y"]).weight_
    known = ["--method", "prior", "--set", "rate_train=0.5", "--set", "rate_deploy=0.01"]
    assert call("fit", "x.csv", "--prob", "p", *known, "-o", "map.json").exit_code == 0
    found = recalibrate.load_calibrator(tmp_path / "map.json")
    assert found.weight_ == pytest.approx(99)
    np.testing.assert_allclose(found.predict([0.5]), [0.01])


def test_the_first_word_of_each_name_is_unique(fails):
    said = fails("fit", "--demo", "--calibrator", "magic")
    assert said.endswith("; got 'magic'.")
    names = said.removeprefix("`--calibrator` must be one of ").partition(";")[0].split(", ")
    assert {"histogram-binning", "one-vs-rest", "auto-calibration"} <= set(names)
    assert "calibrator" not in names
    assert len({name.partition("-")[0] for name in names}) == len(names)


def test_parameters_and_the_seed_can_be_set(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = [
        "--prob",
        "p",
        "--calibrator",
        "histogram",
        "--set",
        "n_bins=7",
        "--set",
        "scheme=split",
        "--seed",
        "5",
    ]
    found = json.loads(call("fit", "x.csv", *given).stdout)
    assert found["type"] == "HistogramBinning"
    assert found["parameters"]["n_bins"] == 7
    assert found["parameters"]["scheme"] == "split"
    assert found["parameters"]["seed"] == 5


def test_one_calibrator_may_stand_inside_another(call, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    asked = ["--calibrator", "one-vs-rest:histogram-binning", "--set", "calibrator__n_bins=3"]
    result = call("fit", "x.npz", "--prob", "P", *asked, "-o", "map.json")
    assert result.exit_code == 0, result.stderr
    found = recalibrate.load_calibrator(tmp_path / "map.json")
    assert [part.n_bins for part in found.calibrators_] == [3, 3, 3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--calibrator", "calibrator"], "`--calibrator` must be one of "),
        (
            ["--calibrator", "platt-scaling:isotonic-calibration"],
            "takes no other calibrator after a colon",
        ),
        (
            ["--method", "prior", "--set", "weight=0"],
            "`--set weight` must be one finite number above 0",
        ),
        (["--set", "n_bins"], "`--set` must be NAME=VALUE; got 'n_bins'."),
        (["--set", "bins=3"], "auto-calibration has no parameter 'bins'; it has "),
        (["--method", "histogram", "--set", "n_bins=many"], "`--set n_bins` must"),
        (
            ["--method", "isotonic", "--from-logits"],
            "`--from-logits` is not for isotonic, which takes probabilities.",
        ),
        (
            ["--method", "platt", "--cluster", "y"],
            "`--cluster` is only for auto-calibration and --by, whose folds",
        ),
        (["--prob", "overconfident", "--prob", "recalibrated"], "`--prob` must name one model"),
    ],
)
def test_what_cannot_be_fitted_is_refused(fails, tmp_path, words, message):
    assert message in fails("fit", "--demo", "--rows", "100", *words, "-o", "map.json")
    assert list(tmp_path.iterdir()) == []


def test_logits_are_taken_by_temperature_scaling_and_the_others_say_so(
    call, fails, multiclass, tmp_path
):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, Z=np.log(P), P=P)
    assert "use `--calibrator temperature-scaling --from-logits` if they are" in fails(
        "fit", "x.npz", "--prob", "Z", "--calibrator", "top-label:histogram-binning"
    )
    asked = ["--calibrator", "temperature-scaling", "--from-logits"]
    assert call("fit", "x.npz", "--prob", "Z", *asked, "-o", "logits.json").exit_code == 0
    assert (
        call("fit", "x.npz", "--prob", "P", *asked[:2], "-o", "probabilities.json").exit_code == 0
    )
    assert fails("fit", "x.npz", "--prob", "P", "--calibrator", "histogram").startswith(
        "x.npz: Column 'P' must be a vector"
    )
    message = fails(
        "apply", "x.npz", "--prob", "Z", "--calibrator", "probabilities.json", "-o", "out.npz"
    )
    assert "the calibrator was fitted on probabilities" in message


def test_a_way_out_of_ties_is_said_as_an_option(call):
    rows = "y,p\n" + "".join(f"{'yes' if i % 2 else 'no'},0.{i % 7 + 1}\n" for i in range(200))
    result = call("fit", "-", "--calibrator", "histogram", "--pos-label", "yes", stdin=rows)
    assert result.exit_code == 0
    assert "`--set scheme=randomized` breaks ties at random" in result.stderr


def test_the_default_says_what_it_chose_and_remembers_where_from(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    result = call("fit", "x.csv", "--prob", "p", "-o", "map.json")
    assert result.exit_code == 0, result.stderr
    assert "note: AutoCalibration fitted on 600 rows and written to map.json." in result.stderr
    assert "The log loss of new rows falls by " in result.stderr
    found = recalibrate.load_calibrator(tmp_path / "map.json")
    assert (found.score_names_, found.label_name_, found.about_) == (("p",), "y", {})
    assert (tmp_path / "map.json").read_text(encoding="utf-8") == found.to_json()


def test_logits_and_clusters_are_options_of_the_default(call, grouped, tmp_path):
    z = np.log(grouped["p"] / (1 - grouped["p"]))
    cluster = np.arange(600) // 3
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "z": z, "c": cluster})
    result = call(
        "fit", "x.csv", "--prob", "z", "--from-logits", "--cluster", "c", "-o", "map.json"
    )
    assert result.exit_code == 0, result.stderr
    expected = tn.AutoCalibration(from_logits=True).fit(z, grouped["y"], cluster=cluster)
    found = recalibrate.load_calibrator(tmp_path / "map.json")
    np.testing.assert_allclose(
        found.predict([-1.0, 2.0]), expected.predict([-1.0, 2.0]), rtol=1e-12
    )
    asked = ["--calibrator", "one-vs-rest:platt", "--from-logits"]
    write_columns(tmp_path / "m.csv", {"y": grouped["y"], "a": -z, "b": z})
    assert call("fit", "m.csv", "--prob-columns", "a,b", *asked, "-o", "map.json").exit_code == 0
    assert recalibrate.load_calibrator(tmp_path / "map.json").calibrator.from_logits is True
