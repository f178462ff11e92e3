"""Each row counts once: looks that are sent again, and rows that come late."""

import warnings

import numpy as np
import polars as pl
import pytest

import trueness as tn


def rows_of(day, n=1200, seed=0, digits=3):
    rng = np.random.default_rng([seed, day])
    p = rng.uniform(0.1, 0.9, n).round(digits)
    y = (rng.uniform(size=n) < p).astype(int)
    return pl.DataFrame({"day": [f"2025-01-{day:02}"] * n, "y": y, "p": p})


def groups_of(*frames, by=("day",), bins="sketch"):
    return tn.scan_groups(pl.concat(frames), by=list(by), label="y", prob="p", bins=bins)


def watched(*days, **options):
    watch = tn.Watch()
    watch.update(groups_of(*days), time="day", **options)
    return watch


def test_the_same_rows_in_any_order_and_form_are_one_look():
    rows = rows_of(1)
    watch = tn.Watch()
    watch.update(rows["y"], rows["p"])
    mixed = rows.sample(fraction=1, shuffle=True, seed=1)
    for again in (
        (mixed["y"].to_numpy(), mixed["p"].to_numpy()),
        (tn.tally(mixed["y"], mixed["p"]),),
    ):
        with pytest.warns(tn.TruenessWarning, match="1,200 rows of 1 were counted before"):
            watch.update(*again)
    assert watch.history[""].n.tolist() == [1200]
    watch.update(rows["y"], rows["p"], again=True)
    assert watch.history[""].n.tolist() == [1200] * 2


def test_rows_of_weight_zero_are_not_part_of_the_content():
    rows = rows_of(1)
    y, p = rows["y"].to_numpy(), rows["p"].to_numpy()
    weight = (np.arange(1200) % 7 > 0).astype(int)
    watch = tn.Watch()
    watch.update(y, p, sample_weight=weight)
    other = np.where(weight > 0, p, 0.987)
    with pytest.warns(tn.TruenessWarning, match="were counted before"):
        watch.update(y, other, sample_weight=weight)
    with pytest.warns(tn.TruenessWarning, match="were counted before"):
        watch.update(y[weight > 0], p[weight > 0])
    assert len(watch.history[""].n) == 1


def test_segments_are_part_of_the_content():
    rows = rows_of(1)
    half = np.arange(1200) % 2
    watch = tn.Watch()
    watch.update(rows["y"], rows["p"], by=half)
    watch.update(rows["y"], rows["p"], by=half[::-1])
    assert watch.history[""].n.tolist() == [1200] * 2


