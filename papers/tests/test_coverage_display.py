"""Coverage, length and power against the error."""

import pytest

import trueness as tn
from trueness_papers.coverage_display import Behaviour, CoverageDisplay

FOUND = [
    Behaviour(method, n, e, 0.9, 0.01 + e, min(1, 20 * e), 1000)
    for method in ("score", "analytic")
    for n in (500, 5000)
    for e in (0, 0.05, 0.02)
]


def test_a_column_per_number_of_rows_and_a_line_per_method():
    drawn = CoverageDisplay(FOUND, title="setting 1").plot()
    assert len(drawn.axes_) == 6
    assert len(drawn.lines_) == 12
    assert drawn.line_.get_xdata().tolist() == [0, 0.02, 0.05]
    assert drawn.axes_[2].get_yscale() == "log"
    assert drawn.axes_[4].lines[0].get_ydata().tolist() == [0, 0.4, 1]
    assert drawn.axes_[1].get_title() == "setting 1, n = 5,000, 1,000 runs"
    assert [t.get_text() for t in drawn.figure_.legends[0].get_texts()] == ["score", "analytic"]


def test_what_a_benchmark_kept_can_be_read():
    rows = [
        {
            "n": 500,
            "truth": 0.0004,
            "runs": 10,
            "found": {"score": {"coverage": 0.9, "length": 0.1, "power": 0.2}},
        }
    ]
    (result,) = CoverageDisplay.from_rows(rows).results
    assert result == Behaviour("score", 500, pytest.approx(0.02), 0.9, 0.1, 0.2, 10)


def test_axes_can_be_given():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(3, 2)
    assert CoverageDisplay(FOUND).plot(ax=axes).axes_ == list(axes.ravel())
    with pytest.raises(tn.InputError, match="`ax` must be 6 axes"):
        CoverageDisplay(FOUND).plot(ax=axes[0])
    with pytest.raises(tn.InputError, match="`results` must hold at least one row"):
        CoverageDisplay([])


@pytest.mark.parametrize("name", ["a $\\frac$ b", "_plain"])
def test_names_are_drawn_as_they_are_written(name):
    from matplotlib.text import Text

    drawn = CoverageDisplay(
        [Behaviour(name, 500, e, 0.9, 0.1, 0.5, 100) for e in (0.0, 0.1)], title=name
    ).plot()
    drawn.figure_.canvas.draw()
    assert [text.get_text() for text in drawn.figure_.legends[0].get_texts()] == [name]
    named = [text for text in drawn.figure_.findobj(Text) if name in text.get_text()]
    assert named
    assert not any(text.get_parse_math() for text in named)
