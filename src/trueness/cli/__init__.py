"""The command line: parse, call, print, exit code.

Only click is imported here; arrays, frames and rich are imported by the verb that needs them, so that
``trueness --help`` answers at once.
"""

from trueness.cli._main import main

__all__ = ["main"]
