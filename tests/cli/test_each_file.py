"""Thirty daily tallies: every day has its floor, its interval and its flag, and the day of a collapse is named."""

import csv
import io
import json
import re

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn

NAMES = [f"day-{d:02}.tally" for d in range(1, 31)]
FORMS = ("table", "markdown", "json", "csv")


def save_days(folder, slope, names=NAMES, bins="sketch", n=400):
    rng = np.random.default_rng(3)
    for d, name in enumerate(names):
        p = rng.beta(1, 3, n)
        sums = tn.Accumulator(bins, about={"label": "y", "prob": "p", "weight": None})
        sums.update(rng.random(n) < expit(slope(d) * logit(p)), p)
        sums.save(folder / name)
    return names


@pytest.fixture(
    params=[
        ("sketch", 12),
        pytest.param((10, 12), marks=pytest.mark.slow),
        pytest.param(("distinct", 12), marks=pytest.mark.slow),
        pytest.param(("sketch", 30), marks=pytest.mark.slow),
    ],
    ids=str,
)
def collapse(tmp_path, request):
    """Calibration collapses on the tenth of twelve days, or of thirty."""
    bins, days = request.param
    return save_days(tmp_path, lambda d: 0.3 if d >= 9 else 1.0, NAMES[:days], bins)


@pytest.mark.slow
def test_each_names_the_day_of_the_collapse_in_every_form(call, collapse):
    outputs = {
        form: call("measure", *collapse, "--each", "--format", form).stdout for form in FORMS
    }
    after = len(collapse) - 9
    for form in ("table", "markdown", "json"):
        said = " ".join(outputs[form].replace("\\", "").split())
        assert "Calibration changed starting with day-10.tally" in said, form
    lines = list(csv.DictReader(io.StringIO(outputs["csv"])))
    assert [line["flagged"] for line in lines] == ["false"] * 9 + ["true"] * after + [""]
    assert [line["changed"] for line in lines] == ["false"] * 9 + ["true"] * after + [""]
    for line in lines:
        ece, low, high = (float(line[key]) for key in ("ece", "ece_low", "ece_high"))
        assert low <= ece <= high
        assert 0 < float(line["ece_floor"]) < float(line["ece_floor_high"])
    series = json.loads(outputs["json"])["series"]
    assert series["change"]["first"] == "day-10.tally"
    assert series["flagged"] == [False] * 9 + [True] * after
    table = outputs["table"].splitlines()
    assert "noise floor" in table[0]
    assert table[9].split()[0] == "day-09.tally"
    assert "miscalibrated" not in table[9]
    assert table[10].split()[-1] == "miscalibrated"


@pytest.mark.slow
def test_the_column_heads_say_which_interval_is_a_confidence_interval(call, tmp_path):
    names = save_days(tmp_path, lambda d: 1.0, NAMES[:3])
    text = call("measure", *names, "--each", "--bins", "7").stdout
    assert re.search("ECE +95 % interval", text)
    assert re.search(
        r"O/E \| 95 % interval", call("measure", *names, "--each", "--format", "markdown").stdout
    )
    assert "From a sketch: rows count at the mean score of their cell." in " ".join(text.split())
    assert "95 % confidence set" in call("measure", *names, "--each", "--format", "markdown").stdout
    assert "90 % interval" in call("measure", *names, "--each", "--level", "0.9").stdout


def test_numbers_alone_of_each_file(call, tmp_path):
    names = save_days(tmp_path, lambda d: 1.0, NAMES[:2], n=50)
    assert (
        "interval" not in call("measure", *names, "--each", "--no-intervals").stdout.splitlines()[0]
    )
    text = call(
        "measure", *names, "--each", "--no-intervals", "--format", "csv"
    ).stdout.splitlines()
    assert not {name for name in text[0].split(",") if name.endswith(("_low", "_high", "_floor"))}
    assert "ece" in text[0].split(",")


def test_sums_of_bins_say_what_is_missing(call, tmp_path):
    names = save_days(tmp_path, lambda d: 1.0, NAMES[:3], bins=10)
    text = " ".join(call("measure", *names, "--each").stdout.split())
    assert "95 % interval" in text
    assert "confidence set" not in text
    assert "there is no typical error." in text


def check_chart(page, days, marked):
    chart = page.partition('class="chart series"')[2].partition("</svg>")[0]
    assert f'aria-label="ECE of {days} data sets, {marked} marked"' in chart
    assert (chart.count('class="bin flagged"'), chart.count('class="bin"')) == (
        marked,
        days - marked,
    )
    assert chart.count('class="tick marked"') == marked
    assert (chart.count('class="error"'), chart.count('class="floor"'), "nan" in chart) == (
        days,
        days,
        False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "text", "markdown", "json"])
def test_the_report_shows_the_series_and_names_the_day(call, tmp_path, form):
    names = save_days(tmp_path, lambda d: 0.3 if d >= 9 else 1.0, NAMES[:12])
    text = call("report", *names, "--each", "--format", form, "-o", "-").stdout
    assert "Calibration changed starting with day-10.tally" in text.replace("\\", "").replace(
        "\n", " "
    )
    if form == "html":
        check_chart(text, days=12, marked=3)
        assert text.index("Calibration changed starting with day-10.tally") < text.index(
            'class="screen'
        )
        assert text.count(">miscalibrated<") == 3


def test_the_report_prints_the_headline_of_the_series(call, tmp_path):
    names = save_days(tmp_path, lambda d: 0.1 if d == 2 else 1.0, NAMES[:3], bins=10)
    assert (
        "Calibration changed starting with day-03.tally (p "
        in call("report", *names, "--each").stdout
    )
    page = (tmp_path / "trueness-report.html").read_text(encoding="utf-8")
    check_chart(page, days=3, marked=1)
    assert "Calibration changed" not in call("report", *names, "--no-intervals").stdout


def test_days_that_a_shell_sorts_by_digits_are_mentioned(call, tmp_path):
    names = save_days(tmp_path, lambda d: 1.0, [f"day-{d}.tally" for d in (1, 2, 9, 10)], n=50)
    said = "day-10.tally comes before day-2.tally"
    assert said in call("measure", "day-*.tally", "--each", "--no-intervals").stderr
    assert said not in call("measure", *names, "--each", "--no-intervals").stderr


@pytest.mark.slow
def test_files_of_several_folders_are_told_apart(call, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save_days(
            tmp_path / folder,
            lambda d, folder=folder: 1.0,
            [f"{folder}.tally", "x.tally"],
            n=50 + len(folder),
        )
    names = ["a/a.tally", "b/b.tally"]
    data = json.loads(call("measure", *names, "--each", "--format", "json").stdout)
    assert data["series"]["name"] == ["a.tally", "b.tally"]
    names = ["a/x.tally", "b/b.tally", "b/x.tally"]
    data = json.loads(call("measure", *names, "--each", "--format", "json").stdout)
    assert data["series"]["name"] == names
