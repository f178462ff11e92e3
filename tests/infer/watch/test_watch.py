"""A watch: evidence by the formula, valid by enumeration, and a state that counts every look once."""

import json
import math
from datetime import date, datetime, timedelta, timezone
from itertools import product

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import trueness as tn

SHIFTS = [d * sign for d in (0.1, 0.2, 0.4, 0.8, 1.6) for sign in (1, -1)]
GRID = [(d, 1.0) for d in SHIFTS] + [(0.0, s) for s in (0.5, 0.7, 0.85, 1.2, 1.5)]


def slow_evidence(looks, grid=GRID):
    """E from its definition: the mean over alternatives and onsets of the product of likelihood ratios."""
    t = len(looks)
    total = 1 / (t + 1)  # onsets that have not come
    for shift, slope in grid:
        for j in range(1, t + 1):
            ratio = 1.0
            for y, p in looks[j - 1 :]:
                for label, score in zip(y, p, strict=True):
                    q = expit(shift + slope * logit(score))
                    ratio *= q / score if label else (1 - q) / (1 - score)
            total += ratio / (j * (j + 1)) / len(grid)
    return total


def stream(
    rng, looks, n=50, *, change=None, shift=0.0, slope=1.0, law=lambda rng, n: rng.uniform(size=n)
):
    for t in range(looks):
        p = law(rng, n)
        q = expit(shift + slope * logit(p)) if change is not None and t >= change else p
        yield (rng.uniform(size=n) < q).astype(int), p


def watch_of(looks, **options):
    watch = tn.Watch(**options)
    for y, p in looks:
        watch.update(y, p)
    return watch


def test_evidence_is_the_mean_over_alternatives_and_onsets():
    looks = list(stream(np.random.default_rng(1), 5, 7))
    watch = tn.Watch()
    for t in range(5):
        watch.update(*looks[t])
        assert watch.evidence[""] == pytest.approx(slow_evidence(looks[: t + 1]), rel=1e-12)
    assert watch.history[""].evidence[2] == pytest.approx(slow_evidence(looks[:3]), rel=1e-12)


def test_another_grid_of_alternatives():
    looks, grid = list(stream(np.random.default_rng(2), 3, 9)), [(0.3, 1.0), (-0.5, 2.0)]
    assert watch_of(looks, alternatives=grid).evidence[""] == pytest.approx(
        slow_evidence(looks, grid), rel=1e-12
    )


@pytest.mark.filterwarnings("ignore")  # three rows of one class
@pytest.mark.parametrize("bins", [None, 2, pytest.param(1, marks=pytest.mark.slow)])
def test_the_expected_evidence_of_calibrated_scores_is_at_most_one(bins):
    # Every outcome of two looks of three rows, with its probability; scores differ inside the bins.
    scores = [np.array([0.1, 0.3, 0.8]), np.array([0.2, 0.45, 0.7])]
    expected = 0.0
    for labels in product([0, 1], repeat=6):
        watch, chance = tn.Watch(), 1.0
        for p, y in zip(scores, (np.array(labels[:3]), np.array(labels[3:])), strict=True):
            chance *= np.where(y == 1, p, 1 - p).prod()
            watch.update(*((y, p) if bins is None else (tn.binned(y, p, bins=bins),)))
        expected += chance * watch.evidence[""]
    assert 0.9 < expected <= 1 + 1e-12
    assert bins is not None or expected == pytest.approx(1, abs=1e-12)


def test_clusters_count_as_their_mean_and_sums_are_divided_by_the_largest():
    rng = np.random.default_rng(3)
    y, p = np.repeat(rng.integers(0, 2, 30), 2), np.repeat(rng.uniform(size=30), 2)
    twice = tn.Watch()
    twice.update(y, p, cluster=np.repeat(np.arange(30), 2))
    sums = tn.Watch()
    sums.update(tn.tally(y, p), largest_cluster=2)
    once = watch_of([(y[::2], p[::2])])
    assert twice.evidence[""] == pytest.approx(once.evidence[""], rel=1e-12)
    assert sums.evidence[""] == pytest.approx(once.evidence[""], rel=1e-12)
    assert (twice.history[""].n[0], sums.history[""].n[0], sums.history[""].observed[0]) == (
        60,
        60,
        y.sum(),
    )
    alone = tn.Watch()
    alone.update([1, 1], [0.3, 0.4], cluster=["a", "a"])  # one cluster is evidence, too
    rate = [np.sqrt(np.prod([expit(d + s * logit(x)) / x for x in (0.3, 0.4)])) for d, s in GRID]
    assert alone.evidence[""] == pytest.approx(np.mean(rate) / 2 + 0.5)


