"""An error names the user's row, whatever rows were dropped or repeated before it was noticed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.errors import InputError

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.DroppedRowsWarning", "ignore::trueness.errors.FewClustersWarning"
)

N = 12
Y = np.arange(N) % 2
P = np.linspace(0.1, 0.9, N)
M = np.column_stack([P, 1 - P])


def with_bad(array, row, value):
    found = np.array(array, dtype=float)
    found[row] = value
    return found


# How a value is bad, as arguments that a measure refuses because of it.
BAD = {
    "score": lambda row, y, p, m: {"y_true": y, "y_prob": with_bad(p, row, 7)},
    "label": lambda row, y, p, m: {"y_true": with_bad(y, row, 3), "y_prob": p},
    "weight": lambda row, y, p, m: {
        "y_true": y,
        "y_prob": p,
        "sample_weight": with_bad(np.ones(N), row, -1),
    },
    "large weight": lambda row, y, p, m: {
        "y_true": y,
        "y_prob": p,
        "sample_weight": with_bad(p, row, 1e200),
    },
    "named label": lambda row, y, p, m: {
        "y_true": with_bad(y, row, 3),
        "y_prob": p,
        "labels": [0, 1],
    },
    "entry": lambda row, y, p, m: {"y_true": y, "y_prob": with_bad(m, (row, 1), 7)},
    "sum": lambda row, y, p, m: {"y_true": y, "y_prob": with_bad(m, (row, 1), 0.05)},
    "class": lambda row, y, p, m: {"y_true": with_bad(y, row, 2), "y_prob": m},
    "logit": lambda row, y, p, m: {
        "y_true": y,
        "y_prob": with_bad(m, (row, 1), np.inf),
        "from_logits": True,
    },
    "no logit": lambda row, y, p, m: {
        "y_true": y,
        "y_prob": with_bad(m, row, -np.inf),
        "from_logits": True,
    },
}


def named(call):
    with pytest.raises(InputError) as caught:
        call()
    return caught.value.place.row


@pytest.mark.parametrize("bad", BAD)
@given(
    row=st.integers(0, N - 1),
    gone=st.sets(st.integers(0, N - 1)),
    where=st.sampled_from(["y", "p"]),
)
def test_dropping_never_changes_a_named_row(bad, row, gone, where):
    missing = sorted(gone - {row})
    y, p, m = Y.astype(float), P.copy(), M.copy()
    if where == "y":
        y[missing] = np.nan
    else:
        p[missing], m[missing] = np.nan, np.nan
    asked = BAD[bad](row, y, p, m)
    if bad != "class" and asked["y_prob"].ndim == 2:
        asked |= {"labels": range(M.shape[1])}  # the first class may be gone
    assert named(lambda: tn.ece(**asked, missing="drop")) == row
    assert named(lambda: tn.report(**asked, missing="drop", progress=False)) == row


@pytest.mark.parametrize("bad", ["score", "label", "entry", "class"])
@pytest.mark.parametrize("row", [0, 5, 11])
def test_weights_and_clusters_never_change_a_named_row(bad, row):
    asked = BAD[bad](row, Y, P, M) | {
        "sample_weight": np.where(np.arange(N) == row, 1, np.arange(N) % 3)
    }
    cluster = np.arange(N) // 2
    assert named(lambda: tn.ece_interval(**asked, cluster=cluster)) == row
    assert named(lambda: tn.calibration_test(**asked, cluster=cluster)) == row
    assert named(lambda: tn.report(**asked, progress=False)) == row
    p = asked.pop("y_prob")
    other = np.where(np.isnan(p), p, 0.5)
    assert named(lambda: tn.compare(asked.pop("y_true"), {"a": p, "b": other}, **asked)) == row


def test_a_row_that_follows_a_dropped_one_by_hand():
    with pytest.raises(InputError, match=r"1 of 2 values does not, the first is 7 at row 2\."):
        tn.ece([0, 1, 1], [float("nan"), 0.5, 7], missing="drop")
