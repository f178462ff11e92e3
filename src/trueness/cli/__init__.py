"""The command line: parse, call, print, exit code.

Nothing is imported here but what Ctrl-C needs; click, arrays, frames and rich are imported later, the last three by the
verb that needs them, so that ``trueness --help`` answers at once.
"""

from typing import Any

from trueness.cli._interrupt import end_on_interrupt

__all__ = ["main"]


def main(*arguments: Any, **options: Any) -> Any:
    """Run the command, with the arguments that click takes; Ctrl-C ends it without a traceback at any time."""
    end_on_interrupt()
    try:
        from trueness.cli._main import main as command
    except KeyboardInterrupt:  # where another handler than the usual one listens
        raise SystemExit(130) from None
    return command(*arguments, **options)
