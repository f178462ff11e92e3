"""Validity curves, by the data of their artists."""

from types import SimpleNamespace

import numpy as np
import pytest
from awkward_rows import usual

import trueness as tn
from trueness import recalibrate
from trueness.plot import ValidityDisplay

CURVE = SimpleNamespace(jumps=np.array([0.01, 0.03, 0.2]), share=np.array([0.5, 0.9, 1.0]))


def test_a_curve_is_a_step_from_zero_and_its_level_is_read_off():
    drawn = ValidityDisplay({"": CURVE}, level=0.9).plot()
    assert drawn.line_.get_drawstyle() == "steps-post"
    assert drawn.line_.get_xdata()[:4].tolist() == [0, 0.01, 0.03, 0.2]
    assert drawn.line_.get_ydata()[:4].tolist() == [0, 0.5, 0.9, 1]
    assert (
        drawn.ax_.texts[0].get_text()
        == "for 90 % of predictions\nthe miscalibration is at most 0.0300"
    )


def test_several_methods_have_a_legend_with_their_tolerances():
    drawn = ValidityDisplay({"umd": CURVE, "other": CURVE}).plot()
    assert drawn.figure_.legends[0].get_texts()[0].get_text() == "umd: ε = 0.0300 at 90 %"


def test_a_level_that_is_never_reached_is_not_read_off():
    low = SimpleNamespace(jumps=np.array([0.1]), share=np.array([0.5]))
    drawn = ValidityDisplay({"": low}).plot()
    assert not drawn.ax_.texts


def test_theory_is_drawn():
    drawn = ValidityDisplay({"a": CURVE}, theory=([0.05, 0.1], [0.2, 0.9])).plot()
    assert any(line.get_label() == "promised by theorem" for line in drawn.ax_.lines)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_predictions_give_the_curve():
    y, p = usual()
    p = np.round(p, 1)
    found = ValidityDisplay.from_predictions(y, p)
    curve = recalibrate.validity_curve(y, p)
    assert found.curves[""].to_dict() == curve.to_dict()
    drawn = found.plot()
    assert drawn.line_.get_ydata()[1:-1].tolist() == curve.share.tolist()
    assert f"at most {curve.epsilon(0.9):.3f}" in drawn.ax_.texts[0].get_text()
    assert list(ValidityDisplay.from_predictions(y, {"a": p, "b": p}).curves) == ["a", "b"]


def test_the_theorem_promises_no_more_than_is_seen():
    e, share = ValidityDisplay.from_predictions([0, 1] * 50, [0.5] * 100, promise=(1000, 10)).theory
    at = np.searchsorted(share, 0.9)
    assert e[at] == pytest.approx(
        recalibrate.epsilon(1000, 10, alpha=1 - share[at], kind="marginal")
    )


def test_bad_arguments_are_named():
    with pytest.raises(tn.InputError, match="`curves` must hold at least one curve"):
        ValidityDisplay({})
    with pytest.raises(tn.InputError, match="`level` must lie above 0 and be at most 1; got 0"):
        ValidityDisplay({"a": CURVE}, level=0)
