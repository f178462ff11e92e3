"""``trueness reproduce``: the command of the package trueness-papers, where it is installed."""

from importlib.util import find_spec

import click

__all__ = ["command"]

_INSTALL = "`pip install trueness-papers`, or from a checkout `pip install ./papers`"


@click.command("reproduce", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def _not_installed(arguments: tuple[str, ...], debug: bool) -> None:  # noqa: ARG001  # as the installed one takes them
    """Recompute the tables and figures of the papers that trueness rests on.

    Needs the package trueness-papers: `pip install trueness-papers`, or from a checkout `pip install ./papers`.

    \b
      trueness reproduce --list

    Exit code 0: done. 2: the package is not installed.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    raise click.UsageError(f"`trueness reproduce` needs the package trueness-papers: {_INSTALL}.")


if find_spec("trueness_papers") is None:
    command: click.Command = _not_installed
else:
    from trueness_papers.command import command
