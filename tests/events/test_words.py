"""Sentences about intervals, quantiles and risks name what was stated."""

import numpy as np
import pytest

import trueness as tn

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
Z = np.array([-1.6449, -0.6745, 0.0, 0.6745, 1.6449])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1200)
    return x, x + rng.normal(size=1200), rng.choice(["north", "south", "east"], 1200)


def interval(rows, half, **options):
    x, y, _ = rows
    return tn.events.interval(y, x - half, x + half, coverage=0.9, **options)


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (1.2, "too narrow, by a factor of about 1.5."),
        (2.2, "too wide, by a factor of about 1.4."),
        (1.645, "1,200 rows are too few to tell whether they are too narrow or too wide."),
    ],
)
def test_the_verdict_on_intervals_says_how_often_they_cover(rows, half, words):
    found = tn.verdict(interval(rows, half))
    assert found.headline.startswith("The 90 % intervals cover ")
    assert found.headline.endswith(words)
    assert "prediction" not in str(found)


def test_the_verdict_on_intervals_names_the_segment_that_is_worst(rows):
    x, y, region = rows
    half = np.where(region == "north", 0.9, 1.645)
    found = tn.verdict(tn.events.interval(y, x - half, x + half), by={"region": region})
    assert "above all for region = north" in found.headline
    assert "predicted" not in str(found)


@pytest.mark.parametrize(
    ("shift", "scale", "words"),
    [
        (0.0, 0.75, "are too narrow, by a factor of about 1.4."),
        (0.0, 1.4, "are too wide, by a factor of about 1.4."),
        (-0.3, 1.0, "are too low."),
        (0.3, 1.0, "are too high."),
        (0.5, 0.7, "are too high and too narrow, by a factor of about 1."),
        (0.0, 1.0, "No sign that the quantiles at 5 levels"),
    ],
)
def test_the_verdict_on_quantiles_names_spread_and_location(rows, shift, scale, words):
    x, y, _ = rows
    found = tn.verdict(tn.events.quantiles(y, x[:, None] + shift + scale * Z, levels=LEVELS))
    assert words in found.headline


def test_findings_about_segments_and_slices_have_the_words_of_the_kind(rows):
    x, _y, region = rows
    events = interval(rows, 1.1)
    segments = tn.segments(events, by={"region": region})
    assert set(segments.finding) <= {"too narrow", ""}
    slices = tn.worst_slices(events, columns={"region": region, "x": x})
    assert set(slices.finding) <= {"too narrow", ""}


def test_the_advice_on_intervals_is_to_adjust_them(rows):
    advice = tn.assess(interval(rows, 1.1)).advice
    assert advice.kind == "adjust"
    assert "IntervalCalibration" in str(advice)
    assert tn.assess(interval(rows, 1.645)).advice.kind == "collect"


def test_an_assessment_of_intervals_speaks_of_no_scores(rows):
    text = str(tn.assess(interval(rows, 1.1), by={"region": rows[2]}))
    for word in ("predictions", "over-predicted", "under-predicted", "too high", "scores"):
        assert word not in text


def test_a_risk_is_named_with_its_horizon_and_the_censored_rows_are_counted():
    rng = np.random.default_rng(1)
    risk = rng.beta(2, 5, 1000)
    time = -np.log(rng.random(1000)) / -np.log1p(-risk) * 5
    censoring = rng.exponential(12, 1000)
    rows = np.minimum(time, censoring), (time <= censoring).astype(int)
    found = tn.verdict(tn.events.at_horizon(*rows, np.minimum(1, 1.6 * risk), horizon=5))
    lost = found.statement.left_out["censored before the horizon"]
    assert "predictions of the risk within 5 are" in found.headline
    assert "too high on average" in found.headline
    assert f"of 1,000 rows, {lost} were censored before the horizon" in found.certainty


def test_a_single_stated_probability_is_no_reason_for_doubt(rows):
    assert tn.verdict(interval(rows, 1.645)).doubt == ""


def test_the_picture_of_intervals_has_the_words_of_intervals(rows, tmp_path):
    tn.report(interval(rows, 1.2), seed=0).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "share of outcomes inside" in page
    assert "how often it happened" not in page


@pytest.mark.parametrize(
    ("scale", "words"),
    [(1.4, "too narrow: outcomes inside 0."), (0.7, "too wide: outcomes inside 1.")],
)
def test_a_watch_of_intervals_says_which_way_they_are_wrong(scale, words):
    rng = np.random.default_rng(0)
    watch = tn.Watch()
    for _ in range(20):
        y = scale * rng.normal(size=100)
        watch.update(tn.events.interval(y, np.full(100, -1.28), np.full(100, 1.28), coverage=0.8))
    assert watch.alarm
    assert watch.direction.startswith(words)
    assert watch.watched[0].direction == tn.Watch.from_json(watch.to_json()).direction
    labels = tn.Watch()  # what is no event of one kind has the words of labels
    labels.update(np.tile([0, 0, 0, 0, 1], 40), np.full(200, 0.5))
    labels.update(tn.events.interval(y, np.full(100, -1.28), np.full(100, 1.28), coverage=0.8))
    assert "inside" not in labels.direction


@pytest.mark.parametrize(
    ("scale", "move", "words"),
    [(1.5, 0, "too narrow"), (0.6, 0, "too wide"), (1, 0.5, "too low"), (1, -0.5, "too high")],
)
def test_a_watch_of_quantiles_says_which_way_they_are_wrong(scale, move, words):
    rng = np.random.default_rng(0)
    watch = tn.Watch()
    for _ in range(10):
        y = move + scale * rng.normal(size=100)
        q = np.tile([-1.2816, 0.0, 1.2816], (100, 1))
        watch.update(tn.events.quantiles(y, q, levels=[0.1, 0.5, 0.9]))
    assert watch.alarm
    assert watch.direction == words
