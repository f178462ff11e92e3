"""Which columns are read."""

import json

import numpy as np
import pytest

import trueness as tn


@pytest.mark.parametrize(
    ("label", "score"),
    [
        ("label", "prob"),
        ("y", "p"),
        ("y_true", "y_prob"),
        ("target", "score"),
        ("Y", "probability"),
        ("y", "Score"),
    ],
)
def test_usual_names_are_found_and_said(call, tmp_path, label, score):
    (tmp_path / "x.csv").write_text(f"id,{label},{score}\n7,0,0.2\n8,1,0.7\n")
    found = call("measure", "--no-intervals", "--format", "json", "x.csv")
    assert json.loads(found.stdout)["data"]["label"] == label
    assert [model["name"] for model in json.loads(found.stdout)["models"]] == [score]
    assert f"note: labels from column {label!r}, scores from column {score!r}." in found.stderr
    assert (
        "note"
        not in call("measure", "--no-intervals", "x.csv", "--label", label, "--prob", score).stderr
    )


@pytest.mark.parametrize(
    ("names", "asked", "message"),
    [
        (
            "y,label,p",
            "",
            "several columns that may hold labels ('y', 'label'); `--label` says which",
        ),
        ("y,p,score", "", "several columns that may hold scores"),
        ("y,p,P", "", "several columns that may hold scores"),
        ("a,p", "", "`--label` must name the column of labels in x.csv; its columns are 'a', 'p'"),
        ("y,a", "", "`--prob` must name"),
        ("y", "", "its only column is 'y'"),
        ("churned,p", "--label churn", "no column 'churn'. Did you mean 'churned'?"),
        ("churned,p", "--label zzz", "Its columns are 'churned', 'p'"),
        ("Y_true_,p", "--label y_true", "Did you mean 'Y_true_'?"),
        ("y,p", "--weight w", "`--weight`: x.csv has no column 'w'"),
        ("y,p", "--prob y", "cannot be both scores and labels"),
        ("y,p", "--prob p --weight p", "cannot be both scores and weights"),
        ("y,p", "--prob p --prob p", "'p' were requested twice"),
        ("y,a,b", "--prob-columns a", "at least 2"),
        ("y,a,b", "--prob-columns a,a", "each column once"),
        ("y,a,b", "--prob-columns a,c", "`--prob-columns`: x.csv has no column 'c'"),
        ("y,a,b", "--prob-columns q_*", "no column of x.csv matches 'q_*'"),
        (",".join(f"c{i}" for i in range(50)), "", "and 38 more"),
    ],
)
def test_what_cannot_be_chosen_is_explained(fails, tmp_path, names, asked, message):
    (tmp_path / "x.csv").write_text(f"{names}\n{','.join('0' for _ in names.split(','))}\n")
    assert message in fails("measure", "x.csv", *asked.split())


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize(
    ("names", "asked", "columns"),
    [
        ("p_y,p_b,p_w,p_a", "--label p_y --weight p_w --prob-columns p_*", {"b": 0.75, "a": 0.25}),
        ("y,p10,p9,p1", "--label y --prob-columns p*", {"p1": 0.25, "p9": 0, "p10": 0.75}),
        ("y,a*,b[,ab", "--label y --prob-columns a*,b[", {"a*": 0.75, "b[": 0.25}),
    ],
    ids=[
        "a star, but not labels or weights",
        "in the order of their numbers",
        "names with a star or bracket",
    ],
)
def test_columns_of_a_matrix(call, tmp_path, names, asked, columns):
    cells = {
        name: str(next((v for k, v in columns.items() if name.endswith(k)), 1))
        for name in names.split(",")
    }
    cells[names.split(",")[0]] = "0"
    (tmp_path / "x.csv").write_text(f"{names}\n" + f"{','.join(cells.values())}\n" * 4)
    found = call("measure", "--no-intervals", "--format", "json", "x.csv", *asked.split())
    assert found.exit_code == 0, found.stderr
    # The label is the first class in the order of the columns.
    scores = np.array([list(columns.values())] * 4, dtype=float)
    (model,) = json.loads(found.stdout)["models"]
    assert model["measures"]["brier"] == pytest.approx(tn.brier([0] * 4, scores))


