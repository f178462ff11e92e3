"""``trueness segments``: the numbers of the library, below the names of the columns."""

import csv
import io
import json
import re

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


@pytest.fixture
def file(grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    return ["segments", "x.csv", "--label", "y", "--prob", "p", "--by", "region"]


def test_numbers_are_the_librarys_in_every_form(call, file, grouped):
    expected = tn.segments(grouped["y"], grouped["p"], {"region": grouped["region"]}, seed=0)
    result = call(*file)
    assert result.exit_code == 0
    head, first, second, *notes = result.stdout.splitlines()
    assert head.split()[:6] == ["region", "rows", "observed", "expected", "gap", "95"]
    i = expected.value.index(first.split()[0])
    assert first.split()[1:4] == [
        str(expected.n[i]),
        f"{expected.events[i]:.0f}",
        f"{expected.expected[i]:.1f}",
    ]
    low, high = (f"{100 * v:+.1f}" for v in (expected.gap_low[i], expected.gap_high[i]))
    assert f"{100 * expected.gap[i]:+.1f}  {low} to {high}" in first
    assert second.split()[0] == expected.value[1]
    assert expected.sentence in " ".join(notes)
    assert "Sorted by cost" in " ".join(" ".join(notes).split())
    (found,) = json.loads(call(*file, "--format", "json").stdout)["models"]
    rows = list(csv.DictReader(io.StringIO(call(*file, "--format", "csv").stdout)))
    for key in ("gap", "gap_low", "gap_high", "adjusted_pvalue", "overall_pvalue"):
        assert found[key] == getattr(expected, key).tolist()
        assert [float(row[key]) for row in rows] == found[key]


def test_a_gap_has_as_many_decimals_as_its_limits(call, tmp_path):
    rng = np.random.default_rng(2)
    p = rng.beta(2, 3, 2_000)
    y = (rng.random(p.size) < p).astype(int)
    shop = np.arange(p.size) % 8
    y[shop == 0] = 0
    y[np.flatnonzero(shop == 0)[: round(p[shop == 0].sum())]] = 1  # right on average
    write_columns(tmp_path / "x.csv", {"y": y, "p": p, "shop": shop})
    lines = call("segments", "x.csv", "--label", "y", "--prob", "p", "--by", "shop").stdout
    rows = [re.findall(r"[+-]?[0-9.]+", line) for line in lines.splitlines()[1:9]]
    # After shop, rows, observed and expected.
    assert all(len(text.partition(".")[2]) == 1 for row in rows for text in row[4:7])


def test_options_reach_the_library_and_several_models_and_columns_are_named(call, file, grouped):
    more = [
        "--by",
        "w",
        "--crossed",
        "2",
        "--cluster",
        "who",
        "--level",
        "0.8",
        "--resamples",
        "99",
        "--seed",
        "3",
    ]
    found = json.loads(call(*file, "--prob", "q", *more, "--format", "json").stdout)["models"]
    by = {"region": grouped["region"], "w": grouped["w"]}
    options = {"crossed": 2, "cluster": grouped["who"], "level": 0.8, "resamples": 99, "seed": 3}
    for one, name in zip(found, "pq", strict=True):
        expected = tn.segments(grouped["y"], grouped[name], by, **options)
        assert one["model"] == name
        np.testing.assert_array_equal(one["adjusted_pvalue"], expected.adjusted_pvalue)
    assert call(*file, "--prob", "q", *more).stdout.split()[:4] == [
        "model",
        "by",
        "segment",
        "observed",
    ]
    shown = call(*file, *more).stdout.splitlines()
    assert shown[0].split()[:3] == ["by", "segment", "observed"]  # the rows do not fit
    assert max(map(len, shown)) <= 80


def test_flags_have_a_column_and_tiny_segments_a_note(call, tmp_path):
    rows = {
        "y": np.tile([0, 0, 1], 60),
        "p": np.full(180, 0.9),
        "who": np.repeat([f"w{i}" for i in range(60)], 3),
    }
    write_columns(tmp_path / "x.csv", {**rows, "half": np.repeat(["a", "b"], 90)})
    shown = call("segments", "x.csv", "--prob", "p", "--by", "half").stdout.splitlines()
    assert shown[0].endswith("flagged")
    assert shown[1].endswith("over-predicted")
    shown = " ".join(call("segments", "x.csv", "--prob", "p", "--by", "who").stdout.split())
    assert "60 of 60 segments have fewer than 5 rows" in shown


def test_segments_need_a_column(call):
    result = call("segments", "--demo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Give a column of segments: --by NAME." in result.stderr


@pytest.mark.parametrize(("column", "advised"), [("shop", True), ("sex", False)])
def test_a_map_by_what_the_law_may_protect_is_not_advised_unasked(call, tmp_path, column, advised):
    rng = np.random.default_rng(5)
    p = rng.beta(2, 5, 3_000)
    half = np.arange(p.size) % 2
    y = (rng.random(p.size) < np.where(half == 1, np.minimum(1, 1.8 * p), p)).astype(int)
    write_columns(tmp_path / "x.csv", {"y": y, "p": p, column: half.astype(str)})
    shown = " ".join(
        call("segments", "x.csv", "--label", "y", "--prob", "p", "--by", column).stdout.split()
    )
    assert (f"A map by {column} lowers" in shown) is advised


@pytest.mark.slow
@pytest.mark.parametrize("alone", [True, False])
def test_a_page_has_one_advice(call, tmp_path, alone):
    """Where a map by segment is advised, it is not named once more beside the segments."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 4, 4_000)
    shop = np.arange(p.size) % 9
    factor = np.where(shop == 3, 1.5, 1.0 if alone else 1.2)
    y = (rng.random(p.size) < (factor * p).clip(0, 1)).astype(int)
    write_columns(tmp_path / "x.csv", {"y": y, "p": p, "shop": shop})
    asked = ("x.csv", "--label", "y", "--prob", "p", "--by", "shop")
    note = "A map by shop lowers the held-out log loss by"
    assert note in " ".join(call("segments", *asked).stdout.split())
    page = call("report", *asked, "--format", "text", "--no-intervals").stdout
    text = " ".join(page.split())
    assert "What to do: Recalibrate by shop" in text
    assert note not in text
