"""One-sided limits of the ECE from labels and scores, for comparison."""

import numpy as np

from trueness._tally.evidence import Evidence
from trueness.infer.limits._ece import ece_limits_of


def ece_limits(y, p=None, *, bins=10, level=0.95, cluster=None, weight_type="frequency", seed=None, **rows):
    evidence = Evidence.of(y, p, rows, kind="confidence", cluster=cluster, weight_type=weight_type)
    return ece_limits_of(evidence, bins=bins, level=level, rng=np.random.default_rng(seed))
