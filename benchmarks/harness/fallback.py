"""Equal-width ECE with the NumPy kernels, which are chosen when trueness is imported: hence in a fresh process."""

import json
import sys
import warnings
from dataclasses import asdict

from contenders import TASKS

from harness.process import child
from harness.rounds import Pace
from harness.rows import USUAL
from harness.table import Table, measured

_NAMES = ("trueness", "p.sum() + y.sum()", "relplot", "torchmetrics")


def fallback(n: int, pace: Pace) -> Table | None:
    found = child("harness.fallback", str(n), json.dumps(asdict(pace)), TRUENESS_KERNELS="reference")
    return None if found is None else Table.from_dict(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    n_rows, chosen = int(sys.argv[1]), Pace(**json.loads(sys.argv[2]))
    print(json.dumps(asdict(measured(TASKS["ece"], n_rows, USUAL, chosen, only=_NAMES))))
