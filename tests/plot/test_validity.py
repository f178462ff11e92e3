"""Validity curves, by the data of their artists."""

from types import SimpleNamespace

import numpy as np
import pytest
from awkward_rows import usual

import trueness as tn
from trueness import recalibrate
from trueness.plot import ValidityDisplay

CURVE = SimpleNamespace(jumps=np.array([0.01, 0.03, 0.2]), share=np.array([0.5, 0.9, 1.0]))
RUNS = SimpleNamespace(
    jumps=np.array([0.01, 0.1]),
    mean=np.array([0.4, 1.0]),
    error=np.array([0.05, 0.0]),
    conditional=SimpleNamespace(jumps=np.array([0.1]), mean=np.array([1.0]), error=np.array([0.0])),
)
known = pytest.mark.skipif(not hasattr(recalibrate, "validity_curve"), reason="recalibrate has no validity yet")
planned = pytest.mark.skipif(not hasattr(recalibrate, "epsilon"), reason="recalibrate has no planning yet")


def test_a_curve_is_a_step_from_zero_and_its_level_is_read_off():
    drawn = ValidityDisplay({"": CURVE}, level=0.9).plot()
    assert drawn.line_.get_drawstyle() == "steps-post"
    assert drawn.line_.get_xdata()[:4].tolist() == [0, 0.01, 0.03, 0.2]
    assert drawn.line_.get_ydata()[:4].tolist() == [0, 0.5, 0.9, 1]
    assert drawn.ax_.texts[0].get_text() == "for 90 % of predictions\nthe miscalibration is at most 0.0300"


def test_means_over_runs_have_bands_and_a_conditional_panel():
    drawn = ValidityDisplay.from_runs({"umd": RUNS, "other": RUNS}).plot()
    assert len(drawn.axes_) == 2
    band = drawn.ax_.collections[0].get_paths()[0].vertices
    assert {0.3, 0.5} <= set(band[:, 1].round(9))
    assert drawn.axes_[1].lines[0].get_ydata().tolist() == [0, 1, 1]
    assert drawn.figure_.legends[0].get_texts()[0].get_text() == "umd: ε = 0.100 at 90 %"


def test_a_level_that_is_never_reached_is_not_read_off():
    low = SimpleNamespace(jumps=np.array([0.1]), mean=np.array([0.5]), error=np.array([np.nan]))
    drawn = ValidityDisplay({"": low}).plot()
    assert not drawn.ax_.texts


def test_theory_is_drawn():
    drawn = ValidityDisplay({"a": CURVE}, theory=([0.05, 0.1], [0.2, 0.9])).plot()
    assert any(line.get_label() == "promised by theorem" for line in drawn.ax_.lines)


@known
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_predictions_give_the_curve_and_its_bounds():
    y, p = usual()
    p = np.round(p, 1)
    found = ValidityDisplay.from_predictions(y, p)
    curve = recalibrate.validity_curve(y, p)
    assert found.curves[""].to_dict() == curve.to_dict()
    drawn = found.plot()
    assert drawn.line_.get_ydata()[1:-1].tolist() == curve.share.tolist()
    assert f"at most {curve.epsilon(0.9):.3f}" in drawn.ax_.texts[0].get_text()
    several = ValidityDisplay.from_predictions(y, {"a": p, "b": p})
    assert not several.bands


@known
@planned
def test_the_theorem_promises_no_more_than_is_seen():
    assert set(ValidityDisplay.from_predictions([0, 1] * 50, [0.5] * 100, promise=(1000, 10)).theory) == {
        "marginal",
        "conditional",
    }
    e, share = ValidityDisplay.from_predictions([0, 1] * 50, [0.5] * 100, promise=(1000, 10)).theory["marginal"]
    at = np.searchsorted(share, 0.9)
    assert e[at] == pytest.approx(recalibrate.epsilon(1000, 10, alpha=1 - share[at], kind="marginal"))


def test_bad_arguments_are_named():
    with pytest.raises(tn.InputError, match="`curves` must hold at least one curve"):
        ValidityDisplay({})
    with pytest.raises(tn.InputError, match="`level` must lie above 0 and be at most 1; got 0"):
        ValidityDisplay({"a": CURVE}, level=0)