def test_rows_sums_sketches_and_repeated_rows_agree():
    rng = np.random.default_rng(4)
    y, p, w = rng.integers(0, 2, 200), rng.uniform(size=200).round(2), rng.integers(0, 4, 200)
    rows = tn.Watch()
    rows.update(y, p, sample_weight=w)
    for sums in (tn.tally(y, p, sample_weight=w), tn.tally(np.repeat(y, w), np.repeat(p, w))):
        other = tn.Watch()
        other.update(sums)
        assert other.evidence[""] == pytest.approx(rows.evidence[""], rel=1e-10)
        assert other.shift == rows.shift
    sketch = tn.Watch()
    sketch.update(tn.sketch(y, p, sample_weight=w))
    assert sketch.evidence[""] == pytest.approx(rows.evidence[""], rel=1e-3)
    order = rng.permutation(200)
    shuffled = tn.Watch()
    shuffled.update(y[order], p[order], sample_weight=w[order])
    assert shuffled.evidence[""] == pytest.approx(rows.evidence[""], rel=1e-10)


def test_many_rows_are_pooled_without_a_visible_change():
    rng = np.random.default_rng(5)
    y, p = next(stream(rng, 1, 40_000, change=0, shift=0.05))
    p[:3], y[:3] = [0, 1, 1], [0, 1, 1]
    many, halves = watch_of([(y, p)]), tn.Watch()
    halves.update({"a": tn.tally(y[::2], p[::2]), "b": tn.tally(y[1::2], p[1::2])})
    exact = tn.tally(y, p)
    cells = exact.parts[0]
    inside = (cells.score > 0) & (cells.score < 1)
    x, n, e = logit(cells.score[inside]), cells.weight[inside], cells.events[inside]
    ratios = [
        (e * (-np.logaddexp(0, -(d + s * x)) + np.logaddexp(0, -x))).sum()
        + ((n - e) * (-np.logaddexp(0, d + s * x) + np.logaddexp(0, x))).sum()
        for d, s in GRID
    ]
    assert math.log(many.evidence[""]) == pytest.approx(
        math.log(np.exp(ratios).mean() / 2 + 0.5), rel=1e-3
    )


def test_segments_are_named_at_half_the_level():
    def watched(alpha):
        watch = tn.Watch(alpha, segments=["a"])
        watch.update(np.ones(12), np.full(12, 0.5), by=np.full(12, "a"))
        return watch

    evidence = watched(0.05).evidence["a"]
    assert watched(2.01 / evidence).alarms[-1].segment == "a"
    assert "a" not in [one.segment for one in watched(1.99 / evidence).alarms]


def test_segments_share_the_alarm_and_are_named_by_weighted_evidence():
    rng = np.random.default_rng(6)
    watch = tn.Watch()
    for t, (y, p) in enumerate(stream(rng, 30, 300)):
        by = np.array(["north", "south", "west"])[np.arange(300) % 3]
        bad = (by == "south") & (t >= 10)
        y = np.where(bad, rng.uniform(size=300) < expit(logit(p) + 1.2), y)
        watch.update(y, p, by=by, position=f"2025-{t:02}")
    assert watch.alarm
    assert [one.segment for one in watch.alarms if one.segment] == ["south"]
    south = watch.watched[1]
    assert (south.segment, south.listed, south.weight, south.n) == (
        "south",
        True,
        pytest.approx(1 / 6),
        3000,
    )
    assert "2025-08" <= south.since <= "2025-12"
    assert south.direction.startswith("events 1.")
    assert list(watch.evidence) == ["", "north", "south", "west"]
    assert "south" in watch.history
    assert "north" not in watch.history or watch.history["north"].evidence.max() >= 2


def test_weights_of_segments_that_come_later_and_of_those_named_before():
    y, p = [0, 1], [0.3, 0.6]
    late = tn.Watch()
    for names in ("ab", "ac", "db"):
        late.update(y, p, by=list(names))
    weights = {one.segment: one.weight for one in late.watched}
    assert weights == {
        "": 1,
        "a": 0.25,
        "b": 0.25,
        "c": pytest.approx(1 / 4),
        "d": pytest.approx(1 / 12),
    }
    named = tn.Watch(segments=["a", "b", "c", "d"])
    named.update(y, p, by=["a", "c"])
    assert {one.segment: one.weight for one in named.watched} == {
        "": 1,
        **dict.fromkeys("abcd", 0.25),
    }
    unseen = next(one for one in named.watched if one.segment == "b")
    assert (unseen.n, unseen.evidence, unseen.since, unseen.listed) == (0, 1.0, None, False)
    with pytest.raises(tn.InputError, match="`by` must be one of the 4 segments; got 'e'"):
        named.update(y, p, by=["a", "e"])


