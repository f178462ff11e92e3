"""Importing trueness costs little more than importing NumPy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import trueness

HEAVY = {"pandas", "polars", "pyarrow", "matplotlib", "sklearn", "torch"} | {
    "scipy",
    "narwhals",
    "click",
    "rich",
    "jinja2",
}


def test_nothing_heavy_is_loaded():
    code = (
        "import trueness as tn, numpy as np, sys, json; tn.ece([0, 0, 1, 1], [.1, .2, .8, .9], bins=2)\n"
        "tn.ace(np.array([0, 1]), np.array([.1, .9]), bins=2); print(json.dumps(list(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.partition(".")[0] for name in json.loads(done.stdout)} & HEAVY


def test_every_public_name_can_be_had_and_is_listed():
    import trueness as tn

    for name in tn.__all__:
        assert getattr(tn, name) is not None
    assert set(dir(tn)) == set(tn.__all__)
    with pytest.raises(AttributeError, match="no attribute 'eec'"):
        tn.eec  # noqa: B018


@pytest.mark.slow
def test_a_report_leaves_what_scikit_learn_and_scipy_do_not_use(tmp_path):
    arguments = ["report", "--demo", "--rows", "100", "-o", str(tmp_path / "page.html")]
    code = (
        f"from trueness.cli import main\ntry: main({arguments}, prog_name='trueness')\nexcept SystemExit: pass\n"
        "import sys; names = ('sklearn.base', 'scipy.stats._stats_py', 'pandas.core', 'numpy.f2py.crackfortran',"
        " 'numpy.testing._private')\n"
        "print([name for name in names if name in sys.modules])\n"
        "import scipy.stats; print(scipy.stats.binomtest(3, 10, 0.3).pvalue)\n"  # and it can be used afterwards
        "import numpy.testing; print(numpy.testing.assert_equal(1, 1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-3:] == ["['sklearn.base']", "1.0", "None"]


def test_modules_are_deferred_within_the_context_only():
    code = (
        f"import sys; sys.path.insert(0, {str(Path(trueness.__file__).parents[1])!r})\n"  # -S leaves out site-packages
        "from trueness._lazy import deferred\n"
        "with deferred('fractions', 'nothing_like_it'):\n"
        "    import fractions\n    assert 'numbers' not in sys.modules\n"
        "    try: import nothing_like_it\n    except ModuleNotFoundError: pass\n"
        "import colorsys; print(type(colorsys).__name__, fractions.Fraction(1, 2), 'numbers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout == "module 1/2 True\n", done.stderr