ADVICE = {
    "latin-1 name": (
        "x.csv",
        b"y,p,\xe4\n0,0.1,1\n",
        ["measure", "--by", "ä"],
        "names are not UTF-8; convert",
    ),
    "semicolons": (
        "x.csv",
        b"Y;a\n0;0.1\n",
        ["measure", "--label", "q"],
        "column is 'Y;a'. If ';' separates columns",
    ),
    "matrix": (
        "x.csv",
        b"y,a,b\n0,0.5,0.5\n1,0.25,0.75\n",
        ["fit", "--prob-columns", "a,b", "--labels", "0,1", "--calibrator", "platt"],
        "`--calibrator one-vs-rest:NAME` and `--calibrator top-label:NAME` take a matrix",
    ),
    "weights": (
        "x.csv",
        b"y,p,w\n0,0.5,0.5\n1,0.25,0.75\n",
        ["test", "--weight", "w", "--method", "exact"],
        "must be whole numbers that sum to less than 2³⁵ for `--method exact`",
    ),
}


@pytest.mark.parametrize("case", ADVICE)
def test_advice_is_in_the_words_of_the_command(fails, tmp_path, case):
    name, content, (verb, *more), advice = ADVICE[case]
    (tmp_path / name).write_bytes(content)
    assert advice in fails(verb, name, *more)


def test_columns_of_a_matrix_are_named_by_number(fails, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0, 0.1], [1, 0.9]]))
    assert fails("measure", "x.npy") == (
        "`--label` must name the column of labels in x.npy; its columns are '0', '1'. Columns of a matrix are "
        "numbered: `--label 0 --prob 1`. A text file names its columns in the first line."
    )


def test_rows_a_plan_lacks_are_said_without_letters_of_a_formula(fails):
    assert (
        fails("plan", "--n", "5", "--bins", "10")
        == "`--n` must be at least 20, two rows per bin; got 5."
    )


def test_percentages_and_decimal_commas_are_read_when_stated(call, tmp_path):
    (tmp_path / "x.csv").write_text("y;p\n0;12,5\n1;80\n1;55,25\n0;40\n", encoding="utf-8")
    found = call(
        "measure", "x.csv", "--decimal", ",", "--percent", "--no-intervals", "--format", "json"
    )
    assert found.exit_code == 0, found.stderr
    p = [0.125, 0.8, 0.5525, 0.4]
    assert json.loads(found.stdout)["models"][0]["measures"]["brier"] == pytest.approx(
        tn.brier([0, 1, 1, 0], p), abs=1e-15
    )
    assert "`--percent`" in call("measure", "x.csv", "--decimal", ",").stderr
    assert "`--decimal ,`" in call("measure", "x.csv", "--separator", ";", "--percent").stderr
    (tmp_path / "x.csv").write_text("y;p\n0;12.5\n1;80\n", encoding="utf-8")
    assert (
        "must hold numbers; it holds '12.5'"
        in call("measure", "x.csv", "--decimal", ",", "--percent").stderr
    )


def test_a_map_is_fitted_and_applied_to_percentages_with_decimal_commas(call, tmp_path):
    lines = [f"{int(i % 10 < i / 10)};{i},5" for i in range(100)]
    (tmp_path / "x.csv").write_text("\n".join(["y;p", *lines, ""]), encoding="utf-8")
    european = ("x.csv", "--decimal", ",", "--percent")
    fitted = call("fit", *european, "--calibrator", "platt-scaling", "-o", "map.json")
    assert fitted.exit_code == 0, fitted.stderr
    applied = call("apply", *european, "--calibrator", "map.json")
    first = applied.stdout.splitlines()[1].split(";")
    assert first[:2] == lines[0].split(";")
    assert 0 < float(first[2].replace(",", ".")) < 0.2
