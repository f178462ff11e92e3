"""The command as one types it: usage, exit codes, where the output goes."""

import errno
import json
import os
import subprocess
import sys

import pytest

import trueness as tn

SMALL = "y,p\n0,0.1\n1,0.9\n0,0.4\n1,0.3\n"
VERBS = [
    "report",
    "measure",
    "test",
    "segments",
    "slices",
    "grades",
    "compare",
    "gate",
    "decide",
    "watch",
    "tally",
]
VERBS += ["plot", "plan", "fit", "apply", "export"]
BARE = ("measure", "--no-intervals", "-")


def python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", **options
    )


def test_help_imports_no_arrays_and_no_frames():
    heavy = (
        "numpy",
        "scipy",
        "sklearn",
        "narwhals",
        "rich",
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "jinja2",
    )
    asked = [["--help"], ["--version"], ["measure", "--bogus"], ["plan", "validation", "--help"]]
    done = python(
        "import sys; from trueness.cli import main\n"
        f"for words in {asked + [[verb, '--help'] for verb in VERBS]}:\n"
        "    try: main(words, prog_name='trueness')\n"
        "    except SystemExit: pass\n"
        f"    print(words, [m for m in {heavy} if m in sys.modules])"
    )
    assert [
        line
        for line in done.stdout.splitlines()
        if line.startswith("[") and not line.endswith(" []")
    ] == []
    assert done.stdout.splitlines()[-1] == "['export', '--help'] []", done.stderr


@pytest.mark.slow
def test_a_process_ends_with_code_2_without_a_traceback_and_shows_the_number_of_a_letter_it_lacks(
    tmp_path,
):
    done = subprocess.run(
        [sys.executable, "-m", "trueness", "measure", "π.csv"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.split(b"\n")[0].rstrip() == rb"Error: There is no file '\u03c0.csv'."


def test_the_demo_is_measured_and_repeats_itself(call):
    asked = ("measure", "--no-intervals", "--demo", "--rows", "500")
    result = call(*asked)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "ECE" in result.stdout
    assert "simulated data" in result.stdout
    assert call(*asked, "--seed", "0").stdout == result.stdout
    assert call(*asked, "--seed", "1").stdout != result.stdout
    found = json.loads(
        call(*asked, "--prob", "overconfident", "--prob", "truth", "--format", "json").stdout
    )
    p, truth = (model["measures"] for model in found["models"])
    assert truth["ece"] < p["ece"]
    assert truth["brier"] < p["brier"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["measure", "--demo", "x.csv"], "not both"),
        (["measure", "--table"], "Give a FILE"),
        (["measure", "x.csv", "--rows", "3"], "--rows is for --demo"),
        (["measure", "--demo", "--rows", "0"], "--rows"),
        (["measure", "--demo", "--level", "1"], "--level"),
        (["measure", "--demo", "--format", "yaml"], "--format"),
        (["measure", "--demo", "--missing", "guess"], "--missing"),
        (
            ["fit", "x.csv", "--label", "a", "--label", "b"],
            "--label takes one value, and is given more than once.",
        ),
        (
            ["gate", "x.csv", "--max-ece", "0.1", "--max-ece=0.2"],
            "--max-ece takes one value, and is given more than",
        ),
        (["gate", "x.tally", "--max-ece", "0.1", "--max-ece", "0.2"], "--max-ece takes one value"),
        (["plan", "validation", "--power", "0.8", "--power", "0.9"], "--power takes one value"),
        (["weigh"], "weigh"),
        (["mesure", "x.csv"], "Error: No such command 'mesure'. Did you mean 'measure'?"),
        (["report", "--demo", "--score", "p"], "No such option '--score'. Did you mean '--prob'?"),
        (
            ["report", "--demo", "--y_true", "p"],
            "No such option '--y_true'. Did you mean '--label'?",
        ),
        (["report", "--demo", "--n-bins", "5"], "Did you mean '--bins'?"),
        (
            ["fit", "--demo", "--calibrator", "isotnic"],
            "got 'isotnic'. Did you mean 'isotonic-calibration'?",
        ),
        (["compare", "--demo", "--rows", "50", "--measure", "breir"], "Did you mean 'brier'?"),
        (
            ["compare", "--demo", "--rows", "50", "--measure", "x"],
            "`--measure` must be one of prevalence, ",
        ),
        (["measure", "--demo", "--bins", "mas:10"], "got 'mas:10'. Did you mean 'mass:10'?"),
        (["compare", "--demo", "--method", "bootstrp"], "Did you mean 'bootstrap'?"),
        (["measure", "--demo", "--bins", "quantile"], "got 'quantile'. Did you mean 'mass:10'?"),
        (["report", "--demo", "--random-state", "5"], "Did you mean '--seed'?"),
    ],
)
def test_wrong_usage_ends_with_code_2(call, arguments, words):
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_standard_input_is_read_and_guesses_and_warnings_go_to_standard_error_once(call, fails):
    result = call(*BARE, "--format", "csv", stdin=SMALL)
    assert result.exit_code == 0
    assert result.stdout.startswith("measure,p\nn,4\n")
    assert result.stderr.splitlines() == [
        "note: labels from column 'y', scores from column 'p'.",
        "warning: There are fewer rows (4) than bins (10).",
    ]
    assert (
        "note:" not in call(*BARE, "--label", "y", "--prob", "p", "--bins", "2", stdin=SMALL).stderr
    )
    assert fails("measure", "-", stdin="") == "standard input is empty."
    rows = "".join(f"{i % 2},{0.3 + 0.01 * i},{int(i > 5)}\n" for i in range(12))
    result = call(*BARE, "--label", "y", "--prob", "p", "--prob", "q", stdin="y,p,q\n" + rows)
    assert "warning: q: 12 of 12 scores are exactly 0 or 1" in result.stderr


