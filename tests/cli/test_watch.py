"""``trueness watch``: every row counts once, and the exit code is the alarm."""

import json
import subprocess
import sys
import time
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import trueness as tn


@pytest.fixture
def days(tmp_path):
    """Ten days of rows, wrong in one region from the fifth on; a file of each."""
    rng, frames = np.random.default_rng(1), []
    for day in range(1, 11):
        p = rng.uniform(0.1, 0.6, 300).round(3)
        region = np.where(np.arange(300) % 2, "north", "south")
        y = rng.uniform(size=300) < np.where((region == "north") & (day > 4), 1.5 * p, p)
        frame = pl.DataFrame(
            {"y": y.astype(int), "p": p, "region": region, "day": f"2025-01-{day:02}"}
        )
        frame.write_csv(tmp_path / f"day{day:02}.csv")
        frames.append(frame)
    pl.concat(frames).write_parquet(tmp_path / "all.parquet")
    return frames


COLUMNS = ["--label", "y", "--prob", "p"]


def expected(frames, by=False):
    watch = tn.Watch()
    for frame in frames:
        watch.update(frame["y"], frame["p"], by=frame["region"] if by else None)
    return watch


def test_files_are_looks_and_count_once(call, days, tmp_path):
    first = call("watch", "s.json", "day01.csv", "day02.csv", *COLUMNS)
    assert first.exit_code == 0
    assert first.stdout.startswith("No alarm: ")
    again = call("watch", "s.json", "day02.csv", "day03.csv")
    assert "note: day02.csv was counted before and is skipped." in again.stderr
    state = tn.Watch.load(tmp_path / "s.json")
    assert state.history[""].n.tolist() == [300] * 3
    assert state.evidence == pytest.approx(expected(days[:3]).evidence, rel=1e-2)
    rest = call("watch", "s.json", *(f"day{i:02}.csv" for i in range(4, 11)), "--format", "json")
    assert rest.exit_code == 1
    found = json.loads(rest.stdout)
    assert (found["alarm"], found["position"]) == (True, 10)
    assert found["segments"][0]["n"] == 3000
    assert call("watch", "s.json").exit_code == 1
    assert "trueness_watch_alarm 1.0" in call("watch", "s.json", "--format", "prometheus").stdout
    assert call("watch", "s.json", "--reset").exit_code == 0
    assert "must have seen a look" in call("watch", "s.json", "--page", "w.html").stderr


def test_a_rate_far_from_one_half_is_asked_for(call, tmp_path):
    pl.DataFrame({"y": [0, 1] * 20, "p": [0.03, 0.05] * 20}).write_csv(tmp_path / "rare.csv")
    assert (
        "note: The mean score is 0.04: `--rate 0.04`"
        in call("watch", "s.json", "rare.csv", *COLUMNS).stderr
    )
    assert "--rate" not in call("watch", "s.json").stderr
    assert "--rate" not in call("watch", "t.json", "rare.csv", *COLUMNS, "--rate", "0.04").stderr
    assert tn.Watch.load(tmp_path / "t.json").rate == 0.04


def test_a_column_of_dates_and_segments(call, days, tmp_path):
    result = call("watch", "s.json", "all.parquet", *COLUMNS, "--time", "day", "--by", "region")
    assert result.exit_code == 1
    assert "  north, since 2025-01-0" in result.stdout
    state = tn.Watch.load(tmp_path / "s.json")
    assert [one.segment for one in state.alarms] == ["", "north"]
    assert state.evidence == pytest.approx(expected(days, by=True).evidence, rel=1e-2)
    weeks = call(
        "watch",
        "w.json",
        "all.parquet",
        *COLUMNS,
        "--time",
        "day",
        "--every",
        "week",
        "--before",
        "2025-01-06",
    )
    assert weeks.exit_code == 0
    assert tn.Watch.load(tmp_path / "w.json").history[""].position == ("2025-W01",)
    assert tn.Watch.load(tmp_path / "w.json").history[""].n.tolist() == [1500]


