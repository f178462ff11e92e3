"""Long work shows a bar on a terminal; pipes and files get nothing."""

import io
import sys
import time

import pytest

import trueness as tn
from trueness import _progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def written(monkeypatch):
    """What five steps of work write to standard error."""

    def run(stream, patience):
        # Set here: pytest puts its own stream back between the fixtures and the test.
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(_progress, "_PATIENCE", patience)
        monkeypatch.setattr(_progress, "_STARTED", time.monotonic())
        with _progress.progress_bar("Reading [bold]\x1b[31mx") as report:
            for done in range(5):
                report(done, 5)
        return stream.getvalue()

    return run


def test_long_work_shows_a_bar_on_a_terminal_and_wipes_it_out(written):
    text = written(Terminal(), -1.0)
    assert "\rReading [bold]?[31mx ░" in text
    assert text.endswith("\r\x1b[K")
    assert written(Terminal(), 60.0) == written(io.StringIO(), -1.0) == ""


def test_a_bar_appears_within_a_second_even_if_no_step_is_done(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert _progress._PATIENCE < 1
    monkeypatch.setattr(_progress, "_PATIENCE", 0.01)
    with _progress.progress_bar("Reading x") as report:
        time.sleep(0.05)
        assert stream.getvalue().startswith("\rReading x ░")
        report(1, 1)
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_bar_is_drawn_only_on_a_terminal_and_after_half_a_second(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    now = iter([0.0, 0.4, 3.0, 3.0, 3.01, 4.0])
    monkeypatch.setattr("trueness._progress.time.monotonic", lambda: next(now))
    report = _progress.reporter(True)
    report(1, 10)
    assert capsys.readouterr().err == ""
    report(5, 10)
    report(6, 10)
    drawn = capsys.readouterr().err
    assert drawn.count("\r") == 1
    assert "5 of 10, about 3 s left" in drawn
    report(10, 10)
    assert capsys.readouterr().err == "\r\x1b[K"


def test_a_function_of_the_caller_is_used_as_it_is():
    assert _progress.reporter(print) is print
    with pytest.raises(tn.InputError, match="`progress` must be True, False or a function"):
        _progress.reporter(3)
