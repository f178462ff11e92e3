"""``trueness plan``: of rows, bins and error give two, get the third."""

import csv
import io
import json

import pytest

from trueness import recalibrate


def planned(call, *arguments):
    result = call("plan", *arguments, "--format", "csv")
    assert result.exit_code == 0, result.stderr
    (line,) = csv.DictReader(io.StringIO(result.stdout))
    return line


@pytest.mark.parametrize("more", [{}, {"bound": "exact"}, {"kind": "marginal", "alpha": 0.05}, {"scheme": "split"}])
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
    assert json.loads(call("plan", "--n", "5000", "--bins", "10", "--format", "json").stdout)["plan"]["n"] == 5000


@pytest.mark.parametrize("words", [["--n", "10"], ["--n", "10", "--bins", "2", "--epsilon", "0.1"], ["--alpha", "0.1"]])
def test_two_of_three_are_asked_for(call, words):
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
