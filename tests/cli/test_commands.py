"""Every command on every format: the same rows in, the same words out."""

import os
import re

import numpy as np
import pytest
from tables_on_disk import FORMATS, write_columns

VERBS = {
    "measure": ["--prob", "p", "--weight", "w", "--format", "csv", "--no-intervals"],
    "test": ["--prob", "p", "--by", "region", "--cluster", "who", "--format", "csv"],
    "grades": ["--prob", "p", "--grades", "region", "--weight", "w", "--format", "csv"],
    "compare": ["--prob", "p", "--prob", "q", "--cluster", "who", "--format", "csv"],
    "gate": ["--prob", "p", "--max-ece", "0.9", "--by", "region", "--format", "csv"],
    "fit": ["--prob", "p", "--calibrator", "isotonic"],
    "plot": ["--prob", "p"],
    "report": ["--prob", "p", "--format", "json", "--no-intervals"],
}
BAD = [
    ("x.csv", b"y,q\n0,0.1\n1,0.9\n", "has no column 'p'"),
    ("x.csv", b"", "is empty"),
    ("x.csv", b"y,p\n", "has no rows"),
    ("x.csv", b"y,p\n0,0.1\n1,high\n", "must hold numbers; it holds 'high'"),
    ("x.csv", b"y,p\n0,0.1\n1\n", "line 3, has 1 cells"),
    ("x.parquet", b"PAR1 and not much else", "may be truncated"),
    ("x.jsonl", b'{"y": 0, "p": 0.1}\n{"y": 1, "p": 0.', "cannot be read as JSON lines"),
    ("x.npz", b"PK\x03\x04 and not much else", "may be truncated"),
    ("x.csv", b"y,p\n0,0.1\n\x00\x00", "zero bytes"),
]


def asked(verb, name):
    return [verb, name, "--label", "y", *VERBS[verb]]


@pytest.fixture(scope="session")
def tables(tmp_path_factory, grouped):
    folder = tmp_path_factory.mktemp("tables")
    for kind in FORMATS:
        write_columns(folder / f"x.{kind}", grouped)
    return folder


@pytest.mark.parametrize(
    "verb", [pytest.param(one, marks=[pytest.mark.slow] * (one == "report")) for one in VERBS]
)
def test_every_command_says_the_same_of_every_format(call, tables, verb):
    said = {}
    # The measures of all formats are compared below; the slow run has a process for each command and format.
    for kind in FORMATS if verb == "test" else ("csv", "npz"):
        result = call(*asked(verb, tables / f"x.{kind}"))
        assert result.exit_code == 0, result.stderr
        said[kind] = re.sub(rf"\b(x|new|calibrated)\.{kind}\b", r"\1", result.stdout)
    assert len(said["npz"]) > 50
    assert {kind for kind in said if said[kind] != said["npz"]} == set()


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_command_runs_as_a_process_on_every_format(process, tables, verb, kind):
    done = process(*asked(verb, tables / f"x.{kind}"))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 50
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_a_bad_file_is_refused_by_every_command_and_leaves_no_output(fails, tmp_path, verb):
    where = "out.png" if verb == "plot" else "out.json"
    for name, content, words in BAD if verb == "measure" else BAD[:3]:
        (tmp_path / name).write_bytes(content)
        arguments = [verb, name, "--label", "y", "--prob", "p", "-o", where]
        arguments += ["--max-ece", "0.5"] if verb == "gate" else []
        assert words in fails(*arguments)
        assert [p.name for p in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()


def test_a_folder_and_a_path_that_may_not_be_read_are_refused(fails, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "none.csv", "none/x.csv"):
        fails("gate", name, "--max-ece", "0.5", "-o", "out.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.csv"]


def test_the_format_is_seen_or_said_and_a_wrong_one_is_refused(call, fails, tables, tmp_path):
    expected = call(*asked("measure", tables / "x.npz")).stdout
    for kind in FORMATS:
        content = (tables / f"x.{kind}").read_bytes()
        separator = ["--separator", "tab"] if kind == "tsv" else []
        assert call(*asked("measure", "-"), *separator, stdin=content).stdout == expected
        (tmp_path / "data").write_bytes(content)
        assert call(*asked("measure", "data"), "--input-format", kind).stdout == expected
        other = "csv" if kind in ("parquet", "arrow", "npz", "npy") else "npz"
        message = fails(*asked("measure", tables / f"x.{other}"), "--input-format", kind)
        assert message.startswith(f"`--input-format` says {kind}, but ")


@pytest.mark.slow
def test_scores_of_several_classes_go_through_every_command(call, multiclass, tmp_path):
    y, P = (column[:150] for column in multiclass)
    np.savez(tmp_path / "x.npz", y=y, P=P, Q=P[:, ::-1])
    for verb, more in {
        "measure": ["--prob", "P", "--no-intervals"],
        "test": ["--prob", "P"],
        "compare": ["--prob", "P", "--prob", "Q", "--no-intervals"],
        "gate": ["--prob", "P", "--max-ece", "0.9"],
        "plot": ["--prob", "P"],
        "report": ["--prob", "P", "--format", "text", "--no-intervals"],
        "fit": ["--prob", "P", "--calibrator", "top-label:histogram-binning"],
    }.items():
        result = call(verb, "x.npz", "--label", "y", *more)
        assert result.exit_code == 0, (verb, result.stderr)
        assert len(result.stdout) > 50
        if verb in ("test", "gate"):
            assert "the largest score as the probability that its class is right." in " ".join(
                result.stdout.split()
            )


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("measure", "report")])
def test_rows_that_miss_a_value_are_dropped_only_when_asked_and_it_is_said(
    call, fails, grouped, tmp_path, verb
):
    p = grouped["p"].copy()
    p[5] = np.nan
    write_columns(tmp_path / "x.npz", grouped | {"p": p})
    assert "missing values" in fails(*asked(verb, "x.npz"))
    result = call(*asked(verb, "x.npz"), "--missing", "drop")
    assert result.exit_code == 0, result.stderr
    assert "warning: 1 of 600 rows has a missing value and was dropped." in result.stderr


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "plot"])
def test_scores_out_of_range_are_refused_by_every_command(fails, grouped, tmp_path, verb):
    p = grouped["p"].copy()
    p[500] = 55
    if verb != "report":  # it drops rows itself, to tell how many, and counts those that are left
        p[2] = np.nan
    write_columns(tmp_path / "x.npz", grouped | {"p": p})
    message = fails(*asked(verb, "x.npz"), "--missing", "drop")
    assert "column 'p' must lie in [0, 1]; 1 of " in message.lower().replace(
        "column 'p' and column 'q'", "column 'p'"
    )
    # Neither the rows that were dropped nor those of other groups change the number.
    assert "does not, the first is 55 at row 500." in message


