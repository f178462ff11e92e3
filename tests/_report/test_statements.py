"""The report on intervals and quantiles: its first screen, and what it calls the event."""

import numpy as np
import pytest

import trueness as tn
from trueness._text.numbers import percent

LEVELS = np.array([0.1, 0.5, 0.9])
Z = np.array([-1.2816, 0.0, 1.2816])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    return x, x + rng.normal(size=600)


def test_the_first_screen_says_how_often_intervals_cover(rows):
    x, y = rows
    events = tn.events.interval(y, x - 1.2, x + 1.2, coverage=0.9)
    report = tn.report(events, intervals=False)
    model = report.to_dict()["models"][0]
    assert report.verdict.startswith("The 90 % intervals cover ")
    assert model["answers"]["how_far"]["phrase"].endswith("inside, where 90 % is stated")
    assert "Interval score" in model["answers"]["cost"]["phrase"]
    assert "IntervalCalibration" in model["answers"]["action"]["phrase"]
    assert "event: outcome inside" in report.to_text()
    assert "outcome inside" in report.page()


def test_the_picture_of_quantiles_has_a_point_for_each_level(rows):
    x, y = rows
    events = tn.events.quantiles(y, x[:, None] + 0.7 * Z, levels=LEVELS)
    model = tn.report(events, intervals=False).to_dict()["models"][0]
    assert model["bins"]["score"] == pytest.approx(LEVELS)
    assert "times as far as stated" in model["answers"]["how_far"]["detail"]
    assert "quantile" in model["answers"]["where"]["detail"]


def _first_picture(events, **options):
    page = tn.report(events, intervals=False, **options).page()
    return page[page.index('<figure class="overview">') : page.index('<div class="answers">')]


def test_the_first_picture_of_intervals_is_their_coverage(rows):
    x, y = rows
    events = tn.events.interval(y, x - 1.2, x + 1.2, coverage=0.9)
    covered = tn.assess(events).coverage
    picture = _first_picture(events)
    numbers = [percent(float(share[0])) for share in (covered.value, covered.low, covered.high)]
    assert "stated 90 %, observed {} ({} to {})".format(*numbers) in picture
    assert picture.count('class="point"') == 1
    assert "stated coverage" in picture
    assert "share of outcomes inside" in picture
    assert "95 % limits (exact binomial)" in picture


def test_intervals_of_several_coverages_keep_a_point_for_each(rows):
    x, y = rows
    stated = np.where(np.arange(600) % 2, 0.5, 0.9)
    wide = np.where(stated > 0.6, 1.64, 0.67)
    picture = _first_picture(tn.events.interval(y, x - wide, x + wide, coverage=stated))
    assert 'class="chart reliability"' in picture
    assert picture.count('class="point"') == 2


def test_the_first_picture_of_quantiles_has_their_coverage_and_the_histogram_of_levels(rows):
    x, y = rows
    events = tn.events.quantiles(y, x[:, None] + 0.7 * Z, levels=LEVELS)
    covered = tn.assess(events).coverage
    histogram = tn.plot.LevelHistogramDisplay.from_events(events).histogram
    picture = _first_picture(events)
    for stated, value in zip(covered.stated, covered.value, strict=True):
        assert f"stated {percent(stated)}, observed {percent(value)} (" in picture
    assert picture.count('class="point"') == 3
    assert picture.count('class="bar"') == 4
    for density, low, high in zip(histogram.density, histogram.low, histogram.high, strict=True):
        chance = f"(by chance {low:.2f} to {high:.2f})"
        assert f"{density:.2f} times the stated share {chance}" in picture
    assert "end inside the grey band 95 % of the time" in picture


def test_the_histogram_of_levels_has_no_limits_for_dependent_rows(rows):
    x, y = rows
    events = tn.events.quantiles(
        y, x[:, None] + 0.7 * Z, levels=LEVELS, cluster=np.arange(600) // 4
    )
    picture = _first_picture(events)
    assert picture.count('class="bar"') == 4
    assert 'class="band"' not in picture
    assert "without limits since rows may depend on each other" in picture


def test_many_levels_have_a_band_instead_of_bars(rows):
    from scipy.stats import norm

    x, y = rows
    levels = np.arange(1, 20) / 20
    events = tn.events.quantiles(y, x[:, None] + norm.ppf(levels), levels=levels)
    picture = _first_picture(events)
    assert picture.count('class="confidence"') == 1
    assert 'class="error"' not in picture


@pytest.mark.slow
def test_pages_on_intervals_and_quantiles_have_only_what_fits_them(rows):
    x, y = rows
    intervals = tn.events.interval(y, x - 1.2, x + 1.2, coverage=0.9)
    quantiles = tn.events.quantiles(y, x[:, None] + 0.7 * Z, levels=LEVELS)
    region = {"region": np.arange(600) % 2}
    for events, has_event in ((intervals, True), (quantiles, False)):
        report = tn.report(events, by=region, progress=False)
        covered = tn.assess(events).coverage
        for text in (report.to_text(), report.page()):
            for word in ("AUC", "Slope", "Prevalence", "TCE 1", "MCE:", "Emax", "TRIPOD"):
                assert word not in text
            assert "Stated and observed shares" in text
            assert f"{percent(covered.low[0])} to {percent(covered.high[0])}" in text
        assert ("event: outcome" in report.to_text()) == has_event
    assert "· 600 outcomes with quantiles at 3 levels ·" in report.to_text()
    assert "600 outcomes with quantiles at 3 levels: 1,800 rows" in report.page()
    assert "so each outcome is a cluster" in report.page()


def test_two_kinds_of_intervals_are_compared_without_measures_of_scores(rows):
    x, y = rows
    narrow, wide = (tn.events.interval(y, x - half, x + half, coverage=0.9) for half in (1.2, 1.64))
    models = {"narrow": tn.assess(narrow), "wide": tn.assess(wide)}
    table = tn.report(models, intervals=False, progress=False).to_markdown().partition("| Model")[2]
    head = table.split("\n")[0]
    assert "Typical error" in head
    assert "Slope" not in head
    assert "Brier" not in head


@pytest.mark.slow
def test_a_report_on_a_horizon_says_how_many_rows_were_censored():
    rng = np.random.default_rng(1)
    risk = rng.beta(2, 5, 600)
    time, censored = rng.exponential(5 / risk), rng.exponential(12, 600)
    rows = np.minimum(time, censored), (time <= censored).astype(int), risk
    events = tn.events.at_horizon(*rows, horizon=5)
    lost = events.left_out["censored before the horizon"]
    text = tn.report(events, intervals=False).to_text()
    assert f"{lost} of 600 rows were censored before 5" in text
