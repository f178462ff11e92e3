"""Decision curves and curves of risk against coverage, by the data of their artists."""

import numpy as np
import pytest
from awkward_rows import usual

import trueness as tn
from trueness.plot import NetBenefitDisplay, RiskCoverageDisplay


def test_a_decision_curve_has_two_bands_and_both_trivial_rules():
    y, p = usual()
    found = tn.net_benefit(y, p)
    drawn = NetBenefitDisplay.from_predictions(y, p).plot()
    assert drawn.found == found
    assert drawn.line_.get_ydata().tolist() == found.value.tolist()
    assert drawn.lines_[1].get_ydata().tolist() == found.treat_all.tolist()
    assert set(drawn.lines_[2].get_ydata()) == {0}
    _, simultaneous, single = drawn.ax_.collections
    assert [band.get_alpha() for band in drawn.ax_.collections] == [0.17, 0.17, 0.31]
    assert (
        simultaneous.get_paths()[0].vertices[:, 1].min()
        >= found.high[np.isfinite(found.band_low)].min() - 1e-12
    )
    known = np.isfinite(found.band_low)
    tops = [band.get_paths()[0].vertices[:, 1].max() for band in (simultaneous, single)]
    assert tops == pytest.approx([found.band_high[known].max(), found.high.max()])
    assert [text.get_text() for text in drawn.figure_.legends[0].get_texts()] == [
        "decisions by the score",
        "treat all",
        "treat none",
    ]
    low, high = drawn.ax_.get_ylim()
    assert low < 0 < found.value.max() < high


def test_models_have_lines_and_names_of_their_own():
    y, p = usual()
    drawn = NetBenefitDisplay.from_predictions(y, {"a": p, "b": p**2}, thresholds=[0.2, 0.4]).plot()
    assert len(drawn.lines_) == 4
    assert len(drawn.ax_.collections) == 2
    both = RiskCoverageDisplay.from_predictions(y, {"a": p, "b": p**2}).plot()
    texts = [text.get_text() for text in both.figure_.legends[0].get_texts()]
    area = both.found.aurc["b"]
    assert texts[1] == f"b: AURC {area.value:.3f} ({area.low:.3f} to {area.high:.3f}, 95 %)"


def test_events_that_are_too_rare_for_the_thresholds_are_shown_below_zero():
    y, p = np.repeat([0, 1], [990, 10]), np.linspace(0, 0.05, 1_000)[::-1]
    drawn = NetBenefitDisplay.from_predictions(y, p).plot()
    low, high = drawn.ax_.get_ylim()
    assert low < drawn.found.value.min() < 0 < high
    assert drawn.ax_.get_xlim()[1] < 0.2


def test_the_curve_of_risk_starts_with_no_row_and_ends_with_all():
    y, p = usual()
    drawn = RiskCoverageDisplay.from_predictions(y, p).plot()
    x, risk = drawn.line_.get_data()
    assert (x[0], x[-1]) == (0, 1)
    assert risk[1:].tolist() == drawn.found.risk.tolist()
    same = RiskCoverageDisplay(tn.risk_coverage([1, 0, 1, 1], [0.8] * 4, kind="correct")).plot()
    assert same.line_.get_ydata().tolist() == [0.25, 0.25]


def test_an_estimator_gives_its_scores():
    class Known:
        classes_ = (0, 1)

        def predict_proba(self, X):
            return np.column_stack([1 - X, X])

    y, p = usual()
    for display in (NetBenefitDisplay, RiskCoverageDisplay):
        assert display.from_estimator(Known(), p, y).found == display.from_predictions(y, p).found
