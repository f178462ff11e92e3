"""Every line of docs/howto/from-other-libraries.md is true, and so is the recipe for MLflow, for what is installed."""

import re
from pathlib import Path

import numpy as np
import pytest

HOW_TO = Path(__file__).parents[1] / "docs" / "howto"
PAGE = (HOW_TO / "from-other-libraries.md").read_text(encoding="utf-8")
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


@pytest.mark.filterwarnings("ignore")  # those of MLflow and its libraries
def test_the_recipe_for_mlflow_runs_and_the_metrics_are_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment(
        experiment_id=mlflow.create_experiment("calibration", artifact_location=tmp_path.as_uri())
    )
    names = {}
    exec(
        code((HOW_TO / "mlflow.md").read_text(encoding="utf-8")), names
    )  # the code of our own page
    error, result = names["error"], names["result"]
    assert result.metrics == {
        "ece/value": error.value,
        "ece/low": error.low,
        "ece/high": error.high,
    }
    logged = mlflow.get_run(names["run"].info.run_id).data.metrics
    assert (logged["ece"], logged["ece_low"]) == (error.value, error.low)
    assert (
        tmp_path / names["run"].info.run_id / "artifacts" / "calibration.html"
    ).stat().st_size > 10_000
