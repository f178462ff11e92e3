"""``trueness report`` writes the page and prints its verdict."""

import json
import shlex

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


def without_commands(report):
    """The models; the library suggests Python, the command line a command."""
    for model in report["models"]:
        del model["answers"]["action"]["command"]
    return report["models"]


def test_the_demo_leaves_a_page(call, fails, tmp_path):
    asked = ["report", "--demo", "--rows", "100", "--prob", "truth", "--no-intervals"]
    result = call(*asked)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip()
    assert result.stderr.endswith("note: report written to trueness-report.html.\n")
    page = (tmp_path / "trueness-report.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "there is no folder 'none'" in fails(*asked, "-o", "none/r.html")
    (tmp_path / "trueness-report.html").unlink()
    (tmp_path / "trueness-report.html").mkdir()
    assert "is a folder" in fails(*asked)


@pytest.mark.parametrize(
    ("form", "ending", "start"),
    [
        ("json", "json", "{"),
        *(
            pytest.param(*form, marks=pytest.mark.slow)
            for form in (("markdown", "md", "#"), ("text", "txt", ""))
        ),
    ],
)
def test_the_name_of_the_output_decides_its_form_and_what_is_said_goes_to_standard_output(
    call, tmp_path, form, ending, start
):
    rows = "y,p\n" + "".join(f"{i % 3 // 2},0.{i % 4 + 1}\n" for i in range(18))
    asked = ["report", "-", "--prob", "p", "--no-intervals"]
    assert call(*asked, "-o", f"r.{ending}", stdin=rows).exit_code == 0
    written = (tmp_path / f"r.{ending}").read_text(encoding="utf-8")
    assert written.startswith(start)
    assert call(*asked, "--format", form, stdin=rows).stdout.strip() == written.strip()
    assert [p.name for p in tmp_path.iterdir()] == [f"r.{ending}"]


@pytest.mark.slow
def test_the_numbers_are_the_librarys(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    asked = [
        "--prob",
        "p",
        "--by",
        "region",
        "--weight",
        "w",
        "--bins",
        "5",
        "--level",
        "0.9",
        "--no-intervals",
    ]
    found = json.loads(
        call("report", "x.csv", *asked, "--title", "A title", "--format", "json").stdout
    )
    options = {"bins": 5, "level": 0.9, "title": "A title", "intervals": False}
    by, w = {"region": grouped["region"]}, grouped["w"]
    expected = tn.report(
        grouped["y"], {"p": grouped["p"]}, by=by, sample_weight=w, **options
    ).to_dict()
    assert without_commands(found) == without_commands(json.loads(json.dumps(expected)))


@pytest.mark.slow
def test_rows_dropped_are_counted_by_the_report(call, grouped, tmp_path):
    rows = "".join(
        f"{y},{'' if i < 7 else p}\n"
        for i, (y, p) in enumerate(zip(grouped["y"], grouped["p"], strict=True))
    )
    (tmp_path / "x.csv").write_text("y,p\n" + rows)
    result = call("report", "x.csv", "--missing", "drop", "--format", "text", "--no-intervals")
    assert result.exit_code == 0, result.stderr
    assert "593" in result.stdout
    assert "warning: 7 of 600 rows have a missing value and were dropped.\n" in result.stderr


@pytest.mark.slow
def test_clusters_are_passed_on_and_their_missing_names_dropped_or_refused(
    call, fails, grouped, tmp_path
):
    write_columns(tmp_path / "x.csv", grouped)
    asked = ["--prob", "p", "--cluster", "who", "--format", "json"]
    found = json.loads(call("report", "x.csv", *asked).stdout)
    expected = tn.report(grouped["y"], {"p": grouped["p"]}, cluster=grouped["who"]).to_dict()
    assert found["clusters"]["number"] == 150
    assert without_commands(found) == without_commands(json.loads(json.dumps(expected)))
    lines = (tmp_path / "x.csv").read_text().splitlines()
    lines[8] = lines[8].replace(f",{grouped['who'][7]},", ",,")
    (tmp_path / "x.csv").write_text("\n".join(lines))
    message = "x.csv: Column 'who' must not have missing values; 1 of 600 rows has one, the first at row 7."
    assert fails("report", "x.csv", *asked).startswith(message)
    found = json.loads(call("report", "x.csv", *asked, "--missing", "drop").stdout)
    assert found["rows"]["dropped"] == 1


@pytest.mark.slow
def test_the_report_names_the_data_and_the_command_that_helps(call, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1794700800")
    demo = tn.simulate.demo(2_000)
    write_columns(tmp_path / "my rows.csv", {"y": demo.y_true, "p": demo.y_prob})
    asked = ["--label", "y", "--prob", "p", "--missing", "drop"]
    found = json.loads(call("report", "my rows.csv", *asked, "--format", "json").stdout)
    assert found["provenance"] == {
        "file": "my rows.csv",
        "label": "y",
        "event": "1",
        "date": "2026-11-15",
    }
    fit, apply = found["models"][0]["answers"]["action"]["command"].splitlines()
    assert fit.startswith(
        "trueness fit 'my rows.csv' --label y --prob p --missing drop --calibrator "
    )
    assert call(*shlex.split(fit)[1:]).exit_code == 0
    (tmp_path / "new.csv").write_text("p\n0.2\n0.9\n")
    assert call(*shlex.split(apply)[1:]).exit_code == 0
    assert len((tmp_path / "calibrated.csv").read_text().splitlines()) == 3
    page = call("report", "my rows.csv", *asked, "--format", "markdown").stdout
    assert "my rows.csv · scores p · 2,000 rows · event: y = 1" in page.replace("\\", "")
    assert "15 November 2026" in page


@pytest.mark.slow
def test_several_columns_are_crossed(call, grouped, tmp_path):
    write_columns(
        tmp_path / "x.csv", grouped | {"day": np.where(np.arange(grouped["y"].size) % 2, "u", "v")}
    )
    asked = [
        "--prob",
        "p",
        "--by",
        "region",
        "--by",
        "day",
        "--crossed",
        "2",
        "--format",
        "json",
        "--no-intervals",
    ]
    done = call("report", "x.csv", *asked)
    segments = json.loads(done.stdout)["models"][0]["segments"]["rows"]
    assert {one["column"] for one in segments} == {"region", "day", "region × day"}


@pytest.mark.parametrize(
    ("separator", "decimal", "factor", "options"),
    [
        pytest.param(";", ".", 1, ["--separator", ";"], marks=pytest.mark.slow),
        pytest.param(";", ",", 1, ["--decimal", ","], marks=pytest.mark.slow),
        pytest.param(",", ".", 100, ["--percent"], marks=pytest.mark.slow),
        (",", ".", 1, ["--missing", "drop"]),
    ],
)
def test_new_rows_are_read_as_the_old_ones_were(
    call, tmp_path, separator, decimal, factor, options
):
    demo = tn.simulate.demo(1_000)
    scores = [str(factor * p).replace(".", decimal) for p in demo.y_prob]
    if "--missing" in options:
        scores[3] = ""
    lines = [f"{y}{separator}{p}" for y, p in zip(demo.y_true, scores, strict=True)]
    for name in ("rows.csv", "new.csv"):
        (tmp_path / name).write_text("\n".join([f"y{separator}p", *lines]))
    asked = ["--label", "y", "--prob", "p", *options, "--no-intervals", "--format", "json"]
    found = json.loads(call("report", "rows.csv", *asked).stdout)
    for line in found["models"][0]["answers"]["action"]["command"].splitlines():
        result = call(*shlex.split(line)[1:])
        assert result.exit_code == 0, f"{line}: {result.stderr}"
    assert len((tmp_path / "calibrated.csv").read_text().splitlines()) == 1_001


@pytest.mark.slow
def test_the_command_for_two_columns_of_standard_input_names_a_file_and_the_second(call, tmp_path):
    demo = tn.simulate.demo(2_000)
    write_columns(
        tmp_path / "x.csv",
        {"y": np.array(["no", "yes"])[demo.y_true], "p_no": 1 - demo.y_prob, "p_yes": demo.y_prob},
    )
    asked = ["--prob-columns", "p_*", "--format", "json", "--no-intervals"]
    found = json.loads(call("report", "-", *asked, stdin=(tmp_path / "x.csv").read_text()).stdout)
    fit = found["models"][0]["answers"]["action"]["command"].splitlines()[0]
    assert fit.startswith(
        "trueness fit rows.csv --label y --prob p_yes --pos-label yes --calibrator "
    )


@pytest.mark.slow
def test_no_intervals_leaves_out_the_panel_and_keeps_the_verdict(call):
    asked = ("report", "--demo", "--rows", "100", "--prob", "overconfident", "--format", "json")
    whole, bare = (json.loads(call(*asked, *more).stdout) for more in ([], ["--no-intervals"]))
    assert bare["verdict"] == whole["verdict"]
    assert whole["models"][0]["panel"]["text"].startswith("Methods. ")
    assert bare["models"][0]["panel"] is None
    assert bare["models"][0]["summary"]["auc"] is None


@pytest.mark.slow
def test_files_and_periods_of_rows_are_a_series(call, fails, tmp_path):
    rng = np.random.default_rng(5)
    months = []
    for month in range(1, 7):
        p = rng.uniform(0.05, 0.95, 200).round(3)
        y = rng.random(200) < (p if month < 4 else 1 - p)
        columns = {
            "y": y.astype(int),
            "p": p,
            "day": np.array([f"2025-{month:02}-{1 + i % 28:02}" for i in range(200)]),
        }
        write_columns(tmp_path / f"m{month}.csv", columns)
        months.append(columns)
    write_columns(
        tmp_path / "all.csv",
        {name: np.concatenate([one[name] for one in months]) for name in months[0]},
    )
    words = ["--label", "y", "--prob", "p", "--no-intervals", "-o", "x.json"]
    each = call("report", *(f"m{i}.csv" for i in range(1, 7)), "--each", *words)
    assert "Calibration changed starting with m4.csv" in each.stdout
    over = call("report", "all.csv", "--over", "day", "--every", "month", *words)
    assert "Calibration changed starting with 2025-04" in over.stdout
    found = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert found["series"]["n"] == [200] * 6
    assert "2 files are read as one; `--each`" in call("report", "m1.csv", "m2.csv", *words).stderr
    assert "--every needs --over" in fails("report", "m1.csv", "--every", "day", *words)
    assert "`--over` must hold dates" in fails(
        "report", "all.csv", "--over", "p", "--every", "day", *words
    )


@pytest.mark.slow
def test_scores_of_the_other_label_get_the_command_that_swaps_the_labels(call, tmp_path):
    p = (np.arange(300) % 20 + 0.5) / 20
    y = np.where((np.arange(300) // 20 + 0.5) / 15 < p, "no", "yes please")
    write_columns(tmp_path / "x.csv", {"y": y, "p": p})
    asked = ["--prob", "p", "--no-intervals", "--format", "json"]
    found = json.loads(call("report", "x.csv", *asked, "--pos-label", "yes please").stdout)
    command = shlex.split(found["models"][0]["answers"]["action"]["command"])
    assert command == [
        "trueness",
        "report",
        "x.csv",
        "--label",
        "y",
        "--prob",
        "p",
        "--pos-label",
        "no",
    ]
    swapped = json.loads(call(*command[1:], *asked[2:]).stdout)
    assert swapped["verdict"]["rejected"] is False


def judged(tmp_path, **changed):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 1, 76).round(3)
    y = (rng.random(76) < p).astype(int)
    columns = {
        "human": [str(v) if i % 4 == 0 else "" for i, v in enumerate(y)],
        "grader": y,
        "p": p,
    } | changed
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    return columns


@pytest.mark.slow
def test_a_judge_helps_few_human_labels_and_the_rest_is_theirs(call, fails, tmp_path):
    columns = judged(tmp_path)
    plain = ["report", "a.csv", "--label", "human", "--prob", "p", "--no-intervals"]
    asked = [*plain, "--judge", "grader"]
    result = call(*asked, "-o", "r.json")
    assert result.exit_code == 0, result.stderr
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    human = np.array([float(v) if v else np.nan for v in columns["human"]])
    known = tn.powered(human, columns["grader"], columns["p"], seed=0)
    assert report["notes"][0].startswith(known.sentence)
    assert report["rows"]["used"] == known.humans == 19
    assert "has no column 'grade'" in fails(*plain, "--judge", "grade")
    assert "leave out --over, --each and" in fails(*asked, "--each")
    assert "cannot be both scores and the judge" in fails(*plain, "--judge", "p")
    judged(tmp_path, grader=[""] * 7 + [1] * 69)
    assert "Column 'grader' must be a number within ±1e100 in every row; 7 of 76" in fails(*asked)


def test_measure_prints_what_a_judge_and_few_humans_say(call, fails, tmp_path):
    words = {"0": "no", "1": "yes", "": ""}
    columns = judged(tmp_path)
    known = tn.powered(
        [float(v) if v else np.nan for v in columns["human"]],
        columns["grader"],
        columns["p"],
        seed=0,
    )
    judged(
        tmp_path,
        human=[words[v] for v in columns["human"]],
        grader=[words[str(v)] for v in columns["grader"]],
    )
    asked = [
        "measure",
        "a.csv",
        "--label",
        "human",
        "--prob",
        "p",
        "--judge",
        "grader",
        "--pos-label",
        "yes",
    ]
    assert known.sentence in " ".join(call(*asked).stdout.split())
    (found,) = json.loads(call(*asked, "--format", "json").stdout)["models"]
    assert found["event_rate"]["low"] == known.event_rate.low
    assert "--bins does not go with --judge" in fails(*asked, "--bins", "5")
    assert "--seed is for --demo." in fails(
        "measure", "a.csv", "--label", "grader", "--prob", "p", "--seed", "1"
    )
    assert call(*asked, "--seed", "1").exit_code == 0
    judged(tmp_path, grader=[""] * 7 + [1] * 69)
    dropped = call(*asked[:-2], "--missing", "drop")
    assert "7 of 76 rows have a missing value and were dropped" in dropped.stderr
    left = tn.powered(
        [float(v) if v else np.nan for v in columns["human"][7:]],
        [1] * 69,
        columns["p"][7:],
        seed=0,
    )
    assert left.sentence in " ".join(dropped.stdout.split())


@pytest.mark.slow
def test_equal_human_labels_do_not_make_a_report_contradict_itself(call, tmp_path):
    rng = np.random.default_rng(0)
    human = np.array(["1" if i % 4 == 0 else "" for i in range(400)])
    write_columns(
        tmp_path / "a.csv", {"human": human, "grader": np.ones(400, int), "p": rng.beta(2, 1, 400)}
    )
    asked = ["--label", "human", "--judge", "grader", "--prob", "p", "--no-intervals"]
    result = call("report", "a.csv", *asked, "--format", "text")
    text = " ".join(result.stdout.split())
    assert "test of calibration p = 0.000" in text
    assert "All else, the verdict too, is of the rows with a human label alone." in text
    assert "What to do: Collect rows with the other outcome." in text
    assert "expected to gain more than noise" not in text


def test_a_report_with_a_judge_has_its_record(call, tmp_path):
    rng = np.random.default_rng(5)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    judge = np.where(rng.random(300) < 0.9, y, 1 - y)
    human = np.where(np.arange(300) < 100, y.astype(str), "")
    write_columns(tmp_path / "x.csv", {"p": p, "grader": judge, "human": human})
    options = ["--label", "human", "--judge", "grader", "--prob", "p", "--no-intervals"]
    found = json.loads(call("report", "x.csv", *options, "--format", "json").stdout)
    expected = tn.judge(np.where(np.arange(300) < 100, y, np.nan), judge)
    assert found["judge"] == json.loads(json.dumps(expected.to_dict()))
    assert call("report", "x.csv", *options, "-o", "x.html").exit_code == 0
    assert '<h2 id="judge">The judge' in (tmp_path / "x.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [None, 70])
def test_no_line_of_the_verdicts_is_wider_than_the_terminal(call, monkeypatch, columns):
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    found = call("report", "--demo", "--no-intervals")
    lines = found.stdout.splitlines()
    assert max(map(len, lines)) <= (columns or 100)
    assert "Not calibrated" in lines[0]
    assert "p < 0.0001; recalibrate with automatic calibration" in " ".join(found.stdout.split())