def test_the_alarm_stays_until_it_is_reset():
    watch = tn.Watch(alpha=0.5)
    watch.update([1] * 20, [0.2] * 20, position=1)
    assert watch.alarm
    for t in range(2, 60):
        watch.update(np.arange(20) < 4, [0.2] * 20, position=t)
    assert watch.evidence[""] < 2
    assert watch.alarm
    watch.reset()
    assert (watch.alarm, watch.evidence, watch.since, watch.direction) == (
        False,
        {"": 1.0},
        None,
        "",
    )
    with pytest.raises(tn.InputError, match="must be later than the last look, 59; got 59"):
        watch.update([1, 0], [0.2, 0.3], position=59)
    watch.update([1, 0], [0.2, 0.3])
    assert watch.position == 60


@pytest.mark.parametrize(
    ("shift", "slope", "words"),
    [
        (0.5, 1, "events 1.1"),
        (0, 0.5, "overconfident"),
        pytest.param(0, 1.5, "underconfident", marks=pytest.mark.slow),
    ],
)
def test_onset_and_direction_in_words(shift, slope, words):
    watch = watch_of(stream(np.random.default_rng(7), 60, 200, change=30, shift=shift, slope=slope))
    assert watch.alarm
    assert 27 <= watch.since <= 34
    assert watch.direction.startswith(words)
    assert str(watch).startswith(
        f"Alarm: all rows, since {watch.since}: {watch.direction} (evidence "
    )


def test_scores_of_zero_and_one_agree_or_are_refuted():
    agree = watch_of([([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.5])])
    assert agree.evidence == watch_of([([1, 0], [0.5, 0.5])]).evidence
    wrong = watch_of([([1, 1, 0], [0.0, 0.0, 0.5])])
    assert (wrong.evidence[""], wrong.alarm, wrong.direction) == (
        math.inf,
        True,
        "2 labels contradict scores of 0 or 1",
    )
    assert str(wrong.shift) == "The looks give no limits of a constant shift of the log-odds."
    moved = watch_of([([1, 1, 0], [0.0, 0.0, 0.5])], eps=0.01)
    assert moved.evidence == watch_of([([1, 1, 0], [0.01, 0.01, 0.5])]).evidence
    assert tn.Watch.from_json(wrong.to_json()).evidence[""] == math.inf


def test_the_sequence_of_the_shift_closes_in_on_it_and_says_when_it_was_not_constant():
    found = watch_of(stream(np.random.default_rng(8), 60, 200, change=0, shift=0.4)).shift
    assert found.low < 0.4 < found.high
    assert found.high - found.low < 0.35
    assert (found.constant, found.level) == (True, 0.95)
    assert watch_of([([0, 1], [0.3, 0.6])]).shift.high == math.inf
    changed = watch_of(stream(np.random.default_rng(9), 80, 300, change=40, shift=1.0))
    assert not changed.shift.constant
    assert str(changed.shift) == "The shift was not constant: begin again at the onset."
    kept = tn.Accumulator(bins=4)
    kept.update([0, 1], [0.3, 0.6])
    for sums in (tn.binned([0, 1], [0.3, 0.6]), {"a": kept}):
        bins = tn.Watch()
        bins.update(sums)
        assert bins.shift is None


def test_the_slope_of_each_look_is_that_of_the_measure():
    looks = list(stream(np.random.default_rng(10), 3, 400))
    history = watch_of(looks).history[""]
    assert history.slope == pytest.approx([tn.calibration_slope(y, p) for y, p in looks], rel=1e-6)
    assert (history.slope_low < history.slope).all()
    assert history.observed.tolist() == [y.sum() for y, _ in looks]
    assert history.expected == pytest.approx([p.sum() for _, p in looks])
    assert list(history.to_frame().columns)[:5] == [
        "position",
        "n",
        "observed",
        "expected",
        "evidence",
    ]


