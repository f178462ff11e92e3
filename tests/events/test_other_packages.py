"""Beside lifelines, scikit-survival and MAPIE, partly on the data of docs/howto/five-year-risk.md.

They are optional: tests are skipped where they are not installed (lifelines 0.30.3, scikit-survival 0.28.0, MAPIE
1.6.0).
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


def test_coverage_and_interval_score_are_those_of_mapie():
    metrics = pytest.importorskip("mapie.metrics.regression")  # MAPIE 1.6.0
    y = np.random.default_rng(0).normal(size=500)
    lower, upper = np.full(500, -1.3), np.full(500, 1.2)
    events = tn.events.interval(y, lower, upper, coverage=0.8)
    both = np.stack([lower, upper], axis=1)[:, :, np.newaxis]
    assert metrics.regression_coverage_score(y, both)[0] == events.event.mean()
    score = metrics.regression_mwi_score(y, both, confidence_level=0.8)
    assert events.interval_score == pytest.approx(score, rel=1e-12)
