"""Intervals, quantiles and risks by a horizon on the command line are those of the library."""

import csv
import io
import json
import shlex

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn

N = 300
INTERVAL = ["--outcome", "y", "--lower", "lo", "--upper", "hi", "--coverage", "0.8"]
QUANTILES = ["--outcome", "y", "--quantile", "0.9=q90", "--quantile", "0.1=q10"]
HORIZON = ["--prob", "risk", "--followup", "t", "--event", "d", "--horizon", "5"]
QUICK = ["--format", "json", "--no-intervals"]


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    risk = rng.beta(2, 5, N)
    time = -np.log(rng.random(N)) / -np.log1p(-risk) * 5
    censored = rng.exponential(15, N)
    return {
        "y": x + rng.normal(size=N),
        "lo": x - 1.0,
        "hi": x + 1.0,
        "lo2": x - 1.3,
        "hi2": x + 1.3,
        "q10": x - 1.2816,
        "q90": x + 1.2816,
        "risk": risk,
        "t": np.minimum(time, censored),
        "d": (time <= censored).astype(int),
        "region": rng.choice(["north", "south"], N),
        "site": np.arange(N) // 5,
    }


@pytest.fixture
def file(columns, tmp_path):
    write_columns(tmp_path / "x.csv", columns)
    return "x.csv"


def events(columns, typed):
    if typed is INTERVAL:
        return tn.events.interval(columns["y"], columns["lo"], columns["hi"], coverage=0.8)
    if typed is QUANTILES:
        q = np.column_stack([columns["q10"], columns["q90"]])
        return tn.events.quantiles(columns["y"], q, levels=[0.1, 0.9])
    return tn.events.at_horizon(columns["t"], columns["d"], columns["risk"], horizon=5)


def table(result):
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.mark.parametrize("typed", [INTERVAL, QUANTILES, HORIZON], ids=["lo", "q", "t"])
def test_a_test_is_the_librarys(call, file, columns, typed):
    (line,) = table(call("test", file, *typed, "--format", "csv"))
    expected = tn.calibration_test(events(columns, typed))
    assert float(line["pvalue"]) == expected.pvalue
    assert int(line["n"]) == expected.n


def test_the_joint_test_and_clusters_are_those_of_the_library(call, file, columns):
    (line,) = table(call("test", file, *QUANTILES, "--method", "quantiles", "--format", "csv"))
    expected = tn.calibration_test(events(columns, QUANTILES), method="quantiles")
    assert float(line["pvalue"]) == expected.pvalue
    (line,) = table(call("test", file, *INTERVAL, "--cluster", "site", "--format", "csv"))
    expected = tn.calibration_test(events(columns, INTERVAL), cluster=columns["site"])
    assert float(line["pvalue"]) == expected.pvalue


@pytest.mark.parametrize("typed", [INTERVAL, HORIZON], ids=["lo", "t"])
def test_segments_and_a_gate_are_the_librarys(call, file, columns, typed):
    lines = table(call("segments", file, *typed, "--by", "region", "--format", "csv"))
    found = tn.segments(events(columns, typed), by={"region": columns["region"]})
    assert [line["value"] for line in lines] == list(found.value)
    assert [float(line["adjusted_pvalue"]) for line in lines] == list(found.adjusted_pvalue)
    result = call("gate", file, *typed, "--max-ece", "0.01", "--format", "json")
    gate = tn.gate(events(columns, typed), max_ece=0.01)
    assert result.exit_code == int(not gate.passed)


def test_models_of_intervals_are_compared(call, file, columns):
    more = ["--lower", "lo2", "--upper", "hi2"]
    (line,) = table(call("compare", file, *INTERVAL, *more, "--format", "csv"))
    pair = {
        name: tn.events.interval(columns["y"], columns[low], columns[high], coverage=0.8)
        for name, low, high in (("a", "lo", "hi"), ("b", "lo2", "hi2"))
    }
    assert float(line["difference"]) == tn.compare(pair)["a", "b"].difference
    assert line["first"] == "lo to hi"


def test_a_report_says_how_often_intervals_cover(call, file, columns):
    result = call("report", file, *INTERVAL, "--format", "json", "--no-intervals")
    assert result.exit_code == 0, result.stderr
    model = json.loads(result.stdout)["models"][0]
    assert model["name"] == "lo to hi"
    assert model["verdict"]["sentence"].startswith("The 80 % intervals cover ")