@pytest.mark.parametrize("form", ["rows", "sums", "bins"])
def test_a_stored_state_goes_on_as_if_nothing_had_happened(form, tmp_path):
    rng = np.random.default_rng(11)
    one, two = tn.Watch(0.1, name="credit"), tn.Watch(0.1, name="credit")
    for t, (y, p) in enumerate(stream(rng, 12, 60, change=4, shift=0.8)):
        by = np.array(["a", "b", "c"])[: 2 + (t > 3)][np.arange(60) % (2 + (t > 3))]
        sums = {
            name: (tn.tally if form == "sums" else tn.binned)(y[by == name], p[by == name])
            for name in set(by)
        }
        for watch in (one, two):
            watch.update(
                *((y, p) if form == "rows" else (sums,)), **({"by": by} if form == "rows" else {})
            )
        two.save(tmp_path / "state.json")
        two = tn.Watch.load(tmp_path / "state.json")
    assert two.to_json() == one.to_json()
    assert (two.evidence, two.alarms, two.shift, two.watched) == (
        one.evidence,
        one.alarms,
        one.shift,
        one.watched,
    )


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
def test_groups_of_an_engine_are_entered_by_time(engine):
    rng = np.random.default_rng(12)
    p = rng.uniform(size=400).round(2)
    frame = pl.DataFrame(
        {"y": (rng.uniform(size=400) < p).astype(int), "p": p}
        | {"day": [f"2025-01-{1 + i // 100:02}" for i in range(400)], "region": ["n", "s"] * 200}
    )
    frame = frame.with_columns(day=pl.col("day").str.to_date())
    rows = {
        "polars": frame.lazy,
        "pandas": frame.to_pandas,
        "duckdb": lambda: duckdb.from_arrow(frame.to_arrow()),
    }[engine]()
    groups = tn.scan_groups(rows, by=["region", "day"], label="y", prob="p", bins=None)
    assert groups.names == ("region", "day")
    watch, rows = tn.Watch(), tn.Watch()
    watch.update(groups, time="day", before="2025-01-04")
    for day in sorted(set(frame["day"]))[:3]:
        some = frame.filter(pl.col("day") == day)
        rows.update(some["y"], some["p"], by=some["region"], position=day)
    assert (watch.position, watch.history[""].n.tolist()) == ("2025-01-03", [100] * 3)
    assert watch.evidence == pytest.approx(rows.evidence, rel=1e-10)
    with pytest.warns(tn.TruenessWarning, match="300 rows of .* were counted before"):
        watch.update(groups, time="day")
    assert watch.history[""].n.tolist() == [100] * 4
    alone = tn.Watch()
    alone.update(tn.scan_groups(frame, by="day", label="y", prob="p"), time="day")
    assert alone.history[""].position[-1] == "2025-01-04"


def test_several_columns_are_crossed_in_rows_as_in_the_keys_of_an_engine():
    frame = pl.DataFrame(
        {
            "y": [0, 1, 0, 1],
            "p": [0.2, 0.7, 0.4, 0.8],
            "a": ["n", "n", "s", None],
            "b": [1, 2, 1, 2],
        }
    )
    rows, sums = tn.Watch(), tn.Watch()
    rows.update(frame["y"], frame["p"], by=frame.select("a", "b"))
    sums.update(tn.scan_groups(frame, by=["a", "b"], label="y", prob="p", bins=None))
    assert set(rows.evidence) == {"", "n × 1", "n × 2", "s × 1", "(missing) × 2"}
    assert sums.evidence == pytest.approx(rows.evidence, rel=1e-10)
    alike = tn.Watch()
    alike.update([0, 1], [0.2, 0.4], by=pl.DataFrame({"a": ["x × y", "x"], "b": ["z", "y × z"]}))
    assert set(alike.evidence) == {"", "'x × y' × z", "x × 'y × z'"}


def test_times_with_a_zone_are_instants():
    watch, east = tn.Watch(), timezone(timedelta(hours=9))
    watch.update(
        [0, 1], [0.3, 0.6], position=datetime(2025, 1, 2, 8, tzinfo=east)
    )  # the evening before, in UTC
    assert watch.position == "2025-01-01T23:00:00+00:00"
    watch.update([0, 1], [0.3, 0.6], position="2025-01-01T23:30:00Z")  # later, though less as text
    for same in ("2025-01-02T00:30:00+01:00", datetime(2025, 1, 2, 7, tzinfo=east)):
        with pytest.raises(
            tn.InputError, match=r"must be later than the last look, '2025-01-01T23:30:00\+00:00'"
        ):
            watch.update([0, 1], [0.3, 0.6], position=same)
    with pytest.raises(tn.InputError, match="a time with a zone; got '2025-01-03'"):
        watch.update([0, 1], [0.3, 0.6], position=date(2025, 1, 3))
    frame = pl.DataFrame(
        {
            "y": [0, 1, 1],
            "p": [0.3, 0.6, 0.7],
            "t": ["2025-01-01T01:00+01:00", "2025-01-01T00:00Z", "2025-01-02T00:00Z"],
        }
    )
    both = tn.Watch()
    both.update(tn.scan_groups(frame, by="t", label="y", prob="p", bins=None), time="t")
    assert both.history[""].n.tolist() == [2, 1]  # one instant in two texts is one look
    with pytest.raises(tn.InputError, match="`before` must be of the kind of other positions"):
        both.update(tn.scan_groups(frame, by="t", label="y", prob="p"), time="t", before=3)


