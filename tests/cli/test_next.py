"""``trueness next`` writes the library's choice, with all columns and its probabilities."""

import csv

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 300).round(4)
    columns = {
        "id": np.array([f"row {i}" for i in range(300)]),
        "p": p,
        "grader": (rng.random(300) < p).astype(int),
        "human": np.where(np.arange(300) % 4 == 0, "1", ""),
    }
    write_columns(tmp_path / "x.csv", columns)
    return columns


def test_the_chosen_rows_are_written_with_their_probabilities(call, rows, tmp_path):
    named = ["--prob", "p", "--judge", "grader"]
    result = call("next", "x.csv", *named, "--budget", "40", "-o", "y.csv")
    assert result.exit_code == 0, result.stderr
    expected = tn.next_labels(rows["p"], rows["grader"], budget=40)
    with (tmp_path / "y.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == [f"row {i}" for i in expected.index]
    assert [float(line["p"]) for line in lines] == rows["p"][expected.index].tolist()
    chances = [float(line["human_prob"]) for line in lines]
    assert chances == expected.human_prob[expected.index].tolist()
    assert expected.sentence in result.stderr


def test_labelled_rows_are_left_out(call, rows, tmp_path):
    options = ["--prob", "p", "--labelled", "human", "--budget", "225"]
    assert call("next", "x.csv", *options, "-o", "y.jsonl").exit_code == 0
    assert len((tmp_path / "y.jsonl").read_text().splitlines()) == 225
    assert 'row 0"' not in (tmp_path / "y.jsonl").read_text()


def test_what_is_wrong_is_said(fails, rows):
    named = ["next", "x.csv", "--prob", "p"]
    assert "--budget must say how many" in fails(*named, "-o", "y.csv")
    assert "must name the file to write" in fails(*named, "--budget", "3")
    assert "at most 300" in fails(*named, "--budget", "301", "-o", "y.csv")
    assert "no column 'nix'" in fails(*named, "--judge", "nix", "--budget", "3", "-o", "y.csv")
    assert "would be lost" in fails(*named, "--budget", "3", "-o", "x.csv")
