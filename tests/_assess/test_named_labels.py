"""Labels that the caller names: which of them a vector of scores predicts."""

import numpy as np
import pytest

import trueness as tn

P = np.linspace(0.02, 0.98, 200)
HAPPENED = np.random.default_rng(0).uniform(size=P.size) < P


@pytest.mark.slow
@pytest.mark.parametrize("names", [(0, 1), (1, 0), ("no", "yes"), (False, True)])
def test_labels_may_be_an_array(names):
    y_true = np.array(names)[HAPPENED.astype(int)]
    listed = tn.assess(y_true, P, labels=list(names)).verdict
    in_array = tn.assess(y_true, P, labels=np.array(names)).verdict
    assert in_array == listed
    assert in_array.rate == (HAPPENED.mean())


def test_each_of_several_labels_has_its_segments():
    rng = np.random.default_rng(2)
    p = rng.random((60, 2))
    y = (rng.random((60, 2)) < p).astype(int)
    side = np.arange(60) % 2
    assessed = tn.assess(y, p, by={"side": side}, kind="multilabel")
    assert assessed.segments is None
    assert "There are no segments: each label has its own, in `classes`." in assessed.notes
    for label, alone in assessed.classes.items():
        column = int(label)
        asked = tn.segments(y[:, column], p[:, column], {"side": side}, level=alone.level)
        assert alone.segments == asked