def test_a_map_of_risks_is_fitted_with_the_weights_of_censoring(call, file, columns, tmp_path):
    result = call("fit", file, *HORIZON, "--calibrator", "platt-scaling", "-o", "map.json")
    assert result.exit_code == 0, result.stderr
    fitted = tn.load_calibrator(tmp_path / "map.json")
    expected = tn.PlattScaling().fit(events(columns, HORIZON))
    assert fitted.predict([0.2, 0.6]).tolist() == expected.predict([0.2, 0.6]).tolist()


def test_columns_are_found_by_their_usual_names(call, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    write_columns(tmp_path / "u.csv", {"y": y, "lower": y * 0 - 1, "upper": y * 0 + 1})
    (line,) = table(call("test", "u.csv", "--outcome", "y", "--format", "csv"))
    assert line["model"] == "lower to upper"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--outcome", "y", "--lower", "hi", "--upper", "lo"], "column 'hi' must lie at or below"),
        ([*INTERVAL, "--label", "d"], "`--label` is for labels and scores"),
        ([*INTERVAL, "--model-column", "d"], "`--model-column` is for labels and scores"),
        ([*INTERVAL, "--horizon", "5"], "Options of one kind of statement"),
        (["--outcome", "y", "--quantile", "q10"], "must be a level between 0 and 1 and its column"),
        ([*HORIZON[:-1], "900"], "must be at most the longest follow-up"),
        ([*HORIZON[:-2]], "`--horizon` must be given with"),
        ([*INTERVAL, "--lower", "lo2"], "must be given as often as `--upper`"),
        (["--outcome", "nope", "--lower", "lo", "--upper", "hi"], "has no column 'nope'"),
    ],
)
def test_bad_options_are_refused_with_the_reason(call, file, typed, message):
    result = call("test", file, *typed)
    assert result.exit_code == 2
    assert message.lower() in result.stderr.lower()


@pytest.mark.parametrize("command", ["measure", "report"])
def test_a_judge_of_statements_is_refused(call, file, command):
    result = call(command, file, *INTERVAL, "--judge", "d")
    assert result.exit_code == 2
    assert "`--judge` is for labels and scores" in result.stderr


@pytest.mark.parametrize("typed", [INTERVAL, QUANTILES, HORIZON])
def test_a_watch_has_the_evidence_of_the_library(call, file, columns, typed, tmp_path):
    result = call("watch", "w.json", file, *typed, "--by", "region")
    assert result.exit_code in (0, 1), result.stderr
    expected = tn.Watch()
    expected.update(events(columns, typed), by={"region": columns["region"]})
    found = tn.Watch.load(tmp_path / "w.json").evidence
    assert found.keys() == expected.evidence.keys()
    assert list(found.values()) == pytest.approx(list(expected.evidence.values()))
    again = call("watch", "w.json", file)
    assert "counted before" in again.stderr


def test_a_folder_of_risks_by_a_horizon_must_not_hold_sums(call, fails, columns, tmp_path):
    (tmp_path / "f").mkdir()
    write_columns(tmp_path / "f" / "rows.csv", columns)
    write_columns(tmp_path / "labels.csv", {"p": columns["risk"], "y": columns["d"]})
    call("tally", "labels.csv", "--label", "y", "--prob", "p", "-o", "f/a.tally")
    message = fails("watch", "z.json", "f", *HORIZON)
    assert "must have no .tally files; it has 1 file of sums" in message
    assert not (tmp_path / "z.json").exists()
    (tmp_path / "f" / "a.tally").unlink()
    call("watch", "z.json", "f", *HORIZON)
    watch = tn.Watch.load(tmp_path / "z.json")
    assert watch.history[""].n.tolist() == [watch.watched[0].n] == [N]


