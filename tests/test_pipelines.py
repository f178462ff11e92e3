"""The how-to pages for Airflow, Dagster and dbt: their code runs, with stand-ins for the services."""

import re
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import trueness as tn

PAGES = Path(__file__).parents[1] / "docs" / "howto"


def blocks(page, language):
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def rows_of(day, n=300, factor=1.0):
    rng = np.random.default_rng(day)
    p = rng.uniform(0.1, 0.6, n).round(4)
    return pl.DataFrame(
        {
            "day": [f"2025-03-{day:02}"] * n,
            "country": rng.choice(["FR", "US"], n),
            "app": rng.choice(["web", "phone"], n),
            "churned": (rng.uniform(size=n) < factor * p).astype(int),
            "score": p,
        }
    )


def decorator(*given, **options):
    """A decorator that leaves a function as it is, with or without arguments."""
    if given and callable(given[0]):
        return given[0]
    return lambda function: function


@pytest.fixture
def modules(monkeypatch, tmp_path):
    """Put modules of names where imports look for them, and go to an empty folder."""
    monkeypatch.chdir(tmp_path)

    def add(name, **names):
        module = types.ModuleType(name)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, name, module)

    return add


def write_lake(days, key):
    for day in days:
        folder = Path("lake") / f"{key}={day['day'][-1]}"
        folder.mkdir(parents=True)
        written = day if key == "arrived" else day.drop(key)
        written.write_parquet(folder / "part-0.parquet")


def test_the_page_on_airflow(modules):
    class FailError(Exception):
        pass

    ran = []
    modules("airflow")
    modules(
        "airflow.decorators", task=decorator, dag=lambda **_: lambda dag: lambda: ran.append(dag)
    )
    modules("airflow.exceptions", AirflowFailException=FailError)
    names = {}
    exec(blocks("airflow.md", "python")[0], names)
    assert len(ran) == 1
    first = rows_of(1)
    late = first.head(5)
    days = [first.tail(295), pl.concat([late, rows_of(2)])]
    write_lake(days, "arrived")
    Path("state").mkdir()
    assert names["watch"]("2025-03-01")["rows"] == 295
    result = names["watch"]("2025-03-02")
    assert result["rows"] == 600
    assert result["notes"] == ["5 rows of 2025-03-01 came late and are counted now."]
    names["alarm"](result)
    with pytest.warns(tn.TruenessWarning, match="305 rows"):  # a retry
        assert names["watch"]("2025-03-02")["rows"] == 600
    with pytest.raises(FailError, match="drifted"):
        names["alarm"]({"alarm": True})
    Path("calibration.toml").write_text("max_l2 = 0.2\n")
    first.write_parquet("candidate.parquet")
    assert names["release"]("candidate.parquet").startswith("Passed.")
    rows_of(3, 2000, 0.3).write_parquet("candidate.parquet")
    with pytest.raises(FailError, match=r"Failed\. The typical error is at least"):
        names["release"]("candidate.parquet")


def test_the_page_on_dagster(modules):
    modules(
        "dagster",
        asset=decorator,
        asset_check=decorator,
        DailyPartitionsDefinition=SimpleNamespace,
        AssetCheckResult=SimpleNamespace,
        MetadataValue=SimpleNamespace(text=str, int=int),
    )
    names = {}
    exec(blocks("dagster.md", "python")[0], names)
    write_lake([rows_of(day, factor=1.4 if day > 5 else 1) for day in range(1, 9)], "day")
    for day in range(1, 6):
        names["calibration_sums"](SimpleNamespace(partition_key=f"2025-03-{day:02}"))
    check = names["still_calibrated"]()
    assert (check.passed, check.metadata["rows"]) == (True, 1500)
    assert names["good_enough"]().passed
    for day in (5, 6, 7, 8):  # one of them again
        names["calibration_sums"](SimpleNamespace(partition_key=f"2025-03-{day:02}"))
    check = names["still_calibrated"]()
    assert (check.passed, check.metadata["rows"]) == (False, 2400)
    assert "all rows" in check.metadata["in alarm"]


def test_the_page_on_dbt(modules):
    duckdb = pytest.importorskip("duckdb")
    jinja2 = pytest.importorskip("jinja2")
    macro_script, gate_model = blocks("dbt.md", "python")
    model, check = blocks("dbt.md", r"sql\+jinja")
    rows = pl.concat([rows_of(day, 1000) for day in (1, 2)])
    calibrator = tn.PlattScaling().fit(rows["score"].to_numpy(), rows["churned"].to_numpy())
    calibrator.save("map.json")
    exec(macro_script, {})
    session = duckdb.connect()
    session.execute("SET threads = 1")
    session.register("arrow_rows", rows.to_arrow())
    session.execute("create table predictions as select * from arrow_rows")
    environment = jinja2.Environment()
    macros = environment.from_string(Path("macros/calibrated.sql").read_text()).module

    def render(text):
        return environment.from_string(text).render(
            ref=lambda name: name, calibrated=macros.calibrated
        )

    session.execute(f"create table scored as {render(model)}")
    scored = session.execute("select score, calibrated from scored limit 50").fetchnumpy()
    np.testing.assert_allclose(scored["calibrated"], calibrator.predict(scored["score"]), rtol=1e-9)
    names = {}
    exec(gate_model, names)
    dbt = SimpleNamespace(config=lambda **_: None, ref=session.table)
    findings = names["model"](dbt, session)
    session.register("findings", pl.DataFrame(findings.to_dict("list")).to_arrow())
    session.execute("create table calibration_gate as select * from findings")
    assert session.execute("select count(*) from calibration_gate").fetchone() == (2,)
    assert session.execute(render(check)).fetchall() == []