def test_a_day_is_the_same_in_all_its_forms():
    forms = (
        "2025-01-03",
        date(2025, 1, 3),
        datetime(2025, 1, 3),
        np.datetime64("2025-01-03T00:00"),
        "2025-01-03 00:00",
    )
    for first, second in product(forms, forms):
        watch = tn.Watch()
        watch.update([0, 1], [0.3, 0.6], position=first)
        with pytest.raises(tn.InputError, match="must be later than the last look, '2025-01-03'"):
            watch.update([0, 1], [0.3, 0.6], position=second)
    watch.update([0, 1], [0.3, 0.6], position="2025-01-03 10:00")
    assert watch.position == "2025-01-03T10:00:00"


def test_what_prometheus_reads():
    watch = tn.Watch(name='a "b"')
    watch.update([0, 1, 1], [0.2, 0.4, 0.9], by=["x", "y", "y"])
    lines = watch.to_prometheus().splitlines()
    assert 'trueness_watch_alarm{trueness_watch="a \\"b\\""} 0.0' in lines
    assert 'trueness_watch_rows{trueness_watch="a \\"b\\"",segment="y"} 2.0' in lines
    assert sum(line.startswith("# TYPE") for line in lines) == 6


def test_prometheus_reads_no_character_that_cannot_be_seen():
    watch = tn.Watch(name="a\\b\n\x1b[2J")
    watch.update([0, 1], [0.2, 0.4], by=["\ud800", "y"], position="\x1b[2J")
    lines = watch.to_prometheus().splitlines()
    assert r'trueness_watch_rows{trueness_watch="a\\b\n\\x1b[2J",segment="\\ud800"} 1.0' in lines
    assert all(line.isprintable() for line in lines)


def test_a_name_of_half_a_character_is_stored(tmp_path):
    watch = tn.Watch(name="\ud800", segments=["\udfff", "\x1b"])
    watch.update([0, 1], [0.2, 0.4], by=["\udfff", "\x1b"])
    watch.about["file"] = "\udcff"
    watch.save(tmp_path / "watch.json")
    read = tn.Watch.load(tmp_path / "watch.json")
    assert (read.name, read.segments, read.about) == (watch.name, watch.segments, watch.about)
    assert read.to_json() == watch.to_json()


