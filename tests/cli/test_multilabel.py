"""Several labels per row on the command line."""

import json

import numpy as np
import pytest

import trueness as tn

RNG = np.random.default_rng(4)
NAMES = ["cat", "dog", "red"]
P = RNG.random((60, 3)).round(6)
Y = (RNG.random((60, 3)) < P).astype(int)
MULTILABEL = ("--kind", "multilabel", "--label", "y_*", "--prob-columns", "p_*")


@pytest.fixture
def rows(tmp_path):
    """Columns of scores in another order than those of labels."""
    order = [2, 0, 1]
    head = [*(f"y_{name}" for name in NAMES), *(f"p_{NAMES[k]}" for k in order)]
    lines = [
        ",".join(map(str, [*y.tolist(), *p[order].tolist()])) for y, p in zip(Y, P, strict=True)
    ]
    path = tmp_path / "x.csv"
    path.write_text("\n".join([",".join(head), *lines]) + "\n")
    return str(path)


def test_each_label_is_measured_with_its_own_scores(call, rows):
    found = json.loads(
        call("measure", rows, *MULTILABEL, "--no-intervals", "--format", "json").stdout
    )
    errors = {one["name"]: one["measures"]["ece"] for one in found["models"]}
    assert errors == {name: pytest.approx(tn.ece(Y[:, k], P[:, k])) for k, name in enumerate(NAMES)}


def test_p_values_are_adjusted_for_the_number_of_labels(call, rows):
    found = json.loads(
        call("test", rows, *MULTILABEL, "--method", "cox", "--format", "json").stdout
    )["tests"]
    joint = tn.calibration_test(Y, P, kind="multilabel", labels=NAMES, method="cox")
    assert {one["model"]: one["adjusted_pvalue"] for one in found} == pytest.approx(
        dict(joint.adjusted)
    )


def test_a_map_for_each_label_is_fitted_and_applied(call, rows, tmp_path):
    call("fit", rows, *MULTILABEL, "--calibrator", "platt", "-o", str(tmp_path / "map.json"))
    fitted = tn.load_calibrator(tmp_path / "map.json")
    expected = tn.OneVsRest(kind="multilabel").fit(P, Y).predict(P[:5] / 2)
    assert np.allclose(fitted.predict(P[:5] / 2), expected)
    assert fitted.score_names_ == ("p_cat", "p_dog", "p_red")
    out = call("apply", rows, "--calibrator", str(tmp_path / "map.json"))
    assert out.stdout.splitlines()[0].endswith("p_cat_calibrated,p_dog_calibrated,p_red_calibrated")


@pytest.mark.slow
def test_the_report_has_a_row_per_label(call, rows):
    text = call("report", rows, *MULTILABEL, "--no-intervals", "--format", "text", "-o", "-").stdout
    assert "60 rows · 3 labels" in text
    assert "--label y_dog --prob p_dog" in text or "label dog" in text


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            ("--kind", "multilabel", "--label", "y_*", "--prob", "p_cat"),
            "needs columns of labels, such as",
        ),
        (
            ("--kind", "multilabel", "--label", "y_cat,y_dog", "--prob-columns", "p_*"),
            "Every label must have a column",
        ),
        (
            ("--kind", "multilabel", "--label", "y_*", "--prob-columns", "p_red,p_dog,p_cat"),
            "`--prob-columns` must be in the order of the labels; labels are ",
        ),
        (
            ("--label", "y_cat", "--prob-columns", "p_*"),
            "use `--kind multilabel` if each column is a label",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused(fails, rows, typed, message):
    assert message in fails("test", rows, *typed)
