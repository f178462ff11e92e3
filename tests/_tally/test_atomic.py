"""Whatever goes wrong while a file is written, the old one stays, and nothing else."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import trueness as tn
from trueness._tally.atomic import replace_file


def saved(path):
    seen = tn.Accumulator()
    seen.update([0, 1], [0.2, 0.7])
    seen.save(path)
    return seen


def test_a_folder_that_is_not_there_is_named_as_it_was_asked_for(tmp_path):
    for save in (tn.Accumulator().save, tn.sketch([0], [0.5]).save, tn.tally([0], [0.5]).save):
        with pytest.raises(FileNotFoundError) as told:
            save(tmp_path / "nowhere" / "x.tally")
        assert Path(told.value.filename) == tmp_path / "nowhere" / "x.tally"
        with pytest.raises(IsADirectoryError):
            save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(tn.InputError, match="must be a file; it is a device or a pipe"):
        saved(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    def fill(file):
        (tmp_path / "source").read_bytes()

    with pytest.raises(FileNotFoundError) as told:
        replace_file(tmp_path / "x", fill)
    assert told.value.filename.endswith("source")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, code):
    path = tmp_path / "x.tally"
    seen = saved(path)
    before = path.read_bytes()
    seen.update([1], [0.5])

    def full(handle):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"x\.tally") as told:
        seen.save(path)
    assert told.value.errno == code
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.tally"]
    seen.save(path)  # once there is room
    assert tn.Accumulator.load(path).n == 3


FULL = """
import resource, sys
import trueness as tn
seen = tn.Accumulator.load("x.tally")
seen.update([1] * 1000, [i / 1000 for i in range(1000)])
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    seen.save("x.tally")
except OSError as reason:
    print(reason.strerror, reason.filename)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of the size of files")
def test_a_file_that_finds_no_room_leaves_the_old_one(tmp_path):
    saved(tmp_path / "x.tally")
    before = (tmp_path / "x.tally").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.startswith("File too large ")
    assert done.stdout.rstrip().endswith("x.tally")
    assert (tmp_path / "x.tally").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.tally"]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs rights that can be taken away")
def test_a_folder_that_may_not_be_written_is_an_error_that_names_the_file(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match=r"x\.tally"):
            saved(tmp_path / "x.tally")
    finally:
        tmp_path.chmod(0o700)


KILLED = """
import os, sys
from pathlib import Path
from trueness._tally.atomic import replace_file
def fill(file):
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
replace_file(Path("x.tally"), fill)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks that a kill releases")
def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_of_a_running_one(tmp_path):
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": tmp_path}
    (tmp_path / ".x.tally.settings").write_text("of the user")
    killed, running = (subprocess.Popen([sys.executable, "-c", KILLED], **options) for _ in range(2))
    for writer in (killed, running):
        assert writer.stdout.readline() == "begun\n"
    assert len(list(tmp_path.glob(".x.tally.*.trueness"))) == 2
    killed.kill()
    killed.communicate()
    saved(tmp_path / "x.tally")
    (left,) = tmp_path.glob(".x.tally.*.trueness")
    assert left.read_bytes() == b"half"
    running.communicate("", timeout=60)
    assert (running.returncode, (tmp_path / "x.tally").read_bytes()) == (0, b"half")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".x.tally.settings", "x.tally"]


def test_a_link_that_leads_to_itself_is_an_error_of_the_system(tmp_path):
    (tmp_path / "x.tally").symlink_to(tmp_path / "x.tally")
    for call in (saved, tn.Tally.load):
        with pytest.raises(OSError, match=r"x\.tally") as caught:
            call(tmp_path / "x.tally")
        assert caught.value.errno == errno.ELOOP
