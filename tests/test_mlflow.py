"""The recipe for MLflow works with the real library."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "mlflow.md"


@pytest.mark.filterwarnings("ignore")  # those of MLflow and its libraries
def test_the_recipe_runs_and_the_metrics_are_those_of_trueness(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("calibration", artifact_location=tmp_path.as_uri()))
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(block, names)  # the code of our own page
    error, result = names["error"], names["result"]
    assert result.metrics == {"ece/value": error.value, "ece/low": error.low, "ece/high": error.high}
    logged = mlflow.get_run(names["run"].info.run_id).data.metrics
    assert (logged["ece"], logged["ece_low"]) == (error.value, error.low)
    assert (tmp_path / names["run"].info.run_id / "artifacts" / "calibration.html").stat().st_size > 10_000