def test_the_name_of_the_output_decides_its_form_unless_it_is_said(call, tmp_path):
    for name, start in {
        "m.json": "{\n",
        "m.md": "| measure",
        "m.csv": "measure,p",
        "m.txt": "measure",
    }.items():
        result = call(*BARE, "-o", name, stdin=SMALL)
        assert (result.exit_code, result.stdout) == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    call(*BARE, "-o", "m.json", "--format", "csv", stdin=SMALL)
    assert (tmp_path / "m.json").read_text().startswith("measure,p\n")


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(fails, tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "m.csv").write_text("old")
    monkeypatch.setattr(step, full)
    message = fails(*BARE, "-o", "m.csv", stdin=SMALL)
    assert message.startswith("`--output` 'm.csv' cannot be written: No space left")
    assert (tmp_path / "m.csv").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.csv"]


def test_an_output_that_cannot_be_is_refused_before_anything_is_read(fails, tmp_path):
    assert "there is no folder 'none'" in fails("measure", "nothing.csv", "-o", "none/m.csv")
    assert "is a folder" in fails("measure", "nothing.csv", "-o", str(tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="Windows has other file rights, and links need some")
def test_a_written_file_has_the_rights_of_any_other_and_a_link_keeps_pointing_at_it(call, tmp_path):
    for name in ("plain", "kept.csv", "target.csv"):
        (tmp_path / name).write_text("old")
    (tmp_path / "kept.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("target.csv")
    for name in ("new.csv", "kept.csv", "link.csv"):
        assert call(*BARE, "-o", name, stdin=SMALL).exit_code == 0
    assert (tmp_path / "new.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "kept.csv").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("measure,p\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("rich", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_terminal_shows_the_table_with_and_without_rich(tmp_path, rich):
    import pty

    (tmp_path / "x.csv").write_text(SMALL.replace("p\n", "[bold]p\n", 1))
    block = "" if rich else "sys.modules['rich'] = None; "
    arguments = ["measure", "x.csv", "--prob", "[bold]p", "--table", "--no-intervals"]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import sys; {block}from trueness.cli import main; main({arguments})",
        ],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        text += piece
    process.wait()
    os.close(master)
    for words in (b"[bold]p", b"mean gap", b"95 % interval"):
        assert words in text
    assert (b"\x1b[" in text) is rich


def test_every_verb_has_help_with_examples_line_by_line_and_says_its_exit_codes(call):
    listed = " ".join(call("--help").stdout.split())
    for verb in VERBS:
        shown = call(verb, "--help").stdout
        assert f"  trueness {verb} " in shown
        assert "Exit code 0: " in shown
        assert "\\" not in shown
        assert f" {verb} " in listed


def test_help_shows_the_everyday_options_and_all_with_all(call):
    few, every = (call("report", "--help", *more).stdout for more in ([], ["--all"]))
    assert "more options: " in few
    assert "more options: " not in every
    assert few.count("\n  --") < 8 < 25 < every.count("\n  --")


def test_options_of_other_tools_are_answered_with_ours(fails):
    file = ("x.csv", "--label", "y", "--prob", "p")
    assert "No such option '--json'. Type --format json." in fails("measure", *file, "--json")
    assert "Did you mean '--by'?" in fails("slices", *file, "--columns", "a")


def test_columns_have_the_same_words_everywhere(call):
    for verb in set(VERBS) - {"plan", "watch"}:
        shown = call(verb, "--help", "--all").stdout
        options = {line.split()[0] for line in shown.splitlines() if line.startswith("  --")}
        assert not options & {
            "--score",
            "--scores",
            "--target",
            "--weights",
            "--group",
            "--clusters",
            "--date",
        }
        assert "--prob" in options
        assert (
            ("--label" in options) is ("--weight" in options) is (verb not in ("apply", "export"))
        )


def test_an_error_that_nobody_foresaw_is_a_paragraph_too(call, fails, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("one line\nand another")

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("trueness.simulate.demo", broken)
    assert fails("measure", "--demo") == (
        "This is a bug in trueness, not a problem with your data: RuntimeError: one line. `--debug` shows where."
    )
    assert isinstance(call("measure", "--demo", "--debug").exception, RuntimeError)
    monkeypatch.setattr("trueness.simulate.demo", full)
    assert fails("measure", "--demo").startswith("The rows do not fit into memory.")
    assert isinstance(call("measure", "nothing.csv", "--debug").exception, tn.InputError)


def test_the_command_without_click_names_the_cure():
    code = "import sys; sys.modules['click'] = None\nfrom trueness.cli import main\nmain(['measure', '--demo'])"
    done = python(code)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "Error: `trueness` needs click, rich and Polars: `pip install 'trueness[cli]'`.\n"
    )


@pytest.mark.parametrize("verb", [*VERBS, "plan validation"])
def test_help_fits_80_columns_and_has_its_options_below_headings(call, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "80")
    lines = call(*verb.split(), "--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings[-1 if verb != "plan" else -2] == "Output:"
    assert "Options:" not in headings


def test_shells_complete_commands_and_options(call, monkeypatch):
    monkeypatch.setenv("_TRUENESS_COMPLETE", "bash_complete")
    for words, at, found in (
        ("mea", "1", ["measure"]),
        ("gate --max", "2", ["--max-ece", "--max-l2"]),
    ):
        monkeypatch.setenv("COMP_WORDS", f"trueness {words}")
        monkeypatch.setenv("COMP_CWORD", at)
        assert call().stdout.splitlines() == [f"plain,{one}" for one in found]