def test_the_steepest_alternatives_give_a_state_that_can_be_stored():
    edge = [(1e6, 1e6), (-1e6, 1e6), (1e6, 1e-300)]
    watch = tn.Watch(alternatives=edge, rate=1e-300)
    watch.update(np.tile([0, 1], 500), np.repeat([1e-300, 1 - 1e-16], 500), position=10**300)
    assert tn.Watch.from_json(watch.to_json()).evidence == watch.evidence
    for beyond in ((1e308, 1), (0, 1e308), (0, math.nextafter(1e6, 2e6))):
        with pytest.raises(
            tn.InputError,
            match="`alternatives` must be shifts and positive slopes of at most 1,000,000",
        ):
            tn.Watch(alternatives=[beyond])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            [[0, 1], [0.2, 0.4]],
            {"position": 3},
            "`position` must be later than the last look, 3; got 3",
        ),
        (
            [[0, 1], [0.2, 0.4]],
            {"position": "mon"},
            "`position` must be of the kind of other positions, such as 3: .*; got 'mon'",
        ),
        (
            [[0, 1], [0.2, 0.4]],
            {"position": [4]},
            r"`position` must be a number, text or a date; got \[4\]",
        ),
        (
            [[0, 1], [0.2, 0.4]],
            {"by": ["a", "b"]},
            "`by` must be given at all looks or at none; this look has some",
        ),
        (
            [[0, 1], [0.2, 0.4]],
            {"sample_weight": [0.5, 1]},
            "`sample_weight` must be whole numbers",
        ),
        ([[0, 1], [0.2, 0.4]], {"largest_cluster": 2}, "`largest_cluster` is for sums"),
        ([[0, 1], [0.2, 1.4]], {}, "`y_prob` must lie in"),
        ([{}], {}, "`y_true` must hold the sums of at least one segment"),
        ([{"a": 3}], {}, "`y_true` must be rows, sums or a dict of sums; got int"),
        ([[0, 1], [0.2, 0.4]], {"time": "day"}, "`time` needs the result of `scan_groups`"),
        ([[0, 1], [0.2, 0.4]], {"before": 3}, "`before` needs `time`"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(arguments, options, message):
    watch = tn.Watch()
    watch.update([0, 1], [0.2, 0.4], position=3)
    before = watch.to_json()
    with pytest.raises(tn.InputError, match=message):
        watch.update(*arguments, **options)
    assert watch.to_json() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "`alpha` must"),
        ({"alternatives": []}, "`alternatives` must hold at least one pair"),
        ({"alternatives": [(0, 1)]}, "`alternatives` must be shifts and positive slopes"),
        ({"alternatives": [0.3]}, "`alternatives` must be pairs"),
        ({"segments": 0.5}, "`segments` must be a list of different names"),
        ({"segments": np.array(0.5)}, "`segments` must be a list of different names"),
        ({"segments": ["a", "a"]}, "`segments` must be a list of different names"),
        ({"eps": 0.7}, "`eps` must be below 1/2"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.Watch(**options)


def test_numbers_that_are_measurements_are_no_segments():
    watch = tn.Watch()
    with pytest.raises(
        tn.InputError, match="`by` must hold names or whole numbers; 'by' has fractions"
    ):
        watch.update([0, 1] * 20, [0.5] * 40, by=np.linspace(0, 1, 40))
    watch.update([0, 1] * 20, [0.5] * 40, by=np.arange(40))
    watch.update([0, 1] * 20, [0.5] * 40, by=np.where(np.arange(40) < 39, np.arange(40), np.nan))
    assert list(watch.evidence)[1:4] == ["0", "1", "10"]
    assert list(watch.evidence)[-1] == "(missing)"


def test_what_was_counted_is_left_out_on_request():
    frame = pl.DataFrame({"y": [0, 1] * 3, "p": [0.3, 0.6] * 3, "d": [1, 1, 2, 2, 3, 3]})
    groups = tn.scan_groups(frame, by="d", label="y", prob="p")
    watch = tn.Watch()
    watch.update(groups, time="d", before=3)
    watch.update(groups, time="d", after=watch.position)
    assert watch.history[""].position == (1, 2, 3)


def test_a_shift_beyond_the_candidates_is_said_to_be_beyond():
    watch = watch_of([(np.ones(2_000), np.full(2_000, 0.3)), (np.ones(2_000), np.full(2_000, 0.3))])
    assert (watch.shift.value, watch.shift.low, watch.shift.high) == (math.inf, 3.0, math.inf)
    assert math.isnan(tn.Watch().shift.value)


def test_a_label_that_refutes_a_score_is_the_onset():
    watch = watch_of([([0, 1] * 10, [0.5] * 20)] * 5 + [([1, 0], [0.0, 0.4])])
    assert (watch.since, watch.direction) == (6, "1 label contradicts a score of 0 or 1")


def test_damaged_and_foreign_states_are_refused(tmp_path):
    watch = tn.Watch()
    watch.update([0, 1], [0.2, 0.4], position=date(2025, 1, 2))
    text = watch.to_json()
    state = json.loads(text)
    for other, message in (
        (text[:-5], "must be the state of a watch; it is cut short or damaged"),
        ("[]", "must be the state of a watch"),
        (json.dumps({**state, "schema": 1}), "must have format 2; got 1"),
        (text.replace('"alarm":false', '"alarm":true'), "its checksum differs"),
        (json.dumps({**state, "alpha": 0.01}), "its checksum differs"),
    ):
        with pytest.raises(tn.InputError, match=message):
            tn.Watch.from_json(other)
    (tmp_path / "x.json").write_text(text[:-5])
    with pytest.raises(
        tn.InputError, match=r"x.json' must be the state of a watch; it is cut short"
    ):
        tn.Watch.load(tmp_path / "x.json")
    assert watch.position == "2025-01-02"


LAWS = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "rare": lambda rng, n: rng.beta(1, 60, n),
    "very rare": lambda rng, n: rng.beta(0.5, 200, n),
    "confident": lambda rng, n: rng.beta(0.3, 0.3, n),
    "sure": lambda rng, n: rng.beta(20, 1, n),
    "middle": lambda rng, n: rng.beta(30, 30, n),
    "few values": lambda rng, n: rng.choice([0.1, 0.5, 0.7], n),
    "one value": lambda _, n: np.full(n, 0.3),
    "bimodal": lambda rng, n: np.where(
        rng.uniform(size=n) < 0.5, rng.beta(2, 20, n), rng.beta(20, 2, n)
    ),
    "skewed": lambda rng, n: rng.beta(2, 8, n),
    "rounded": lambda rng, n: rng.uniform(size=n).round(1).clip(0.05, 0.95),
    "changing": lambda rng, n: rng.beta(*rng.uniform(0.5, 5, 2), n),
}


