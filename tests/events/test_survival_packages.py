"""Risks by a horizon beside lifelines and scikit-survival, on the data of docs/howto/five-year-risk.md.

Both are optional: the tests are skipped where they are not installed (lifelines 0.30.3, scikit-survival 0.28.0).
"""

import re
from pathlib import Path

import numpy as np
import pytest

import trueness as tn

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "five-year-risk.md"


@pytest.fixture(scope="module")
def patients():
    datasets = pytest.importorskip("lifelines.datasets")
    return datasets.load_gbsg2()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("horizon", [365, 1000, 1825])
def test_the_weighted_event_rate_is_that_of_lifelines_and_scikit_survival(patients, horizon):
    import lifelines

    time, event = patients["time"].to_numpy(float), patients["cens"].to_numpy(int)
    events = tn.events.at_horizon(
        time, event, np.full(time.size, 0.3), horizon=horizon, strata=None
    )
    rate = (events.weight * events.event).mean()
    curve = lifelines.KaplanMeierFitter().fit(time, event)
    assert rate == pytest.approx(1 - curve.predict(horizon), abs=1e-10)
    estimator = pytest.importorskip("sksurv.nonparametric").kaplan_meier_estimator
    times, stays = estimator(event.astype(bool), time)
    assert rate == pytest.approx(1 - stays[times <= horizon][-1], abs=1e-10)


@pytest.mark.filterwarnings("ignore")
def test_the_page_shows_what_its_code_prints(patients):
    pytest.importorskip("lifelines")
    text = PAGE.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    shown = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    printed: list[str] = []
    exec(code, {"print": lambda *words: printed.append(" ".join(map(str, words)))})
    assert [" ".join(one.split()) for one in printed] == [" ".join(one.split()) for one in shown]
