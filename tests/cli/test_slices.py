"""``trueness slices``: the numbers of the library; the table leaves out slices that share their rows, CSV does not."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


@pytest.fixture
def columns(tmp_path):
    rng = np.random.default_rng(0)
    n = 600
    made = {
        "region": rng.choice(["north", "south", "<b>"], n),
        "kind": rng.choice(["x", "y"], n),
        "age": rng.normal(40, 9, n).round(1),
        "p": rng.uniform(0.2, 0.6, n).round(3),
    }
    made["y"] = (rng.random(n) < made["p"] + 0.3 * (made["region"] == "north")).astype(int)
    write_columns(tmp_path / "x.csv", made)
    return made


ASKED = [
    "slices",
    "x.csv",
    "--label",
    "y",
    "--prob",
    "p",
    "--by",
    "region, kind,age",
    "--resamples",
    "99",
]


def test_numbers_are_the_librarys_and_csv_has_every_slice(call, columns):
    by = {name: columns[name] for name in ("region", "kind", "age")}
    expected = tn.worst_slices(columns["y"], columns["p"], by, resamples=99, seed=0)
    shown = call(*ASKED).stdout
    assert shown.splitlines()[0].split()[:2] == ["slice", "rows"]
    assert shown.splitlines()[1].startswith("region = north ")
    assert shown.splitlines()[2] == ""
    assert expected.sentence in " ".join(shown.split())
    assert "'age' has many distinct numbers" in shown
    assert "A map by region lowers the held-out log loss by 0.0" in shown
    assert "trueness fit --by region" in " ".join(shown.split())
    lines = list(csv.DictReader(io.StringIO(call(*ASKED, "--format", "csv").stdout)))
    assert [one["rule"] for one in lines] == list(expected.rule)
    assert [float(one["gap_low"]) for one in lines] == expected.gap_low.tolist()
    (found,) = json.loads(call(*ASKED, "--format", "json").stdout)["models"]
    assert found["adjusted_p"] == expected.adjusted_p.tolist()
    assert found["worst_gap_high"] == expected.worst_gap_high


def test_an_empty_cell_is_a_value_and_numbers_written_as_text_are_numbers(call, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{y},{p:.3f},{'' if i % 4 == 0 else f'{i / 100}'},{i % 20:03d}"
        for i, (y, p) in enumerate(zip(rng.integers(0, 2, 400), rng.random(400), strict=True))
    ]
    (tmp_path / "x.csv").write_text("\n".join(["y,p,x,code", *lines]) + "\n")
    asked = [
        "slices",
        "x.csv",
        "--label",
        "y",
        "--prob",
        "p",
        "--by",
        "x,code",
        "--depth",
        "1",
        "--min-rows",
    ]
    asked += ["20"]
    rules = {
        one["rule"] for one in csv.DictReader(io.StringIO(call(*asked, "--format", "csv").stdout))
    }
    assert "x is missing" in rules
    assert any(rule.startswith("x < ") for rule in rules)
    assert "code = 007" in rules


def test_columns_are_demanded_and_unknown_ones_are_named(call, columns, fails):
    assert "Give the columns to look at: --by NAME,NAME." in call(*ASKED[:6]).stderr
    assert "`--by`: x.csv has no column 'regoin'. Did you mean 'region'?" in fails(
        *ASKED[:7], "regoin"
    )
    assert "`--by` must not name the column of labels; got 'y'" in fails(*ASKED[:7], "y,age")
    assert fails(*ASKED, "--min-rows", "5000") == (
        "x.csv: `--by` must have values shared by at least 5,000 rows, but not by all; none has."
    )
