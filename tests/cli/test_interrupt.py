"""Ctrl-C, a full disk, a reader that goes away: what is left behind, and which code says so."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import trueness as tn

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals and devices of POSIX")

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
ROWS = "y,p\n" + "".join(f"{i % 2},{i / 100:.2f}\n" for i in range(100))


def started(folder, *arguments, begin=("-m", "trueness"), **options):
    return subprocess.Popen(
        [sys.executable, *begin, *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": folder}
        | options,
    )


def test_ctrl_c_in_the_middle_of_the_work_ends_with_code_130_and_leaves_the_old_file(tmp_path):
    (tmp_path / "x.csv").write_text(
        "y,a,b\n" + "".join(f"{i % 2},{i / 100:.2f},0.5\n" for i in range(100))
    )
    (tmp_path / "out.csv").write_text("old")
    asked = [
        "--prob",
        "a",
        "--prob",
        "b",
        "--measure",
        "ece",
        "--resamples",
        "1000000",
        "-o",
        "out.csv",
    ]
    process = started(tmp_path, "compare", "x.csv", *asked)
    assert process.stderr.readline().startswith(
        "note: labels from column 'y'"
    )  # by now the work begins
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "Interrupted.\n")
    assert process.returncode in (130, -signal.SIGINT)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "x.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


# Ctrl-C while the new file is half written.
HALF = """
import os, signal
from trueness.cli import main
os.fsync = lambda file: os.kill(os.getpid(), signal.{})
main()
"""


@pytest.mark.parametrize(
    "asked",
    [
        ["measure", "x.csv", "--no-intervals", "-o", "new.csv"],
        pytest.param(
            ["tally", "x.csv", "--save-every", "0", "-o", "new.tally"], marks=pytest.mark.slow
        ),
        pytest.param(
            ["report", "x.csv", "--no-intervals", "-o", "new.html"], marks=pytest.mark.slow
        ),
    ],
)
def test_ctrl_c_in_the_middle_of_writing_leaves_no_half_file(tmp_path, asked):
    (tmp_path / "x.csv").write_text(ROWS)
    process = started(tmp_path, *asked, begin=("-c", HALF.format("SIGINT")))
    assert process.communicate(timeout=60)[1].endswith("Interrupted.\n")
    assert process.returncode in (130, -signal.SIGINT)
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_to_end_in_the_middle_of_writing_leaves_no_half_file(tmp_path, number, code):
    (tmp_path / "x.csv").write_text(ROWS)
    heard = f"import signal; signal.signal(signal.{number}, signal.SIG_DFL)"  # tests started by nohup ignore a hang-up
    process = started(
        tmp_path, "tally", "x.csv", "-o", "new.tally", begin=("-c", heard + HALF.format(number))
    )
    assert "Traceback" not in process.communicate(timeout=60)[1]
    assert process.returncode == code
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("module", ["click", "trueness.cli._gate"])
def test_ctrl_c_while_the_command_is_loaded_ends_with_code_130(module):
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


@needs_full
@pytest.mark.parametrize(
    ("streams", "code"),
    [(">&- 2>&-", 0), pytest.param(">/dev/full 2>/dev/full", 2, marks=pytest.mark.slow)],
)
def test_a_stream_that_cannot_be_written_is_no_failed_gate(tmp_path, streams, code):
    (tmp_path / "x.csv").write_text(ROWS)
    gate = f"{sys.executable} -m trueness gate x.csv --label y --prob p --max-ece 0.9 {streams}"
    assert subprocess.run(["sh", "-c", gate], cwd=tmp_path).returncode == code


@needs_full
def test_a_device_that_is_full_is_a_paragraph_and_code_2(fails):
    message = fails("measure", "-", "-o", "/dev/full", stdin=ROWS)
    assert message == "`--output` '/dev/full' cannot be written: No space left on device."
    assert not Path("/dev/full").is_file()


@needs_full
@pytest.mark.parametrize(
    "asked",
    [
        ["--help"],
        pytest.param(
            ["measure", "--demo", "--rows", "50", "--no-intervals"], marks=pytest.mark.slow
        ),
    ],
)
def test_standard_output_that_is_full_is_one_line_and_code_2(process, asked, monkeypatch):
    # As users have it: of unbuffered output nothing is left to be written at the end.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w") as full:
        done = process(*asked, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "Error: No space left on device.")


@needs_full
def test_a_disk_without_room_for_parquet_is_not_a_truncated_input(fails, tmp_path):
    pl = pytest.importorskip("polars")
    pl.DataFrame({"y": [0, 1] * 8, "p": [0.25, 0.75] * 8}).write_parquet(tmp_path / "x.parquet")
    tn.PlattScaling().fit([0.2, 0.6, 0.4, 0.8], [0, 0, 1, 1]).save(tmp_path / "map.json")
    message = fails(
        "apply", "x.parquet", "--prob", "p", "--calibrator", "map.json", "-o", "/dev/full"
    )
    assert message == "`--output` '/dev/full' cannot be written: No space left on device."


def test_a_disk_without_room_for_standard_input_is_a_paragraph(fails, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("shutil.copyfileobj", full)
    assert fails("measure", "-", stdin=ROWS) == "No space left on device."


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_a_pipe_is_written_to_by_the_name_of_its_device(process):
    done = process("measure", "-", "--no-intervals", "-o", "/dev/stdout", input=ROWS)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 300


def test_a_named_pipe_is_written_to_and_stays_one(call, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert call("measure", "-", "--no-intervals", "-o", "pipe", stdin=ROWS).exit_code == 0
        assert "Brier" in reader.stdout.read()
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("asked", "streams"),
    [
        pytest.param(["gate", "--demo", "--max-ece", "1"], ["stdout"], marks=pytest.mark.slow),
        pytest.param(["--help"], ["stdout"], marks=pytest.mark.slow),
        pytest.param(
            ["measure", "--demo", "--rows", "50", "--no-intervals", "-o", "/dev/stdout"],
            ["stdout"],
            marks=pytest.mark.slow,
        ),
        (["gate", "nowhere.csv", "--max-ece", "1"], ["stdout", "stderr"]),
    ],
)
def test_a_closed_pipe_is_not_a_failed_gate(tmp_path, asked, streams):
    read, write = os.pipe()
    os.close(read)
    given = {"stderr": subprocess.PIPE, **dict.fromkeys(streams, write)}
    done = subprocess.run(
        [sys.executable, "-m", "trueness", *asked], text=True, cwd=tmp_path, **given
    )
    os.close(write)
    assert done.returncode == 141
    assert "rror" not in (done.stderr or "")
