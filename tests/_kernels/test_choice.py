import os
import subprocess
import sys
from pathlib import Path

import pytest

import trueness
from trueness import _kernels
from trueness._kernels import compiled, library, reference

built = pytest.mark.skipif(not library.available(), reason="the compiled kernels were not built")


def implementation(**environment):
    code = "from trueness import _kernels; print(_kernels.implementation(), _kernels.bin_sums.__module__)"
    path = str(Path(trueness.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_reference_can_be_asked_for():
    assert implementation(TRUENESS_KERNELS="reference") == [
        "reference",
        "trueness._kernels.reference",
    ]


@built
def test_the_compiled_kernels_are_used_where_they_were_built():
    assert implementation(TRUENESS_KERNELS="") == ["compiled", "trueness._kernels.compiled"]


def test_both_implementations_have_the_same_names():
    assert compiled.__all__ == reference.__all__
    assert set(reference.__all__) < set(_kernels.__all__)


def test_without_a_library_the_reference_serves(tmp_path):
    copy = tmp_path / "trueness"
    copy.mkdir()
    (copy / "__init__.py").touch()
    (copy / "_kernels").mkdir()
    for file in Path(_kernels.__file__).parent.glob("*.py"):
        (copy / "_kernels" / file.name).write_text(
            file.read_text(encoding="utf-8"), encoding="utf-8"
        )
    code = "from trueness import _kernels; print(_kernels.implementation())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TRUENESS_KERNELS": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["reference"]
