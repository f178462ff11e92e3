"""Shell lines of workflow files, and programs that stand in for those of a runner."""

import re
import sys


def run_lines(workflow):
    """The shell commands of a GitHub workflow, in order."""
    found = re.findall(
        r"^( +)(?:- )?run: (?:\|\n((?:\1 {2,}.*\n)+)|(.*)\n)", workflow, re.MULTILINE
    )
    return [block or line for _, block, line in found]


def stand_ins(folder, **more):
    """Write programs that a runner has into a folder: trueness and python are those of this test."""
    programs = {
        "python": f'{sys.executable} "$@"',
        "trueness": f'{sys.executable} -m trueness "$@"',
        **more,
    }
    folder.mkdir()
    for program, does in programs.items():
        (folder / program).write_text(f"#!/bin/sh\n{does}\n")
        (folder / program).chmod(0o755)
