"""The command line: parse, call, print, exit code.

click is imported first; arrays, frames and rich by the commands that need them, so that ``trueness
--help`` answers at once.
"""

import os
import sys

__all__ = ["main"]


def main(*arguments: object, **options: object) -> object:
    """Run the command with the arguments that click takes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before the start, as by ``>&-``
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    try:
        from trueness.cli._main import main as command

        return command(*arguments, **options)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as reason:
        if reason.name != "click":
            raise
        sys.stderr.write(
            "Error: `trueness` needs click, rich and Polars: `pip install 'trueness[cli]'`.\n"
        )
        raise SystemExit(2) from None
    except OSError as reason:
        # A message that nobody reads, or a full disk; exit code 1 would be a failed gate.
        from trueness.cli._main import discard_output

        discard_output()
        raise SystemExit(141 if isinstance(reason, BrokenPipeError) else 2) from None