def test_times_with_a_zone_count_on_their_day_in_utc_whatever_holds_them(call, tmp_path):
    hours = [datetime(2025, 3, 7) + timedelta(hours=hour) for hour in range(48)]
    columns = {"y": [0, 1] * 24, "p": [0.3, 0.6] * 24}
    written = [f"{hour.isoformat()}+05:00" for hour in hours]
    pl.DataFrame(columns | {"t": written}).write_csv(tmp_path / "x.csv")
    zoned = pl.Series("t", hours).dt.replace_time_zone("Asia/Karachi")
    pl.DataFrame(columns).with_columns(zoned).write_parquet(tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        call("tally", name, *COLUMNS, "--by", "t", "-o", f"{name}.tally")
    for name in ("x.csv", "x.parquet", "x.csv.tally", "x.parquet.tally"):
        state = f"{name}.json"
        result = call("watch", state, name, *COLUMNS, "--time", "t")
        assert result.exit_code == 0, result.stderr
        history = tn.Watch.load(tmp_path / state).history[""]
        assert history.position == ("2025-03-06", "2025-03-07", "2025-03-08")
        assert history.n.tolist() == [5, 24, 19]


def test_sums_are_looks_too(call, days, tmp_path):
    for day in ("01", "02"):
        call("tally", f"day{day}.csv", *COLUMNS, "--by", "region", "-o", f"{day}.tally")
    assert call("watch", "s.json", "01.tally", "02.tally", "--by", "region").exit_code == 0
    state = tn.Watch.load(tmp_path / "s.json")
    assert state.evidence == pytest.approx(expected(days[:2], by=True).evidence, rel=1e-2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["day03.csv", "--prob", "q"], "`--prob` must be 'p', as in s.json; got 'q'"),
        (["--alpha", "0.01"], "`--alpha` must be 0.05, as in s.json; got 0.01"),
        (["day03.csv", "--by", "region"], "`--by` must be left out, as in s.json; got ['region']"),
        (["grown.csv"], "grown.csv must hold new rows; it begins with a file that was counted"),
        (["day03.csv", "--time", "day"], "`--time` must be left out, as in s.json; got 'day'"),
        (["day03.csv", "nothing.csv"], "nothing.csv"),
        pytest.param(
            ["day03.csv", "--reset", "--page", "no/w.html"], "no/w.html", marks=pytest.mark.slow
        ),
    ],
)
def test_another_question_is_refused_and_the_state_stays(
    call, fails, days, tmp_path, words, message
):
    call("watch", "s.json", "day01.csv", *COLUMNS)
    pl.concat(days[:2]).write_csv(tmp_path / "grown.csv")
    before = (tmp_path / "s.json").read_bytes()
    assert message in " ".join(fails("watch", "s.json", *words).split())
    assert (tmp_path / "s.json").read_bytes() == before


def test_a_damaged_state_and_no_state(fails, days, tmp_path):
    (tmp_path / "s.json").write_text('{"what": "trueness.Watch"')
    damaged = "'s.json' must be the state of a watch; it is cut short or damaged: "
    assert damaged in fails("watch", "s.json", "day01.csv", *COLUMNS)
    (tmp_path / "s.json").write_text("")
    assert "'s.json' must be the state of a watch; it is empty. Put back a copy" in fails(
        "watch", "s.json"
    )
    assert "Name the columns" in fails("watch", "t.json", "day01.csv")
    assert "give a FILE" in fails("watch", "t.json")
    assert not (tmp_path / "t.json").exists()


def test_messages_name_options_and_files(call, fails, days, tmp_path):
    days[0].with_columns(y=pl.when(pl.col("p") > 0.15).then("y")).write_csv(tmp_path / "gaps.csv")
    days[0].with_columns(day=pl.lit("31/01/2025")).write_csv(tmp_path / "odd.csv")
    told = fails("watch", "s.json", "gaps.csv", *COLUMNS)
    assert "gaps.csv: `--label` column 'y' must not have missing values" in told
    assert "`--missing drop`" in told
    assert "`--label` names no column 'z' in 'day01.csv'" in fails(
        "watch", "s.json", "day01.csv", "--label", "z", "--prob", "p"
    )
    odd = fails("watch", "s.json", "odd.csv", *COLUMNS, "--time", "day")
    assert "odd.csv: `--time` must hold dates such as 2025-01-31; got '31/01/2025'" in odd
    for state in ("no/s.json", "."):
        assert "`STATE` must be a file in a folder that exists" in fails(
            "watch", state, "day01.csv", *COLUMNS
        )
    dropped = call("watch", "s.json", "gaps.csv", *COLUMNS, "--missing", "drop").stderr
    assert "warning: gaps.csv: " in dropped
    assert "rows have a missing value and were dropped." in dropped


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_nothing(days, tmp_path):
    words = [
        sys.executable,
        "-m",
        "trueness",
        "watch",
        "s.json",
        *(f"day{i:02}.csv" for i in range(1, 11)),
        *COLUMNS,
    ]
    for wait in np.linspace(0.6, 2.0, 12):
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(wait)
        process.kill()
        process.wait()
    subprocess.run(words, cwd=tmp_path, check=False, capture_output=True)
    state = tn.Watch.load(tmp_path / "s.json")
    assert state.history[""].n.tolist() == [300] * 10
    assert state.evidence == pytest.approx(expected(days).evidence, rel=1e-2)


def test_after_a_reset_the_alarm_of_segments_rings_where_it_did(call, days):
    call("watch", "s.json", "day01.csv", *COLUMNS, "--by", "region")
    assert "alarm at 40" in call("watch", "s.json", "--reset").stdout
    assert "alarm at 40" in call("watch", "s.json", "day02.csv").stdout


