"""The command as one types it: usage, exit codes, where the output goes."""

import errno
import json
import os
import subprocess
import sys

import pytest

import trueness as tn
from trueness.cli._main import _VERBS

SMALL = "y,p\n0,0.1\n1,0.9\n0,0.4\n1,0.3\n"
MODULES = "import sys; from trueness.cli import main\ntry: main({}, prog_name='trueness')\nexcept SystemExit: pass\n"


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", **options)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["measure", "--bogus"], *([verb, "--help"] for verb in _VERBS)]
)
def test_help_imports_no_arrays_and_no_frames(arguments):
    heavy = "numpy", "scipy", "sklearn", "narwhals", "rich", "pandas", "polars", "pyarrow", "matplotlib", "jinja2"
    done = python(MODULES.format(arguments) + f"print([m for m in {heavy} if m in sys.modules])")
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "trueness", "--version"], capture_output=True, text=True)
    assert done.stdout == f"trueness {tn.__version__}\n"
    assert done.returncode == 0


def test_the_demo_is_measured_and_repeats_itself(call):
    result = call("measure", "--no-intervals", "--demo", "--rows", "500")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "ECE" in result.stdout
    assert "simulated data" in result.stdout
    assert call("measure", "--no-intervals", "--demo", "--rows", "500", "--seed", "0").stdout == result.stdout
    assert call("measure", "--no-intervals", "--demo", "--rows", "500", "--seed", "1").stdout != result.stdout


def test_the_truth_of_the_demo_can_be_measured(call):
    found = json.loads(
        call(
            "measure", "--no-intervals", "--demo", "--prob", "overconfident", "--prob", "truth", "--format", "json"
        ).stdout
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
        (["measure", "--demo", "--kind", "both"], "--kind"),
        (["weigh"], "weigh"),
    ],
)
def test_wrong_usage_ends_with_code_2(call, arguments, words):
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_debug_lets_the_error_through(call):
    result = call("measure", "nothing.csv", "--debug")
    assert isinstance(result.exception, tn.InputError)


def test_a_real_process_ends_with_code_2_and_no_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "trueness", "measure", "nothing.csv"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "Error: There is no file 'nothing.csv'.\n")


def test_standard_input_is_read(call):
    result = call("measure", "--no-intervals", "-", "--format", "csv", stdin=SMALL)
    assert result.exit_code == 0
    assert result.stdout.startswith("measure,p\nn,4\n")


def test_empty_standard_input_is_refused(fails):
    assert fails("measure", "-", stdin="") == "standard input is empty."


def test_guesses_and_warnings_go_to_standard_error_once(call):
    result = call("measure", "--no-intervals", "-", stdin=SMALL)
    assert result.stderr.splitlines() == [
        "note: labels from column 'y', scores from column 'p'.",
        "warning: There are fewer rows (4) than bins (10).",
    ]
    named = call("measure", "--no-intervals", "-", "--label", "y", "--prob", "p", "--bins", "2", stdin=SMALL)
    assert "note:" not in named.stderr


def test_a_warning_about_one_model_names_it(call):
    rows = "".join(f"{i % 2},{0.3 + 0.01 * i},{int(i > 5)}\n" for i in range(12))
    result = call(
        "measure", "--no-intervals", "-", "--label", "y", "--prob", "p", "--prob", "q", stdin="y,p,q\n" + rows
    )
    assert "warning: q: 12 of 12 scores are exactly 0 or 1" in result.stderr


@pytest.mark.parametrize(
    ("name", "start"), [("m.json", "{\n"), ("m.md", "| measure"), ("m.csv", "measure,p"), ("m.txt", "measure")]
)
def test_the_name_of_the_output_decides_its_form(call, tmp_path, name, start):
    result = call("measure", "--no-intervals", "-", "-o", name, stdin=SMALL)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_format_wins_over_the_name_of_the_output(call, tmp_path):
    call("measure", "--no-intervals", "-", "-o", "m.json", "--format", "csv", stdin=SMALL)
    assert (tmp_path / "m.json").read_text().startswith("measure,p\n")


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(fails, tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "m.csv").write_text("old")
    monkeypatch.setattr(step, full)
    message = fails("measure", "-", "--no-intervals", "-o", "m.csv", stdin=SMALL)
    assert message.startswith("`--output` 'm.csv' cannot be written: No space left")
    assert (tmp_path / "m.csv").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.csv"]


