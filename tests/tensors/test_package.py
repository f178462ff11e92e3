"""The package itself: what it needs, and what it must not load or hide."""

import subprocess
import sys

import pytest

MISSING = """
import sys
sys.modules["torch"] = None
import trueness as tn
try:
    tn.torch
except tn.errors.MissingLibraryError as error:
    print(error)
"""


def said(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_without_torch_the_message_says_what_to_install():
    assert said(MISSING) == (
        "`trueness.torch` needs torch, which is not installed: `pip install 'trueness[torch]'`."
    )


@pytest.mark.slow
def test_a_star_import_does_not_hide_the_library_of_the_same_name():
    assert said("from trueness import *; print('torch' in globals())") == "False"
