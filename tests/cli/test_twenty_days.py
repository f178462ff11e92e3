"""Twenty days in production: whatever is sent twice or late, counts and alarms are those of clean data."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from filelock import FileLock

import trueness as tn

DAYS = 20
COLUMNS = ["--label", "y", "--prob", "p", "--time", "day", "--by", "country", "--by", "app"]


def frames():
    """Rows of each day; in the US they are wrong from the twelfth day on."""
    rng = np.random.default_rng(5)
    days = []
    for day in range(1, DAYS + 1):
        p = rng.uniform(0.1, 0.6, 400).round(4)
        country = rng.choice(["FR", "US", "JP"], 400)
        truth = np.where((country == "US") & (day >= 12), 1.5 * p, p)
        columns = {
            "day": [f"2025-03-{day:02}"] * 400,
            "country": country,
            "app": rng.choice(["web", "phone"], 400),
            "user": rng.integers(0, 10**6, 400),
            "y": (rng.uniform(size=400) < truth).astype(int),
            "p": p,
        }
        days.append(pl.DataFrame(columns))
    return days


def clean(days, tmp_path):
    """The watch of all rows, each on its own day, and the day of the alarm."""
    watch = tn.Watch()
    rang = None
    for day in days:
        groups = tn.scan_groups(
            day, by=["day", "country", "app"], label="y", prob="p", bins="sketch"
        )
        watch.update(groups, time="day")
        rang = rang or (watch.position if watch.alarm else None)
    return watch, rang


def names(watch):
    return [one.segment for one in watch.alarms]


@pytest.mark.slow
def test_twenty_days_with_every_mishap_end_as_clean_data_do(call, fails, tmp_path, monkeypatch):
    days = frames()
    expected, rang = clean(days, tmp_path)
    late = {day: days[day - 2].head(6) for day in (4, 9, 15)}  # of the day before
    alarm = None
    for number, rows in enumerate(days, 1):
        day = f"2025-03-{number:02}"
        sent = rows.tail(394) if number + 1 in late else rows
        sent = pl.concat([sent, late[number]]) if number in late else sent
        sent.write_csv(tmp_path / f"{day}.csv")
        words = [f"{day}.csv", *(COLUMNS if number == 1 else [])]
        if number in late:
            told = fails("watch", "s.json", *words)
            assert "`--late` must say what becomes of rows" in told
            assert f"6 rows of 2025-03-{number - 1:02}" in told
            words += ["--late", "next"]
        if number == 6:  # a killed run: the state is not replaced
            with monkeypatch.context() as broken:
                broken.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "no")))
                assert call("watch", "s.json", *words).exit_code == 2
        if number == 7:  # two writers
            with FileLock(tmp_path / ".s.json.lock"):
                assert "is being changed by another process" in fails("watch", "s.json", *words)
        result = call("watch", "s.json", *words)
        alarm = alarm or (day if result.exit_code == 1 else None)
        if number in (3, 9, 16):  # a retry, with late rows on the ninth day
            assert "counted before" in call("watch", "s.json", *words).stderr
        if number in (5, 9):  # another writer saves the file again
            sent.sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "again.parquet")
            assert "has no new rows" in call("watch", "s.json", "again.parquet", *words[1:]).stderr
    state = tn.Watch.load(tmp_path / "s.json")
    assert round(state.watched[0].n) == DAYS * 400
    assert [one.n for one in state.watched] == [one.n for one in expected.watched]
    assert (alarm, names(state)) == (rang, names(expected))
    # A backfill: folders by day hold every row on its own day.
    for number, rows in enumerate(days, 1):
        folder = tmp_path / "lake" / f"day=2025-03-{number:02}"
        folder.mkdir(parents=True)
        rows.drop("day").head(100).write_parquet(folder / "part-0.parquet")
        rows.drop("day").tail(300).write_parquet(folder / "part-1.parquet")
    told = call("watch", "s.json", "--replay", "lake").stderr
    assert "2025-03-03 had 394 rows" in told
    assert "has 400 rows" in told
    state = tn.Watch.load(tmp_path / "s.json")
    assert state.history[""].n.tolist() == expected.history[""].n.tolist()
    assert state.evidence == expected.evidence
    assert names(state) == names(expected)


def test_late_rows_rewritten_files_and_a_replay(call, fails, tmp_path):
    days = frames()[:3]
    days[0].tail(390).write_csv(tmp_path / "1.csv")
    pl.concat([days[1], days[0].head(10)]).write_csv(tmp_path / "2.csv")
    call("watch", "s.json", "1.csv", *COLUMNS)
    assert "10 rows of 2025-03-01" in fails("watch", "s.json", "2.csv")
    assert (
        "10 rows of 2025-03-01 came late"
        in call("watch", "s.json", "2.csv", "--late", "next").stderr
    )
    pl.read_csv(tmp_path / "2.csv").reverse().write_parquet(tmp_path / "2.parquet")
    assert "2.parquet has no new rows" in call("watch", "s.json", "2.parquet").stderr
    text = call("watch", "s.json", "--status").stdout
    assert "2 looks, 2025-03-01 to 2025-03-02; 800 rows." in text
    assert "10 rows came late and counted, 0 were left out." in text
    (tmp_path / "lake").mkdir()
    for i in (0, 1):
        words = ["--label", "y", "--prob", "p", "--by", "day", "--by", "country", "--by", "app"]
        days[i].write_csv(tmp_path / "day.csv")
        call("tally", "day.csv", *words, "-o", f"lake/{i}.tally")
    told = call("watch", "s.json", "--replay", "lake").stderr
    assert "2025-03-01 had 390 rows" in told
    state = tn.Watch.load(tmp_path / "s.json")
    assert (state.evidence, state.late_rows) == (clean(days[:2], tmp_path)[0].evidence, 0)


def test_sums_know_their_columns_and_a_new_alarm_is_told_from_an_old_one(call, fails, tmp_path):
    rows = frames()[0].with_columns(p=pl.col("p") / 2)
    rows.write_csv(tmp_path / "a.csv")
    call("tally", "a.csv", *COLUMNS[:4], "--by", "country", "-o", "a.tally")
    assert call("watch", "s.json", "a.tally", "--fail-on", "new", "--name", "x").exit_code == 1
    printed = call("watch", "s.json", "--format", "prometheus")
    assert 'trueness_watch_rows{trueness_watch="x",country="FR"}' in printed.stdout
    assert json.loads(call("watch", "s.json", "--format", "json").stdout)["by"] == ["country"]
    assert printed.exit_code == 1
    assert call("watch", "s.json", "--status", "--fail-on", "new").exit_code == 0
    assert "counts nothing" in fails("watch", "s.json", "a.csv", "--status")
    told = call("watch", "s.json", "--reset").stderr
    assert "Reset 1 time: the probability of a false alarm is at most 5 %" in told
    assert "10 % over all 2" in told


def test_a_state_at_a_url(call, tmp_path):
    pytest.importorskip("fsspec")
    frames()[0].write_csv(tmp_path / "a.csv")
    url = "memory://days/s.json"
    assert call("watch", url, "a.csv", *COLUMNS[:4]).exit_code == 0
    assert "1 look, 1 to 1; 400 rows" in call("watch", url, "--status").stdout
