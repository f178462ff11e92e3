"""Whatever goes wrong while a file is written, the old one stays, and nothing else."""

import errno
import os
import stat
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
    for save in (tn.Accumulator().save, tn.sketch([0], [0.5]).save):
        with pytest.raises(FileNotFoundError) as told:
            save(tmp_path / "nowhere" / "x.tally")
        assert Path(told.value.filename) == tmp_path / "nowhere" / "x.tally"
        with pytest.raises(IsADirectoryError):
            save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_file_can_have_is_refused():
    for path in ("", "a\0b", 3, b"x.tally"):
        with pytest.raises(
            tn.InputError, match="`path` must be the name of a file, as text or a Path; got"
        ):
            saved(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(tn.InputError, match="must be a file; it is a device or a pipe"):
        saved(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as told:
        replace_file(tmp_path / "x", lambda file: (tmp_path / "source").read_bytes())
    assert told.value.filename.endswith("source")


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, step, error):
    path = tmp_path / "x.tally"
    seen = saved(path)
    before = path.read_bytes()
    seen.update([1], [0.5])

    def fail(*_):
        raise error

    monkeypatch.setattr(step, fail)
    with pytest.raises(type(error)) as told:
        seen.save(path)
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert (told.value.errno, told.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.tally"]
    seen.save(path)  # once there is room
    assert tn.Accumulator.load(path).n == 3


@pytest.mark.skipif(os.name == "nt", reason="needs permissions of POSIX")
def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    (tmp_path / "plain").touch()
    saved(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "new").chmod(0o640)
    saved(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