def shares_that_ring(draw, streams, looks, alpha):
    """The share of streams whose evidence ever reaches 1/alpha; each stream is a segment of one watch."""
    watch, ever = tn.Watch(), np.zeros(streams, dtype=bool)
    for _ in range(looks):
        y, p, options = draw()
        watch.update(y.ravel(), p.ravel(), by=np.repeat(np.arange(streams), p.shape[1]), **options)
        found = watch.evidence
        ever |= np.array([found[str(i)] for i in range(streams)]) >= 1 / alpha
    return ever.mean()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["rows", "bins"])
@pytest.mark.parametrize("law", LAWS)
def test_calibrated_streams_ring_in_at_most_alpha_over_all_looks(law, form):
    rng, streams = np.random.default_rng(13), 60

    def draw():
        p = np.stack([LAWS[law](rng, 30) for _ in range(streams)])
        y = rng.uniform(size=p.shape) < p
        if form == "bins":  # rows at the mean score of their bin, as sums of bins have them
            code = 5 * np.arange(streams)[:, None] + np.minimum(5 * p, 4).astype(int)
            p = (np.bincount(code.ravel(), p.ravel()) / np.maximum(np.bincount(code.ravel()), 1))[
                code
            ]
        return y, p, {}

    assert shares_that_ring(draw, streams, 150, 0.2) <= 0.2 + 2 * math.sqrt(0.2 * 0.8 / streams)


@pytest.mark.slow
def test_clusters_of_five_ring_in_at_most_alpha():
    rng, streams = np.random.default_rng(14), 60

    def draw():
        p = rng.uniform(0.1, 0.9, (streams, 40))
        y = np.repeat(rng.uniform(size=(streams, 8)), 5, axis=1) < p  # one cause in each cluster
        return y, p, {"cluster": np.arange(8 * streams).repeat(5)}

    assert shares_that_ring(draw, streams, 100, 0.2) <= 0.2 + 2 * math.sqrt(0.2 * 0.8 / streams)


@pytest.mark.slow
def test_few_of_the_listed_segments_are_calibrated():
    # 40 segments, ten of them wrong and some arriving late; the false share at the last look.
    rng, shares, found = np.random.default_rng(15), [], []
    for _ in range(20):
        watch = tn.Watch(alpha=0.2)
        for t in range(25):
            there = np.arange(40) < 20 + t
            code = np.repeat(np.flatnonzero(there), 30)
            p = rng.uniform(size=code.size)
            y = rng.uniform(size=code.size) < expit(logit(p) + 1.0 * (code % 4 == 0))
            watch.update(y, p, by=code.astype(str))
        named = [int(one.segment) for one in watch.alarms if one.segment]
        shares.append(np.mean([code % 4 != 0 for code in named]) if named else 0.0)
        found.append(len(named))
    assert np.mean(shares) <= 0.1 + 2 * np.std(shares) / math.sqrt(20)
    assert np.mean(found) > 5


@pytest.mark.slow
def test_the_forecasts_of_games_ring_when_home_teams_win_less_than_predicted(data_folder):
    games = pl.read_csv(data_folder / "nba_games.csv.gz").sort("date", maintain_order=True)
    home, both = tn.Watch(), tn.Watch()
    rung = {}
    for (day,), some in games.group_by("date", maintain_order=True):
        home.update(some["prob1_outcome"], some["prob1"], position=day)
        # Both teams of a game are one cluster: counting both rows would double the evidence.
        y = np.concatenate([some["prob1_outcome"], some["prob2_outcome"]])
        p = np.concatenate([some["prob1"], some["prob2"]])
        both.update(y, p, cluster=np.tile(np.arange(len(some)), 2), position=day)
        for name, watch in (("home", home), ("both", both)):
            if watch.alarm:
                rung.setdefault(name, (day, watch.direction))
    assert rung["home"] == ("2016-12-01", "events 0.94 × as frequent as predicted")
    assert rung["both"] == ("2017-03-02", "overconfident")  # the shift cancels, the slope stays
    assert home.evidence[""] > 1e19
    assert home.shift.high < 0 < both.shift.high


def test_slopes_turn_about_the_usual_rate():
    rng, centre = np.random.default_rng(16), -2.5
    usual, told = tn.Watch(), tn.Watch(rate=expit(centre))
    for _ in range(6):
        x = rng.normal(centre, 1, 3_000)
        y = rng.uniform(size=x.size) < expit(centre + 0.8 * (x - centre))
        for watch in (usual, told):
            watch.update(y, expit(x))
    assert (told.alarm, told.direction) == (True, "overconfident")
    assert told.evidence[""] > 100 * usual.evidence[""]
    grid = [(d + centre * (1 - s), s) for d, s in GRID]
    looks = list(stream(rng, 2, 9))
    assert watch_of(looks, rate=expit(centre)).evidence[""] == pytest.approx(
        slow_evidence(looks, grid), rel=1e-10
    )
    assert tn.Watch.from_json(told.to_json()).rate == told.rate


