"""Every line of docs/howto/from-other-libraries.md is true, for each library that is installed."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "howto" / "from-other-libraries.md").read_text(encoding="utf-8")
NEEDS = {
    "scikit-learn": "sklearn",
    "torchmetrics": "torchmetrics",
    "netcal": "netcal",
    "uncertainty-calibration": "calibration",
    "relplot": "relplot",
}


def code(text):
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


@pytest.mark.filterwarnings("ignore")  # those of the other libraries
@pytest.mark.parametrize("library", NEEDS)
def test_our_call_reproduces_theirs(library):
    pytest.importorskip(NEEDS[library], reason=f"{library} is not installed")
    intro, *sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    section = next(text for text in sections if text.startswith(f"{library}\n"))
    names = {}
    exec(code(intro) + code(section), names)  # the code of our own page
    lines = re.findall(r"^\| `([^|]+)` \| `([^|]+)` \| (\S+) \|$", section, re.MULTILINE)
    assert len(lines) >= 2
    for theirs, ours, tolerance in lines:
        difference = np.max(np.abs(np.asarray(eval(theirs, names)) - np.asarray(eval(ours, names))))
        assert difference <= float(tolerance), (theirs, ours, difference)