def test_a_watch_of_intervals_takes_days_and_keeps_its_columns(call, fails, columns, tmp_path):
    days = [f"2025-01-{1 + i // 30:02d}" for i in range(N)]
    write_columns(tmp_path / "d.csv", columns | {"day": np.array(days)})
    call("watch", "w.json", "d.csv", *INTERVAL, "--time", "day")
    expected = tn.Watch()
    for i in range(0, N, 30):
        y, lower, upper = (columns[name][i : i + 30] for name in ("y", "lo", "hi"))
        expected.update(tn.events.interval(y, lower, upper, coverage=0.8), position=days[i])
    found = tn.Watch.load(tmp_path / "w.json")
    assert found.evidence[""] == pytest.approx(expected.evidence[""])
    assert "`--coverage` must be 0.8, as in" in fails(
        "watch", "w.json", "d.csv", "--coverage", "0.9"
    )
    message = fails("watch", "r.json", "d.csv", *HORIZON, "--time", "day")
    assert "`--time` is not for risks by a horizon" in message


def test_intervals_are_moved_by_fit_and_apply(call, fails, file, columns, tmp_path):
    result = call("fit", file, *INTERVAL, "-o", "map.json")
    assert result.exit_code == 0, result.stderr
    ends = columns["lo"], columns["hi"]
    expected = tn.IntervalCalibration(0.8).fit(columns["y"], *ends)
    assert tn.load_calibrator(tmp_path / "map.json").upper_change_ == expected.upper_change_
    assert call("apply", file, "--calibrator", "map.json", "-o", "moved.csv").exit_code == 0
    with (tmp_path / "moved.csv").open() as moved:
        rows = list(csv.DictReader(moved))
    for name, values in zip(("lo", "hi"), expected.predict(*ends), strict=True):
        found = [float(row[f"{name}_calibrated"]) for row in rows]
        assert found == pytest.approx(values.tolist())
    assert "must map scores" in fails("export", "map.json")
    assert "is for scores" in fails("apply", file, "--calibrator", "map.json", "--prob", "risk")
    typed = ["--calibrator", "platt-scaling", "-o", "m.json"]
    assert "`--calibrator` is not for intervals" in fails("fit", file, *INTERVAL, *typed)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [INTERVAL, HORIZON], ids=["lo", "t"])
def test_a_report_gives_commands_that_run(call, columns, tmp_path, typed):
    """Of rows that the command line read, not Python."""
    wrong = {**columns, "risk": columns["risk"] ** 2, "lo": columns["y"].mean() + columns["lo"] / 9}
    wrong["hi"] = wrong["lo"] + 0.2
    write_columns(tmp_path / "x.csv", wrong)
    write_columns(tmp_path / "new.csv", wrong)
    result = call("report", "x.csv", *typed, "--cluster", "site", "--by", "region", *QUICK)
    assert result.exit_code == 0, result.stderr
    fit, apply = json.loads(result.stdout)["models"][0]["answers"]["action"]["command"].splitlines()
    assert fit.startswith("trueness fit x.csv ")
    for line in (fit, apply):
        done = call(*shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.stderr}"
    assert (tmp_path / "calibrated.csv").is_file()


def test_a_report_of_quantiles_has_no_command_and_no_python(call, file, columns, tmp_path):
    write_columns(tmp_path / "x.csv", {**columns, "q90": columns["q90"] + 1})
    result = call("report", "x.csv", *QUANTILES, *QUICK)
    answers = json.loads(result.stdout)["models"][0]["answers"]
    assert {name: answer["command"] for name, answer in answers.items()} == dict.fromkeys(
        answers, ""
    )


def test_a_report_of_reversed_risks_names_no_option_that_is_refused(call, columns, tmp_path):
    write_columns(tmp_path / "x.csv", {**columns, "risk": 1 - columns["risk"]})
    result = call("report", "x.csv", *HORIZON, *QUICK)
    action = json.loads(result.stdout)["models"][0]["answers"]["action"]
    assert action["phrase"] == "Check the label coding or the class column"
    assert action["command"] == ""


def test_a_watch_of_days_says_that_intervals_are_too_narrow(call, columns, tmp_path):
    days = np.array([f"2025-01-{1 + i // 30:02d}" for i in range(N)])
    lower, upper = columns["lo"] + 0.5, columns["hi"] - 0.5
    write_columns(tmp_path / "d.csv", {**columns, "lo": lower, "hi": upper, "day": days})
    call("watch", "w.json", "d.csv", *INTERVAL, "--time", "day", "--before", "2025-01-06")
    result = call("watch", "w.json", "d.csv")  # the rest, by the columns of the state
    assert "too narrow: outcomes inside 0." in result.stdout
    assert tn.Watch.load(tmp_path / "w.json").direction.startswith("too narrow")