def test_an_output_that_cannot_be_is_refused_before_anything_is_read(fails, tmp_path):
    assert "there is no folder 'none'" in fails("measure", "nothing.csv", "-o", "none/m.csv")
    assert "is a folder" in fails("measure", "nothing.csv", "-o", str(tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="Windows has other file rights")
def test_a_written_file_has_the_rights_of_any_other(call, tmp_path):
    (tmp_path / "plain").write_text("")
    (tmp_path / "kept.csv").write_text("old")
    (tmp_path / "kept.csv").chmod(0o640)
    for name in ("new.csv", "kept.csv"):
        assert call("measure", "--no-intervals", "-", "-o", name, stdin=SMALL).exit_code == 0
    assert (tmp_path / "new.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "kept.csv").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights on Windows")
def test_a_link_keeps_pointing_at_the_file_written(call, tmp_path):
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("target.csv")
    call("measure", "--no-intervals", "-", "-o", "link.csv", stdin=SMALL)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("measure,p\n")


def test_a_terminal_that_lacks_a_letter_shows_its_number(tmp_path):
    (tmp_path / "x.csv").write_text(SMALL.replace("p", "π"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "trueness", "measure", "x.csv", "--label", "y", "--prob", "π", "--no-intervals"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert done.returncode == 0, done.stderr
    assert rb"\u03c0" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("rich", [True, False])
def test_a_terminal_shows_the_table_with_and_without_rich(tmp_path, rich):
    import pty

    (tmp_path / "x.csv").write_text(SMALL.replace("p\n", "[bold]p\n", 1))
    block = "" if rich else "sys.modules['rich'] = None; "
    arguments = ["measure", "x.csv", "--prob", "[bold]p", "--table", "--no-intervals"]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; {block}" + MODULES.format(arguments)],
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
    assert b"[bold]p" in text
    assert b"mean gap" in text
    assert b"95 % interval" in text
    assert (b"\x1b[" in text) is rich


def test_help_shows_its_examples_line_by_line(call):
    lines = call("measure", "--help").stdout.splitlines()
    assert "    trueness measure --demo" in lines
    assert not any("\\" in line for line in lines)


@pytest.mark.parametrize("verb", _VERBS)
def test_every_verb_has_help_with_examples_and_says_its_exit_codes(call, verb):
    shown = call(verb, "--help").stdout
    # The papers are a package with a command of its own.
    assert ("  python -m trueness_papers " if verb == "reproduce" else f"  trueness {verb} ") in shown
    assert "Exit code 0: " in shown
    assert " ".join(call("--help").stdout.split()).count(f" {verb} ") >= 1


def test_an_error_that_nobody_foresaw_is_a_paragraph_too(call, fails, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("one line\nand another")

    monkeypatch.setattr("trueness.cli._options.bin_rule", broken)
    assert fails("measure", "--demo") == (
        "This is a bug in trueness, not a problem with your data: RuntimeError: one line. `--debug` shows where."
    )
    assert isinstance(call("measure", "--demo", "--debug").exception, RuntimeError)


def test_rows_that_do_not_fit_into_memory_are_a_paragraph(fails, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("trueness.cli._options.bin_rule", full)
    assert fails("measure", "--demo").startswith("The rows do not fit into memory.")


def test_a_verb_that_is_nearly_right_is_suggested(call):
    result = call("mesure", "x.csv")
    assert result.exit_code == 2
    assert "Error: No such command 'mesure'. Did you mean 'measure'?" in result.stderr
    assert "No such command 'xyz'" in call("xyz").stderr


def test_the_command_without_click_names_the_cure():
    code = "import sys; sys.modules['click'] = None\nfrom trueness.cli import main\nmain(['measure', '--demo'])"
    done = python(code)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "Error: `trueness` needs click, rich and Polars: `pip install 'trueness[cli]'`.\n"


@pytest.mark.parametrize(
    ("option", "usual"),
    [("--score", "--prob"), ("--y_true", "--label"), ("--n-bins", "--bins"), ("--random-state", "--seed")],
)
def test_an_option_by_another_name_is_recognised(call, option, usual):
    result = call("report", "--demo", option, "p")
    assert result.exit_code == 2
    assert f"No such option '{option}'" in result.stderr
    assert f"Did you mean '{usual}'?" in result.stderr
