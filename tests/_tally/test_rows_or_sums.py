"""The first arguments of a measure: rows, or sums in place of them."""

import numpy as np
import pytest

import trueness as tn

RNG = np.random.default_rng(3)
P = RNG.random(50)
Y = RNG.integers(0, 2, 50)
M = np.column_stack([1 - P, P / 2, P / 2])
every_form = pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])

DEFAULTS = {
    "labels": None,
    "pos_label": None,
    "sample_weight": None,
    "missing": "raise",
    "clip_tolerance": 0.0,
    "sum_tolerance": None,
    "from_logits": False,
    "percent": False,
}
OTHERS = {
    "labels": [0, 1],
    "pos_label": 1,
    "sample_weight": np.ones(50),
    "missing": "drop",
    "clip_tolerance": 0.1,
    "sum_tolerance": 1e-3,
    "from_logits": True,
    "percent": True,
}


@every_form
def test_sums_take_options_of_rows_only_at_their_defaults(make):
    sums = make(Y, P)
    assert tn.ece(sums, **DEFAULTS) == tn.ece(sums, kind="classwise") == tn.ece(sums)
    for name, value in OTHERS.items():
        with pytest.raises(
            tn.InputError,
            match=f"`{name}` describes rows; this {type(sums).__name__} already holds",
        ):
            tn.ece(sums, **{name: value})


@every_form
def test_a_view_of_sums_is_the_one_they_were_made_with(make):
    for kind in ("classwise", "confidence", "top-label"):
        sums = make(Y, M, kind=kind, labels=[0, 1, 2])
        assert tn.ece(sums, kind=kind) == tn.ece(sums)
        for other in {"classwise", "confidence", "top-label"} - {kind}:
            with pytest.raises(
                tn.InputError, match=f"`kind` is '{other}', but this .* was made with kind='{kind}'"
            ):
                tn.ece(sums, kind=other)
    with pytest.raises(tn.InputError, match="made with kind='binary'"):
        tn.ece(make(Y, P), kind="confidence")


def test_a_vector_has_no_view_but_its_own():
    assert tn.ece(Y, P, kind="classwise") == tn.ece(Y, P)
    for kind in ("confidence", "top-label"):
        with pytest.raises(tn.InputError, match=f"`kind='{kind}'` needs a matrix of scores"):
            tn.ece(Y, P, kind=kind)


def test_as_many_bins_as_rows_are_no_reason_to_warn():
    tn.ece([0, 1, 1], [0.1, 0.5, 0.9], bins=3)
    tn.tce([0, 1, 1], [0.1, 0.5, 0.9], bins=3)
    tn.tce([0, 1, 1], [0.1, 0.5, 0.9])  # a rule that asks for no number of bins
    for measure in (tn.ece, tn.tce):
        with pytest.warns(
            tn.errors.FewRowsWarning, match=r"There are fewer rows \(3\) than bins \(4\)\."
        ):
            measure([0, 1, 1], [0.1, 0.5, 0.9], bins=4)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1], "There is one label: the measure sees"),
        ([0, 0], "All 2 labels are equal: the measure sees"),
    ],
)
def test_one_class_is_counted_in_the_warning(y, message):
    P2 = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])[: len(y)]
    for rows in ((y, P2[:, 0]), (y, P2)):
        with pytest.warns(tn.errors.OneClassWarning, match=message):
            tn.ece(*rows, bins=1, **({"labels": [0, 1, 2]} if rows[1].ndim == 2 else {}))
    for measure in (tn.brier, tn.log_loss, tn.tally, tn.sketch):
        with pytest.warns(tn.errors.OneClassWarning, match=message):
            measure(y, P2, kind="confidence", labels=[0, 1, 2])


def test_pieces_of_an_accumulator_may_hold_one_class():
    for bins in ("sketch", "distinct", 4):
        for kind in ("classwise", "confidence"):
            seen = tn.Accumulator(bins, kind=kind, labels=[0, 1, 2])
            seen.update([0, 0], M[:2])  # warnings are errors
            seen.update([1, 1], M[2:4])
            assert seen.n == 4


def test_dropped_rows_are_counted_among_all():
    with pytest.warns(
        tn.errors.DroppedRowsWarning, match=r"2 of 5 rows have a missing value and were dropped\."
    ):
        found = tn.ece([0, 1, None, 1, 0], [0.1, 0.5, 0.4, None, 0.9], bins=2, missing="drop")
    assert found == tn.ece([0, 1, 0], [0.1, 0.5, 0.9], bins=2)


def test_no_rows_make_empty_sums_only_where_bins_need_none():
    assert tn.tally([], []).n == tn.sketch([], []).n == tn.binned([], [], bins=[0, 0.5, 1]).n == 0
    for rule in (tn.EqualMass(2), tn.Isotonic()):
        with pytest.raises(tn.InputError):
            tn.binned([], [], bins=rule)


def test_bins_without_second_moments_have_the_measures_that_need_none():
    data = tn.binned(Y, P, bins=4).to_dict()
    data["parts"][0]["moments"] = False
    bins = tn.sources.Binned.from_dict(data)
    assert tn.ece(bins, bins=4) == tn.ece(Y, P, bins=4)
    assert tn.mce(bins, bins=2) == tn.mce(Y, P, bins=2)
    assert tn.bin_table(bins, bins=4).rate.tolist() == tn.bin_table(Y, P, bins=4).rate.tolist()
    for measure in (tn.brier, lambda sums: tn.squared_ece(sums, bins=4)):
        with pytest.raises(tn.InputError, match="These bins were made without second moments"):
            measure(bins)


@pytest.mark.parametrize("measure", [tn.ece, tn.tce, tn.log_loss])
def test_measures_need_rows(measure):
    with pytest.raises(tn.InputError, match="must have at least one row"):
        measure([], [])
    with pytest.raises(tn.InputError, match="must have at least one complete row"):
        measure([None, 1], [0.5, None], missing="drop")
    with pytest.raises(
        tn.InputError,
        match="`y_prob` is missing: pass labels and scores, or a Tally in place of both",
    ):
        measure([0, 1])