@pytest.mark.slow
def test_the_page_gives_every_segment_its_own_error(call, tmp_path):
    rng, state = np.random.default_rng(1), tn.Watch()
    p, by = rng.uniform(0.1, 0.5, 4_000), np.arange(4_000) % 2
    state.update(rng.uniform(size=4_000) < p * np.where(by, 1.5, 0.5), p, by=np.where(by, "x", "y"))
    state.save(tmp_path / "s.json")
    call("watch", "s.json", "--page", "w.html")
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    error = {one.segment: f"in {one.segment}: {one.direction}, since 1" for one in state.watched}
    assert f"No longer true {error['y']}; {error['x']}." in page
    assert "each segment that is off needs a map of its own" in page
    assert "PriorCorrection" not in page


@pytest.mark.slow
def test_the_page_says_since_when_where_and_what_to_do(call, days, tmp_path):
    assert (
        call(
            "watch", "s.json", "day01.csv", *COLUMNS, "--by", "region", "--page", "w.html"
        ).exit_code
        == 0
    )
    assert "Still true, as far as these rows tell: no alarm." in (tmp_path / "w.html").read_text(
        encoding="utf-8"
    )
    rest = [f"day{i:02}.csv" for i in range(2, 11)]
    assert call("watch", "s.json", *rest, "--page", "w.html").exit_code == 1
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    state = tn.Watch.load(tmp_path / "s.json")
    assert f"{state.direction}, since {state.since}." in page
    assert page.count("<svg") == 3 + len(state.history) - 1
    assert "An alarm rings at evidence 40." in page
    assert (
        f"Fit a map on the rows since {state.since}" in page
        or f"fit a map on the rows since {state.since}" in page
    )
    assert "<script" not in page
    assert "<td" in page.partition("<h2>Segments</h2>")[2]


def test_a_file_that_was_cut_short_may_come_again_and_one_of_the_same_name_is_new(
    call, days, tmp_path
):
    words = ["watch", "s.json", "all.parquet"]
    assert call(*words, *COLUMNS, "--time", "day", "--before", "2025-01-04").exit_code == 0
    assert tn.Watch.load(tmp_path / "s.json").position == "2025-01-03"
    call(*words)
    call(*words)
    assert tn.Watch.load(tmp_path / "s.json").history[""].n.tolist() == [300] * 10
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        days[folder == "b"].write_csv(tmp_path / folder / "rows.csv")
        call("watch", "t.json", f"{folder}/rows.csv", *COLUMNS)
    assert tn.Watch.load(tmp_path / "t.json").history[""].n.tolist() == [300] * 2
    (tmp_path / "none.csv").write_text("y,p,region,day\n")
    assert "none.csv has no new rows" in call("watch", "t.json", "none.csv").stderr


def test_a_log_that_grows_is_read_up_to_the_day_that_is_not_over(call, days, tmp_path):
    for day in (2, 3, 5):  # the log holds rows of today or none
        pl.concat(days[: day + (day == 3)]).write_csv(tmp_path / "log.csv")
        words = [*COLUMNS, "--time", "day"] if day == 2 else []
        call("watch", "s.json", "log.csv", *words, "--before", f"2025-01-{day + 1:02}")
        assert tn.Watch.load(tmp_path / "s.json").history[""].n.tolist() == [300] * day
    assert (
        "log.csv has no new rows"
        in call("watch", "s.json", "log.csv", "--before", "2025-01-06").stderr
    )


def test_days_of_two_files_are_counted_once(call, days, tmp_path):
    pl.concat(days[:3]).write_csv(tmp_path / "early.csv")
    pl.concat(days[2:5]).write_csv(tmp_path / "late.csv")
    assert call("watch", "s.json", "early.csv", *COLUMNS, "--time", "day").exit_code == 0
    told = call("watch", "s.json", "late.csv").stderr
    assert "late.csv: 300 rows of 2025-01-03 were counted before and are skipped." in told
    assert tn.Watch.load(tmp_path / "s.json").history[""].n.tolist() == [300] * 5


def test_a_column_may_be_read_as_numbers_from_one_file_and_as_text_from_the_next(call, tmp_path):
    (tmp_path / "a.csv").write_text("y,p,g\n0,0.2,1\n1,0.7,2\n")
    (tmp_path / "b.csv").write_text("y,p,g\n0,0.2,1\n1,0.7,x\n")
    seen = tn.Accumulator(by="g")
    seen.update([0, 1], [0.2, 0.7], group=[1, 2])
    seen.save(tmp_path / "c.tally")
    assert call("watch", "s.json", "a.csv", *COLUMNS, "--by", "g").exit_code == 0
    assert call("watch", "s.json", "b.csv", "c.tally").exit_code == 0
    rows = {one.segment: one.n for one in tn.Watch.load(tmp_path / "s.json").watched}
    assert rows == {"": 6, "1": 3, "2": 2, "x": 1}
