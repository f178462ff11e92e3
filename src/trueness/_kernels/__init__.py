"""The few loops that decide the speed, each behind one name.

Every kernel exists twice: in NumPy (:mod:`trueness._kernels.reference`, which documents it) and in
C (:mod:`trueness._kernels.compiled`). The compiled one is used if its library could be built,
unless the environment variable ``TRUENESS_KERNELS`` is ``reference``.
"""

import os

from trueness._kernels import library, reference
from trueness._kernels.library import BAD_LABEL, BAD_SCORE, BAD_SUM, BAD_WEIGHT, OUTSIDE_EDGES

if library.available() and os.environ.get("TRUENESS_KERNELS") != "reference":
    from trueness._kernels.compiled import *  # noqa: F403  # the names in __all__ of the reference

    _implementation = "compiled"
else:
    from trueness._kernels.reference import *  # noqa: F403

    _implementation = "reference"

__all__ = ["BAD_LABEL", "BAD_SCORE", "BAD_SUM", "BAD_WEIGHT", "OUTSIDE_EDGES", "implementation"]
__all__ += reference.__all__


def implementation() -> str:
    """Which kernels are in use: ``"compiled"`` or ``"reference"``."""
    return _implementation
