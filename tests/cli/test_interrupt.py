"""Ctrl-C, a full disk, a reader that goes away: what is left behind, and which code says so."""

import errno
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals and devices of POSIX")

slow = partial(pytest.param, marks=pytest.mark.slow)
ROWS = "y,p\n" + "".join(f"{i % 2},{i / 100:.2f}\n" for i in range(100))


def started(folder, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "trueness", *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": folder} | options,
    )


def test_ctrl_c_in_the_middle_of_the_work_ends_with_code_130_and_leaves_the_old_file(tmp_path):
    (tmp_path / "x.csv").write_text("y,a,b\n" + "".join(f"{i % 2},{i / 100:.2f},0.5\n" for i in range(100)))
    (tmp_path / "out.csv").write_text("old")
    asked = ["--prob", "a", "--prob", "b", "--measure", "ece", "--resamples", "1000000", "-o", "out.csv"]
    process = started(tmp_path, "compare", "x.csv", *asked)
    assert process.stderr.readline().startswith("note: labels from column 'y'")  # by now the work begins
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    # Where the signal meets an import, Python itself ends by it; a shell calls both 130.
    assert process.returncode in (130, -signal.SIGINT)
    assert (out, err) == ("", "Interrupted.\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "x.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_ctrl_c_in_the_middle_of_writing_leaves_the_old_file_and_nothing_else(call, tmp_path, monkeypatch, step):
    def interrupted(*_):
        raise KeyboardInterrupt

    (tmp_path / "m.csv").write_text("old")
    monkeypatch.setattr(step, interrupted)
    result = call("measure", "-", "--no-intervals", "-o", "m.csv", stdin=ROWS)
    assert result.exit_code == 130
    assert result.stderr.endswith("Interrupted.\n")
    assert "Traceback" not in result.stderr
    assert (tmp_path / "m.csv").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("streams", "code"), [(">&-", 0), ("2>&-", 0), (">/dev/full 2>/dev/full", 2), ("2>&- <&-", 0)])
def test_a_stream_that_cannot_be_written_is_no_failed_gate(tmp_path, streams, code):
    (tmp_path / "x.csv").write_text(ROWS)
    gate = f"{sys.executable} -m trueness gate {{}} --label y --prob p --max-ece 0.9 {streams}"
    found = subprocess.run(["sh", "-c", gate.format("x.csv")], cwd=tmp_path, capture_output=True, text=True)
    assert (found.returncode, "bug in trueness" in found.stderr) == (code, False)
    assert subprocess.run(["sh", "-c", gate.format("nowhere.csv")], cwd=tmp_path, capture_output=True).returncode == 2


