"""The command line: parse, call, print, exit code.

Only click is imported here; arrays, frames and rich are imported by the verb that needs them, so that
``trueness --help`` answers at once.
"""

try:
    from trueness.cli._main import main
except KeyboardInterrupt:  # Ctrl-C before there is a command that could say so
    raise SystemExit(130) from None

__all__ = ["main"]
