"""The forest of segments, by the data of its artists."""

import numpy as np
import pytest

import trueness as tn
from trueness.plot import SegmentsDisplay


def test_every_segment_has_its_gap_and_limits_and_flagged_ones_a_colour():
    rng = np.random.default_rng(0)
    p, by = rng.uniform(0.2, 0.6, 600), np.repeat(["a", "b", "c"], 200)
    y = rng.random(600) < np.where(by == "c", p + 0.35, p)
    drawn = SegmentsDisplay.from_predictions(y, p, by={"place": by}, resamples=99, seed=0).plot()
    found = drawn.segments
    assert found.flagged.tolist() == [True, False, False]
    for segment, low, high in zip(
        drawn.line_.get_segments(), found.gap_low, found.gap_high, strict=True
    ):
        assert segment[:, 0].tolist() == [low, high]
    assert drawn.ax_.get_yticklabels()[0].get_text() == "place = c"
    marks = drawn.ax_.collections[1]
    assert marks.get_offsets()[:, 0].tolist() == found.gap.tolist()
    assert drawn.line_.get_colors()[0].tolist() != drawn.line_.get_colors()[1].tolist()
    assert drawn.ax_.lines[-1].get_xdata()[0] == pytest.approx(np.mean(y - p))  # all rows
    assert (
        drawn.ax_.texts[0].get_text()
        == f"{found.gap[0]:+.3f}  [{found.gap_low[0]:+.3f}, {found.gap_high[0]:+.3f}]"
    )
    assert drawn.ax_.get_xlabel() == "event rate − mean score, 95 % limits for all together"
    few = SegmentsDisplay(found).plot(most=2, numbers=False)
    assert (len(few.line_.get_segments()), len(few.ax_.texts)) == (2, 0)
    with pytest.raises(tn.InputError, match="`most` must be a whole number"):
        few.plot(most=0)


@pytest.mark.slow
def test_slices_that_share_their_rows_are_drawn_once():
    rng = np.random.default_rng(0)
    p, place, kind = (
        rng.uniform(0.2, 0.6, 900),
        np.repeat(["$a$", "b", "c"], 300),
        np.tile(["x", "y"], 450),
    )
    y = rng.random(900) < np.where(place == "c", p + 0.35, p)
    drawn = SegmentsDisplay.from_slices(
        y, p, columns={"place": place, "kind": kind}, resamples=99, seed=0
    ).plot()
    assert drawn.segments.flagged.sum() > 1
    assert [one.get_text() for one in drawn.ax_.get_yticklabels()] == ["place = c"]
    assert drawn.ax_.lines[-1].get_xdata()[0] == pytest.approx(np.mean(y - p))
