"""A few numbers from an installed trueness; the argument says which kernels it must have."""

import sys

import trueness as tn
from trueness import _kernels

y, p = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]
assert "src" not in tn.__file__.split("trueness")[0].split("/"), (
    "the installed package, not the checkout"
)
assert _kernels.implementation() == sys.argv[1], _kernels.implementation()
assert abs(tn.ece(y, p, bins=2) - 0.15) < 1e-15
assert tn.tce(y, p, bins=2) == 0.0
assert tn.ece(tn.tally(y, p), bins=2) == tn.ece(y, p, bins=2)
print(f"trueness {tn.__version__} with {_kernels.implementation()} kernels: fine")  # noqa: T201
