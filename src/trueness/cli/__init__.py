"""The command line: parse, call, print, exit code.

Only what Ctrl-C needs is imported here. click comes next; arrays, frames and rich are imported by the commands that
need them, so that ``trueness --help`` answers at once.
"""

import sys
from typing import Any

from trueness.cli._interrupt import discard_output, end_on_interrupt, open_closed_streams

__all__ = ["main"]


def main(*arguments: Any, **options: Any) -> Any:
    """Run the command with the arguments that click takes. Ctrl-C ends it at any time without a traceback."""
    end_on_interrupt()
    open_closed_streams()
    try:
        from trueness.cli._main import main as command
    except KeyboardInterrupt:  # where another handler than the usual one listens
        raise SystemExit(130) from None
    except ModuleNotFoundError as reason:
        if reason.name != "click":
            raise
        sys.stderr.write("Error: `trueness` needs click, rich and Polars: `pip install 'trueness[cli]'`.\n")
        raise SystemExit(2) from None
    try:
        return command(*arguments, **options)
    except BrokenPipeError:  # a message that nobody reads
        discard_output()
        raise SystemExit(141) from None
    except OSError:  # a message that cannot be written, to a full disk; 1 would be a failed gate
        discard_output()
        raise SystemExit(2) from None
