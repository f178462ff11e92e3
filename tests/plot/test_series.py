"""The picture of a series draws its numbers."""

import numpy as np
import pytest

import trueness as tn


def test_days_their_floor_and_the_change_are_drawn():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=1_200)
    day = np.repeat(np.arange(6), 200)
    y = rng.uniform(size=1_200) < np.where(day < 3, p, 1 - p)
    sums = {f"d{i}": tn.tally(y[day == i], p[day == i]) for i in range(6)}
    display = tn.plot.SeriesDisplay.from_predictions(
        sums, seed=0, resamples=99, progress=False
    ).plot()
    series = display.series
    assert display.line_.get_ydata() == pytest.approx(series.floor)
    drawn = np.concatenate([c.lines[0].get_ydata() for c in display.ax_.containers])
    assert sorted(drawn) == pytest.approx(sorted(series.ece))
    assert series.change.start == 3
    assert "change" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    rows = tn.calibration_series(
        y, p, by=np.char.add("d", day.astype(str)), seed=0, resamples=99, progress=False
    )
    assert (rows.name, rows.ece.tolist()) == (series.name, series.ece.tolist())
    with pytest.raises(tn.InputError, match="`by` must be given beside labels"):
        tn.calibration_series(y, p)
    with pytest.raises(
        tn.InputError,
        match="`by` must be one column with the day of each row; it has many fractions",
    ):
        tn.calibration_series(y, p, by=p)