MIXED = [
    (np.array([1, 2]), np.array(["1", "2"])),
    (np.array(["1", "2"]), np.array([1, 2])),
    (np.array([True, False]), np.array(["True", "False"])),
    ([None, "b"], ["(missing)", "b"]),
    ({"a": ["1", "1"], "b": [1, 2]}, {"a": ["1", "1"], "b": ["1", "2"]}),
]


@pytest.mark.parametrize(("before", "after"), MIXED)
def test_a_segment_named_by_a_number_is_not_one_named_by_text(before, after):
    watch = tn.Watch()
    watch.update([0, 1], [0.3, 0.6], by=before)
    state = watch.to_json()
    evidence = watch.evidence
    for _ in range(2):  # also of a watch that was stored
        if (
            isinstance(after, list) and after[0] == "(missing)"
        ):  # quoted beside a missing value, in every look
            watch.update([0, 1], [0.3, 0.6], by=after)
            assert "'(missing)'" in watch.evidence
        else:
            with pytest.raises(
                tn.InputError,
                match="`by` must name a segment by values of one type at all looks: 1 and '1'",
            ):
                watch.update([0, 1], [0.3, 0.6], by=after)
            assert (watch.to_json(), watch.evidence) == (state, evidence)
        watch.update([0, 1], [0.3, 0.6], by=before)
        watch = tn.Watch.from_json(state)


def test_sums_of_segments_named_by_text_and_by_numbers_are_not_mixed():
    one, watch = tn.tally([0, 1], [0.3, 0.6]), tn.Watch()
    watch.update({1: one, None: one})
    for other in ({"1": one}, {"(missing)": one}):
        with pytest.raises(tn.InputError, match="must name a segment by values of one type"):
            watch.update(other)
    watch.update({2: one, 1: one, None: one})
    assert watch.evidence.keys() == {"", "1", "(missing)", "2"}
    watch = tn.Watch()
    watch.update({"1": one}, position="A")
    frame = pl.DataFrame({"y": [0, 1], "p": [0.3, 0.6], "g": [1, 2], "day": ["a", "b"]})
    with pytest.raises(tn.InputError, match="must name a segment by values of one type"):
        watch.update(tn.scan_groups(frame, by=["day", "g"], label="y", prob="p"), time="day")
    assert watch.position == "A"


def test_segments_that_were_named_before_any_look_may_be_of_either_type():
    for by in ([1, 2], ["1", "2"]):
        watch = tn.Watch(segments=["1", "2"])
        watch.update([0, 1], [0.3, 0.6], by=by)
        assert watch.evidence.keys() == {"", "1", "2"}


def test_the_history_counts_rows_as_the_watch_does():
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 5, 300)
    time = rng.exponential(10, 300)
    censored = rng.exponential(15, 300)
    for horizon in (3, 5, 8):
        events = tn.events.at_horizon(
            np.minimum(time, censored), time <= censored, risk, horizon=horizon
        )
        watch = tn.Watch()
        watch.update(events)
        assert watch.history[""].n.tolist() == [watch.watched[0].n] == [300]


def test_a_watch_in_short_has_its_looks_rows_and_segments():
    watch = tn.Watch()
    assert repr(watch) == "Watch(0 looks, 0 rows, 0 segments)"
    watch.update([0, 1, 1], [0.2, 0.3, 0.9])
    watch.update([0, 1], [0.2, 0.3])
    assert repr(watch) == "Watch(2 looks, 5 rows, 0 segments)"
    parted = tn.Watch()
    parted.update([0, 1, 1], [0.2, 0.3, 0.9], by=["a", "b", "a"])
    assert repr(parted) == "Watch(1 looks, 3 rows, 2 segments)"


@pytest.mark.parametrize(("label", "score"), [(0, 0.99), (1, 0.01)])
def test_a_shift_beyond_every_candidate_is_infinite_and_its_limit_is_the_last(label, score):
    watch = tn.Watch()
    watch.update(np.full(3_000, label), np.full(3_000, score))
    side = 1 if label else -1
    nearer, farther = sorted([watch.shift.low, watch.shift.high], key=abs)
    assert watch.shift.value == side * math.inf
    assert (nearer, farther) == (side * 3.0, side * math.inf)
