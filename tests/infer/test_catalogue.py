"""The catalogue of measures is what the pages say."""

import math
from pathlib import Path

import numpy as np
import pytest

import trueness as tn

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
OTHER_NAMES = {
    *("calibration_slope", "calibration_intercept"),
    *("brier_miscalibration", "brier_discrimination", "brier_uncertainty"),
}


def page_line(key):
    """A measure in the table of docs/reference/measures.md."""
    p = np.linspace(0.05, 0.95, 40)
    y = (np.arange(40) * 7 % 40 < 40 * p).astype(int)
    rows = (y, np.column_stack([1 - p, p])) if key == "accuracy" else (y, p)
    one = tn.estimate(key, *rows, seed=0)
    calibrated = (
        f"{one.ideal:g}"
        if math.isfinite(one.ideal)
        else "noise floor"
        if math.isfinite(one.floor)
        else ""
    )
    definition = one.definition.replace("|", "\\|")
    return f"| {one.measure} | `{key}` | {definition} | {calibrated} | {'yes' if one.bounded else 'no'} |"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_page_of_measures_has_a_line_for_each():
    with pytest.raises(tn.InputError) as refused:
        tn.estimate("nothing", [0, 1], [0.2, 0.7])
    keys = set(refused.value.demand.removeprefix("must be one of ").split(", ")) - OTHER_NAMES
    text = (REFERENCE / "measures.md").read_text(encoding="utf-8").partition("## Gaps")[0]
    expected = {page_line(key) for key in keys}
    missing = expected - set(text.splitlines())
    assert not missing, "\n".join(["Lines for docs/reference/measures.md:", *missing])
    assert len(expected) == text.count("\n| ") - 1
