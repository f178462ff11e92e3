"""``trueness plan``: of rows, bins and error give two, get the third."""

import csv
import io
import json

import pytest

import trueness as tn
from trueness import recalibrate


def planned(call, *arguments):
    result = call("plan", *arguments, "--format", "csv")
    assert result.exit_code == 0, result.stderr
    (line,) = csv.DictReader(io.StringIO(result.stdout))
    return line


@pytest.mark.parametrize(
    "more", [{}, {"bound": "exact"}, {"kind": "marginal", "alpha": 0.05}, {"scheme": "split"}]
)
def test_the_numbers_are_the_librarys(call, more):
    options = [word for name, value in more.items() for word in (f"--{name}", str(value))]
    found = planned(call, "--n", "3000", "--bins", "10", *options)
    assert float(found["epsilon"]) == recalibrate.epsilon(3000, 10, **more)
    assert found["planned"] == "epsilon"
    found = planned(call, "--bins", "10", "--epsilon", "0.1", *options)
    assert int(found["n"]) == recalibrate.sample_size(10, 0.1, **more)
    found = planned(call, "--n", "3000", "--epsilon", "0.1", *options)
    assert int(found["n_bins"]) == recalibrate.max_bins(3000, 0.1, **more)


def test_the_promise_is_in_words(call):
    shown = " ".join(call("plan", "--n", "5000", "--bins", "10").stdout.split())
    assert "with probability 0.9 every bin's value is within epsilon of its event rate." in shown
    assert (
        json.loads(call("plan", "--n", "5000", "--bins", "10", "--format", "json").stdout)["plan"][
            "n"
        ]
        == 5000
    )


def test_two_of_three_are_asked_for(call):
    for words in (
        ["--n", "10"],
        ["--n", "10", "--bins", "2", "--epsilon", "0.1"],
        ["--alpha", "0.1"],
    ):
        result = call("plan", *words)
        assert result.exit_code == 2
        assert "Give two of --n, --bins and --epsilon" in result.stderr


def test_what_cannot_be_planned_is_refused_in_words_of_the_options(fails):
    assert fails("plan", "--n", "5", "--bins", "10").startswith("`--n` must be at least")
    assert fails("plan", "--bins", "10", "--epsilon", "2").startswith("`--epsilon` must")
    assert fails("plan", "--n", "9", "--bins", "2", "--alpha", "2").startswith("`--alpha` must")
    assert "No number of bins keeps `--epsilon` 0.01 with 500 rows; one bin needs" in fails(
        "plan", "--n", "500", "--epsilon", "0.01"
    )


def validation(call, *arguments):
    result = call("plan", "validation", *arguments, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["plan"]


def test_the_sizes_of_a_validation_are_the_librarys(call):
    found = validation(call, "--prevalence", "0.1", "--c-statistic", "0.8")
    assert found["size"] == list(tn.validation_size(prevalence=0.1, c_statistic=0.8).size)
    assert validation(call, "--prevalence", "0.018", "--oe-se", "0.2456")["n"] == 905
    assert validation(call, "--log-odds", "-5", "2.5", "--slope-width", "0.2")["n"] == 4554


@pytest.mark.slow
def test_rows_to_accept_a_model_or_to_detect_errors_are_the_librarys(call):
    found = validation(
        call,
        "--log-odds",
        "0",
        "1",
        "--accept-l2",
        "0.4",
        "--accept-oe",
        "0.4",
        "--detect-oe",
        "1.5",
    )
    how = {"log_odds": (0, 1), "accept_l2": 0.4, "accept_oe": 0.4, "detect_oe": 1.5, "seed": 0}
    expected = tn.validation_size(**how)
    assert found["size"] == list(expected.size)
    assert found["criterion"] == list(expected.criterion)


def test_earlier_scores_of_a_file_are_planned_with(call, fails, tmp_path):
    (tmp_path / "pilot.csv").write_text("id,model\n1,0.1\n2,0.2\n3,0.6\n")
    found = validation(call, "pilot.csv", "--prob", "model")
    assert found["size"] == list(tn.validation_size(scores=[0.1, 0.2, 0.6]).size)
    (tmp_path / "pilot.csv").write_text("id,model\n1,0.1\n2,1.5\n")
    assert fails("plan", "validation", "pilot.csv", "--prob", "model").startswith(
        "Scores 'model' of pilot.csv must lie in [0, 1]; 1 of 2 values does not, the first is 1.5 at row 1"
    )


def test_a_table_ends_with_the_rows_that_meet_all_criteria(call):
    shown = call("plan", "validation", "--prevalence", "0.018").stdout
    assert "21,028 rows meet all criteria, if 1.8 % of them are events." in shown
    assert "`--c-statistic`, `--log-odds` or" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prevalence", "1.1"], "`--prevalence` must lie strictly between 0 and 1; got 1.1"),
        (
            ["--prevalence", "0.1", "--slope-width", "0.2"],
            "`--slope-width` needs the spread of the scores",
        ),
        (
            ["--prevalence", "0.1", "--oe-width", "-1"],
            "`--oe-width` must be a finite number above 0",
        ),
        (["--prevalence", "0.1", "--power", "0"], "`--power` must lie"),
    ],
)
def test_a_validation_that_cannot_be_planned_is_refused(fails, words, message):
    assert fails("plan", "validation", *words).startswith(message)


def test_options_stand_after_the_name_they_belong_to(call):
    result = call("plan", "--n", "5", "validation", "--prevalence", "0.1")
    assert result.exit_code == 2
    assert "Options of `plan validation` must follow its name." in result.stderr
    result = call("plan", "validation", "--prob", "p")
    assert result.exit_code == 2
    assert "--prob names a column of a FILE; give one." in result.stderr


def test_scores_on_another_scale_are_not_sent_to_an_option_that_there_is_not(call, fails, tmp_path):
    for values, remedy in (
        ("20\n40\n70", "say `--percent` if they are"),
        ("2.5\n-1.2\n0.3", "become probabilities first"),
        ("0.5\n\n0.3", "Leave such rows out first."),
    ):
        (tmp_path / "x.csv").write_text(f"p,q\n{values.replace(chr(10), ',1' + chr(10))},1\n")
        message = fails("plan", "validation", "x.csv", "--prob", "p")
        assert remedy in message
        assert "--missing" not in message
        assert "--from-logits" not in message
    (tmp_path / "x.csv").write_text("p\n20\n40\n70\n")
    found = json.loads(
        call("plan", "validation", "x.csv", "--prob", "p", "--percent", "--format", "json").stdout
    )
    assert found["plan"]["n"] == tn.validation_size(scores=[0.2, 0.4, 0.7]).n
    asked = ("plan", "validation", "--prevalence", "0.1", "--c-statistic", "0.8")
    assert "`--accept-l2` must be at most 1; got 2.0" in fails(*asked, "--accept-l2", "2")