@pytest.mark.parametrize(
    ("n", "digits", "looks"),
    [
        (999, 1, 2),  # nine scores, and a row short of 1,000
        (1000, 1, 1),
        (1000, 0, 2),  # scores 0 and 1: sums of two scores agree by chance
        (260, 6, 1),  # 260 scores
        (199, 6, 2),
    ],
)
def test_small_looks_are_counted_with_a_note(n, digits, looks):
    rows = rows_of(1, n, digits=digits)
    y = rows["p"].to_numpy() > 0.5 if digits == 0 else rows["y"]
    watch = tn.Watch()
    watch.update(y, rows["p"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        watch.update(y, rows["p"])
    assert len(watch.history[""].n) == looks
    assert ("too few to tell" in watch.notes[0]) is (looks == 2)


@pytest.mark.parametrize(
    ("rows", "scores", "looks"), [(1000, 3, 1), (999, 3, 2), (1000, 2, 2), (200, 200, 1)]
)
def test_a_thousand_rows_at_three_scores_are_recognised_and_so_are_two_hundred_scores(
    rows, scores, looks
):
    p = (np.arange(rows) % scores + 0.5) / scores
    y = (np.arange(rows) % 7 < 7 * p).astype(int)
    watch = tn.Watch()
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tn.TruenessWarning)
            watch.update(y, p)
    assert len(watch.history[""].n) == looks


def test_a_position_counts_once_and_an_export_of_all_days_brings_the_new_ones():
    days = [rows_of(day, 50) for day in (1, 2, 3)]
    watch = watched(*days[:2])
    with pytest.warns(tn.TruenessWarning, match="100 rows of 2025-01-01, 2025-01-02 were counted"):
        watch.update(groups_of(*days), time="day")
    assert watch.history[""].n.tolist() == [50] * 3
    assert watch.evidence == pytest.approx(watched(*days).evidence, rel=1e-12)


def test_late_rows_are_refused_counted_or_dropped():
    days = [rows_of(day, 200) for day in (1, 2, 3)]
    early = days[0].with_row_index()
    first = early.filter(pl.col("index") >= 5).drop("index")
    rest = early.filter(pl.col("index") < 5).drop("index")
    watch = watched(first, days[1])
    state = watch.to_json()
    told = r"5 rows of 2025-01-01; now these hold other rows.*'next' counts late rows.*--replay"
    with pytest.raises(tn.InputError, match=told):
        watch.update(groups_of(rest, days[2]), time="day")
    assert watch.to_json() == state
    watch.update(groups_of(rest, days[2]), time="day", late="next")
    assert watch.history[""].n.tolist() == [195, 200, 205]
    assert (watch.late_rows, watch.dropped_rows) == (5, 0)
    assert watch.notes == ("5 rows of 2025-01-01 came late and are counted now.",)
    by_hand = tn.Watch()
    for one in (first, days[1], pl.concat([days[2], rest])):
        by_hand.update(tn.sketch(one["y"], one["p"]))
    assert watch.evidence == pytest.approx(by_hand.evidence, rel=1e-12)
    with pytest.warns(tn.TruenessWarning, match="205 rows"):  # the late rows, too
        watch.update(groups_of(rest, days[2]), time="day", late="next")
    assert watch.history[""].n.tolist() == [195, 200, 205]
    other = watched(first, days[1])
    other.update(groups_of(rest, days[2]), time="day", late="drop")
    assert (other.history[""].n.tolist(), other.dropped_rows) == ([195, 200, 200], 5)


def test_late_rows_alone_are_a_look_at_the_last_position():
    watch = watched(rows_of(1, 200), rows_of(2, 200))
    watch.update(groups_of(rows_of(1, 7, seed=1)), time="day", late="next")
    assert watch.history[""].position == ("2025-01-01", "2025-01-02", "2025-01-02")
    assert watch.history[""].n.tolist() == [200, 200, 7]


def test_an_older_position_in_python_is_late_too():
    watch = tn.Watch()
    for day in (1, 2):
        rows = rows_of(day, 100)
        watch.update(rows["y"], rows["p"], position=day)
    with pytest.raises(tn.InputError, match="must be later than the last look, 2; got 1"):
        watch.update([0, 1], [0.2, 0.3], position=1)
    watch.update([0, 1], [0.2, 0.3], position=1, late="next")
    assert watch.history[""].position == (1, 2, 2)
    with pytest.raises(tn.InputError, match="`late` must be 'refuse', 'next' or 'drop'"):
        watch.update([0, 1], [0.2, 0.3], late="keep")


@pytest.mark.parametrize("extra", [0, 1])
def test_a_whole_day_with_more_rows_is_not_late_rows(extra):
    days = [rows_of(day, 200) for day in (1, 2)]
    watch = watched(*days)
    more = pl.concat([days[0], rows_of(1, 5, seed=1)])
    export = groups_of(more, *days[1 : 1 + extra], rows_of(3, 200))
    with pytest.raises(tn.InputError, match=r"205 rows of 2025-01-01 would count again"):
        watch.update(export, time="day", late="next")
    assert watch.history[""].n.tolist() == [200] * 2


def test_rows_that_were_left_out_are_not_taken_for_counted_ones():
    days = [rows_of(day, 200) for day in (1, 2)]
    watch = watched(days[0].head(195), days[1])
    watch.update(groups_of(days[0]), time="day", late="drop")
    assert watch.dropped_rows == 200
    more = pl.concat([days[0], rows_of(1, 5, seed=1)])
    with pytest.raises(tn.InputError, match=r"205 rows of 2025-01-01 would count again"):
        watch.update(groups_of(more), time="day", late="next")


def test_a_reset_remembers_what_was_counted_unless_it_goes_back():
    watch = watched(*(rows_of(day, 50) for day in (1, 2, 3)))
    watch.reset()
    assert watch.resets == 1
    with pytest.warns(tn.TruenessWarning, match="50 rows"):
        watch.update(groups_of(rows_of(3, 50)), time="day")
    watch.reset("2025-01-01")
    watch.update(groups_of(rows_of(2, 50), rows_of(3, 50)), time="day")
    assert (watch.history[""].n.tolist(), watch.resets) == ([50, 50], 2)


def test_what_was_counted_is_part_of_the_state(tmp_path):
    watch = watched(rows_of(1, 50), rows_of(2, 50))
    watch.update(groups_of(rows_of(1, 3, seed=1)), time="day", late="next")
    watch.save(tmp_path / "s.json")
    again = tn.Watch.load(tmp_path / "s.json")
    with pytest.warns(tn.TruenessWarning, match="53 rows"):
        again.update(groups_of(rows_of(1, 3, seed=1), rows_of(2, 50)), time="day")
    assert (again.late_rows, again.history[""].n.tolist()) == (3, [50, 50, 3])


def test_alarms_begin_with_all_rows():
    rng = np.random.default_rng(0)
    watch = tn.Watch()
    assert watch.alarms == ()
    p = rng.uniform(0.1, 0.5, 2000)
    watch.update(rng.uniform(size=2000) < 1.5 * p, p, by=np.where(np.arange(2000) % 2, "n", "s"))
    assert watch.alarms[0].segment == ""
    assert {one.segment for one in watch.alarms} == {"", "n", "s"}
    assert all(one.listed for one in watch.alarms)
    page = watch._repr_html_()
    assert page.index("Alarm: ") < page.index("<table>")
    assert page.count("<tr>") == 4  # the head, all rows and two segments
    watch.reset()
    assert watch.alarms == ()


def test_prometheus_has_a_label_for_each_key():
    frame = pl.DataFrame(
        {"y": [0, 1, 1], "p": [0.2, 0.7, 0.9], "country": ["FR", "US", "US"]}
        | {"model": ["a", "a", "b"], "1st day": ["x"] * 3, "trueness_watch": ["z"] * 3}
    )
    keys = ["country", "model", "1st day", "trueness_watch"]
    watch = tn.Watch(name="churn")
    watch.update(tn.scan_groups(frame, by=keys, label="y", prob="p", bins="sketch"))
    rest = 'model="b",_1st_day="x",trueness_watch_="z"'
    line = f'trueness_watch_rows{{trueness_watch="churn",country="US",{rest}}} 1.0'
    assert line in watch.to_prometheus().splitlines()
    rows = tn.Watch(name="churn")
    rows.update(frame["y"], frame["p"], by=frame.select(keys))
    assert rows.to_prometheus().count(line) == 1


def test_the_state_may_be_a_url():
    pytest.importorskip("fsspec")
    watch = watched(rows_of(1, 50))
    watch.save("memory://trueness/s.json")
    assert tn.Watch.load("memory://trueness/s.json").to_json() == watch.to_json()
    with pytest.raises(tn.InputError, match=r"'nowhere://s\.json' cannot be opened"):
        watch.save("nowhere://s.json")


def test_groups_roll_up():
    frame = pl.concat([rows_of(day, 40) for day in (1, 2)]).with_columns(
        app=pl.Series(["a", "b"] * 40)
    )
    groups = groups_of(frame, by=("day", "app"))
    assert groups.roll_up(["day"]) == groups_of(frame)
    assert groups.roll_up("app") == tn.scan_groups(
        frame, by="app", label="y", prob="p", bins="sketch"
    )
    assert groups.roll_up(["app", "day"]).names == ("app", "day")
    with pytest.raises(tn.InputError, match=r"`by` must name different ones of \['day', 'app'\]"):
        groups.roll_up("region")


@pytest.mark.parametrize("is_stored", [False, True])
def test_late_rows_that_were_left_out_are_not_called_counted(is_stored, tmp_path):
    days = [rows_of(day, 200) for day in (1, 2, 3)]
    watch = watched(*days[1:])
    watch.update(groups_of(days[0]), time="day", late="drop")
    if is_stored:
        watch.save(tmp_path / "watch.json")
        watch = tn.Watch.load(tmp_path / "watch.json")
    with pytest.warns(tn.TruenessWarning) as warned:
        watch.update(groups_of(*days[:2]), time="day", late="next")
    left_out, counted = (
        "200 rows of 2025-01-01 were left out",
        "200 rows of 2025-01-02 were counted",
    )
    assert [sentence.split(" before")[0] for sentence in watch.notes] == [counted, left_out]
    assert [str(one.message).split(" before")[0] for one in warned] == [counted, left_out]
    assert watch.history[""].n.sum() == 400
    watch.update(groups_of(days[0]), time="day", late="next", again=True)
    assert watch.history[""].n.sum() == 600
    with pytest.warns(tn.TruenessWarning, match="200 rows of 2025-01-01 were counted before"):
        watch.update(groups_of(days[0]), time="day", late="next")


def test_late_rows_of_two_days_alone_are_one_look():
    watch = watched(*(rows_of(day, 200) for day in (1, 2, 3)))
    late = [rows_of(1, 7, seed=1), rows_of(2, 9, seed=1)]
    watch.update(groups_of(*late), time="day", late="next")
    assert watch.history[""].n.tolist() == [200, 200, 200, 16]
    assert watch.late_rows == 16
    assert watch.history[""].position[-1] == "2025-01-03"
