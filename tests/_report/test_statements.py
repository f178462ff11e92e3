"""The report on intervals and quantiles: its first screen, and what it calls the event."""

import numpy as np
import pytest

import trueness as tn

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


def test_a_report_on_a_horizon_says_how_many_rows_were_censored():
    rng = np.random.default_rng(1)
    risk = rng.beta(2, 5, 600)
    time, censored = rng.exponential(5 / risk), rng.exponential(12, 600)
    rows = np.minimum(time, censored), (time <= censored).astype(int), risk
    events = tn.events.at_horizon(*rows, horizon=5)
    lost = events.left_out["censored before the horizon"]
    text = tn.report(events, intervals=False).to_text()
    assert f"{lost} of 600 rows were censored before 5" in text
