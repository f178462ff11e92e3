"""Labels that the caller names: which of them a vector of scores predicts."""

import numpy as np
import pytest

import trueness as tn

P = np.linspace(0.02, 0.98, 200)
HAPPENED = np.random.default_rng(0).uniform(size=P.size) < P


@pytest.mark.parametrize("names", [(0, 1), (1, 0), ("no", "yes"), (False, True)])
def test_labels_may_be_an_array(names):
    y_true = np.array(names)[HAPPENED.astype(int)]
    listed = tn.assess(y_true, P, labels=list(names)).verdict
    in_array = tn.assess(y_true, P, labels=np.array(names)).verdict
    assert in_array == listed
    assert in_array.rate == (HAPPENED.mean())
