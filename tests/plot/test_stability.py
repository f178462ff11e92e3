"""The picture of two score distributions, by the data of its artists."""

import pytest

from trueness.plot import StabilityDisplay


def test_bars_are_the_shares_of_both_samples():
    drawn = StabilityDisplay.from_scores([0.1, 0.2, 0.6], [0.1, 0.7, 0.8, 0.9], bins=2)
    drawn.plot(names=("before", "_after"))
    heights = [[bar.get_height() for bar in bars] for bars in drawn.lines_]
    assert heights == [pytest.approx([2 / 3, 1 / 3]), pytest.approx([1 / 4, 3 / 4])]
    names = [text.get_text() for text in drawn.figure_.legends[0].get_texts()]
    assert names == ["before", "_after"]
    assert [text.get_text() for text in drawn.ax_.get_xticklabels()] == ["[0, 0.5)", "[0.5, 1]"]
