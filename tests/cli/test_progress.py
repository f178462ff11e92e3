"""A bar for long work on a terminal, and nothing for anybody else."""

import io
import sys

import pytest

from trueness.cli import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What five steps of work write to standard error."""

    def run(stream, patience):
        # Set here: pytest puts its own stream back between the fixtures and the test.
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(_progress, "_PATIENCE", patience)
        with _progress.progress("Reading [bold]x[/bold]") as report:
            for done in range(5):
                report(done, 5)
        return stream.getvalue()

    return run


def test_long_work_shows_a_bar_with_names_as_text(shown):
    pytest.importorskip("rich")
    assert "Reading [bold]x[/bold]" in shown(Terminal(), 0.0)


def test_short_work_shows_none(shown):
    assert shown(Terminal(), 60.0) == ""


def test_without_rich_there_is_none(shown, without):
    without("rich")
    assert shown(Terminal(), 0.0) == ""


def test_a_pipe_is_left_alone(shown):
    assert shown(io.StringIO(), 0.0) == ""