@pytest.mark.parametrize("verb", [["measure"], ["test"], ["gate", "--max-ece", "1"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_is_a_paragraph_and_code_2(fails, verb):
    message = fails(*verb, "-", "-o", "/dev/full", stdin=ROWS)
    assert message == "`--output` '/dev/full' cannot be written: No space left on device."
    assert not Path("/dev/full").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_that_is_full_is_not_a_success(process, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = process("measure", "--demo", "--no-intervals", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "Error: No space left on device."


@pytest.mark.parametrize("asked", [["--help"], ["--version"], ["gate", "--help"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_help_that_cannot_be_printed_is_one_line_and_code_2(process, asked):
    with Path("/dev/full").open("w") as full:
        done = process(*asked, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert (done.returncode, done.stderr) == (2, "Error: No space left on device.\n")


@pytest.mark.parametrize("module", ["click", "trueness.cli._gate"])
def test_ctrl_c_while_the_command_is_loaded_ends_with_code_130(tmp_path, module):
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from trueness.cli import main
main(["gate", "--help"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("then", ["pass", "raise ImportError('partly loaded')"])
def test_an_interrupt_that_code_loses_or_makes_an_error_of_still_ends_the_command(then):
    code = f"""
import os, signal
from trueness.cli._interrupt import end_on_interrupt, interruptible
end_on_interrupt()
try:
    with interruptible():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            {then}
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


AT = """
import os, signal, sys
import trueness
def at(event, arguments, seen=[0]):
    if event == "import":
        seen[0] += 1
        if seen[0] == {number}:
            os.kill(os.getpid(), signal.SIGINT)
from trueness.cli import main
sys.addaudithook(at)
main({words}, prog_name="trueness")
"""


@pytest.mark.parametrize("number", [1, slow(2), 5, slow(20), 60, slow(100), slow(200)])
def test_ctrl_c_at_any_import_leaves_no_traceback(tmp_path, number):
    code = AT.format(number=number, words=["measure", "--demo", "--rows", "50"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) in [(130, ""), (-signal.SIGINT, "")]
    assert done.stderr in ("", "Interrupted.\n")


LOADED = """
import sys
import trueness
def at(event, arguments, seen=[0]):
    if event == "import" and arguments[0] == "trueness.cli._main" and not seen[0]:
        seen[0] = 1
        print("begun", file=sys.stderr, flush=True)
from trueness.cli import main
sys.addaudithook(at)
main(["report", "--demo", "--rows", "300"], prog_name="trueness")
"""


@pytest.mark.parametrize("delay", [0, slow(0.01), slow(0.03), 0.1, slow(0.2), slow(0.4), slow(0.8)])
def test_ctrl_c_soon_after_the_start_leaves_no_traceback(tmp_path, delay):
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    with subprocess.Popen([sys.executable, "-c", LOADED], **options) as process:
        assert process.stderr.readline() == "begun\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode in (130, -signal.SIGINT)


def test_a_process_that_ignores_ctrl_c_goes_on(process, tmp_path):
    def deaf():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    code = AT.format(number=5, words=["--version"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=deaf)
    assert done.returncode == 0
    assert done.stdout.startswith("trueness ")


def test_an_interrupt_that_meets_a_callback_is_not_lost(tmp_path):
    code = """
import signal, time, weakref
from trueness.cli._interrupt import interruptible, end_on_interrupt
class Thing: pass
end_on_interrupt()
try:
    with interruptible():
        one = Thing()
        kept = weakref.ref(one, lambda _: signal.raise_signal(signal.SIGINT))
        del one
        time.sleep(5)
        print("lost")
except KeyboardInterrupt:
    print("heard")
print(signal.getsignal(signal.SIGINT) is signal.SIG_DFL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("heard\nTrue\n", "")


def test_ctrl_c_while_options_are_read_ends_with_code_130(call, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("trueness.cli._main.Verbs.parse_args", interrupted)
    result = call("--help")
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


@pytest.mark.slow
def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(process, tmp_path):
    import resource

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    (tmp_path / "m.json").write_text("old")
    done = process("measure", "--demo", "--rows", "200", "--table", "-o", "m.json", preexec_fn=limited)
    assert done.returncode == 2
    assert done.stderr.endswith("Error: `--output` 'm.json' cannot be written: File too large.\n")
    assert (tmp_path / "m.json").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_a_reader_that_has_seen_enough_is_no_mistake(tmp_path):
    with started(tmp_path, "measure", "--demo", "--rows", "200", "--table", "--no-intervals") as process:
        process.stdout.close()
        err = process.stderr.read()
    assert "Error" not in err
    assert "Traceback" not in err


def test_a_disk_without_room_for_standard_input_is_a_paragraph(fails, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("shutil.copyfileobj", full)
    assert fails("measure", "-", stdin=ROWS) == "No space left on device."


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("verb", [["measure", "-", "--no-intervals"], slow(["report", "-"]), slow(["fit", "-"])])
def test_a_pipe_is_written_to_by_the_name_of_its_device(process, verb):
    done = process(*verb, "-o", "/dev/stdout", input=ROWS)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 300


def test_a_named_pipe_is_written_to_and_stays_one(process, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert process("measure", "-", "--no-intervals", "-o", "pipe", input=ROWS).returncode == 0
        assert "Brier" in reader.stdout.read()
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_a_reader_of_the_device_that_has_seen_enough_is_no_mistake(tmp_path):
    with started(tmp_path, "measure", "--demo", "--rows", "200", "--no-intervals", "-o", "/dev/stdout") as process:
        process.stdout.close()
        err = process.stderr.read()
    assert "Error" not in err
    assert "Traceback" not in err


@pytest.mark.parametrize("asked", [["gate", "--demo", "--max-ece", "1"], ["--help"]])
def test_a_closed_pipe_is_not_a_failed_gate(tmp_path, asked):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "trueness", *asked], stdout=write, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    os.close(write)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr


def test_a_message_that_nobody_reads_is_not_a_failed_gate(tmp_path):
    read, write = os.pipe()
    os.close(read)
    asked = [sys.executable, "-m", "trueness", "gate", "nowhere.csv", "--max-ece", "1"]
    done = subprocess.run(asked, stdout=write, stderr=write, cwd=tmp_path)
    os.close(write)
    assert done.returncode == 141


def test_ctrl_c_while_the_package_is_loaded_ends_with_code_130(tmp_path):
    code = """
import os, signal, sys
sys.addaudithook(lambda event, a: event == "import" and a[0] == "numpy" and os.kill(os.getpid(), signal.SIGINT))
from trueness.cli import main
main(["gate", "--demo", "--max-ece", "1"], prog_name="trueness")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stdout == ""