def same(tmp_path, way):
    """A file of rows and another name for it."""
    rows = tmp_path / "rows.json"  # a name that every verb but plot can write to
    rows.write_text('{"y": 0, "p": 0.1}\n{"y": 1, "p": 0.9}\n')
    if way == "link":
        (tmp_path / "other.json").symlink_to("rows.json")
    elif way == "hard link":
        (tmp_path / "other.json").hardlink_to(rows)
    return rows, {"name": "rows.json", "path": str(tmp_path / "." / "rows.json")}.get(
        way, "other.json"
    )


@pytest.mark.parametrize("way", ["name", "path", "link", "hard link"])
@pytest.mark.parametrize("verb", ["report", "measure", "test", "compare", "gate", "plot", "fit"])
def test_no_verb_writes_over_the_rows_that_it_reads(fails, tmp_path, verb, way):
    rows, name = same(tmp_path, way)
    before = rows.read_text()
    more = {"gate": ["--max-ece", "1"], "plot": ["--format", "svg"]}.get(verb, [])
    assert fails(verb, "rows.json", *more, "-o", name) == (
        f"`--output` {name!r} is the file that is read, and would be lost; name another."
    )
    assert rows.read_text() == before


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a file as standard input")
def test_nor_over_rows_that_are_its_standard_input(process, tmp_path):
    rows, name = same(tmp_path, "link")
    with rows.open() as file:
        done = process("measure", "-", "--no-intervals", "-o", name, stdin=file)
    assert done.returncode == 2
    assert "is the file that is read" in done.stderr
    assert rows.read_text().startswith("{")


def test_apply_may_write_over_its_rows_and_never_over_its_map(call, fails, tmp_path):
    assert (
        call("fit", "--demo", "--rows", "200", "--method", "platt", "-o", "map.json").exit_code == 0
    )
    (tmp_path / "x.csv").write_text("overconfident\n0.25\n")
    assert fails("apply", "x.csv", "--calibrator", "map.json", "-o", "out.parquet").endswith(
        "must end in .csv or .tsv or .tab or .txt: the output is text, as x.csv is; got 'out.parquet'."
    )
    for name in ("out", "out.dat", "out.CSV"):
        assert call("apply", "x.csv", "--calibrator", "map.json", "-o", name).exit_code == 0
    (tmp_path / "link.csv").symlink_to("map.json")
    before = (tmp_path / "map.json").read_text()
    for name in ("map.json", "link.csv"):
        assert "is the file that is read" in fails(
            "apply", "x.csv", "--calibrator", "map.json", "-o", name
        )
    assert (tmp_path / "map.json").read_text() == before
    assert call("apply", "x.csv", "--calibrator", "map.json", "-o", "x.csv").exit_code == 0
    assert (
        (tmp_path / "x.csv").read_text().startswith("overconfident,overconfident_calibrated\n0.25,")
    )


def test_no_verb_writes_under_a_name_that_says_another_format(fails, tmp_path):
    for verb in ("report", "measure", "test", "compare", "gate", "plan", "fit"):
        more = {"gate": ["--demo", "--max-ece", "1"], "plan": ["--n", "500", "--bins", "5"]}.get(
            verb, ["--demo"]
        )
        ends = {
            "report": r".html, .htm, .md, .markdown, .json or .txt",
            "fit": ".json: the output is JSON",
        }
        said = fails(verb, *more, "-o", "r.pdf")
        assert said.startswith(
            f"`--output` must end in {ends.get(verb, '.json, .md, .markdown, .csv or .txt')}"
        )
        assert said.endswith("got 'r.pdf'.")
        assert list(tmp_path.iterdir()) == []


def test_measures_are_no_page_but_may_lie_under_a_name_without_an_ending(call, fails, tmp_path):
    assert "`--output` must end in .json, .md" in fails("measure", "--demo", "-o", "r.html")
    assert (
        call("measure", "--demo", "--rows", "200", "--no-intervals", "-o", "plain").exit_code == 0
    )
    assert "ECE" in (tmp_path / "plain").read_text(encoding="utf-8")
