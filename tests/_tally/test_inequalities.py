"""Stored sums satisfy the inequalities that the sums of rows obey, or are refused by the name of the one they break."""

import time

import numpy as np
import pytest

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

Y, P = [0, 1, 1], [0.2, 0.25, 0.75]
BIG = 2**62


def part_of(make, **options):
    data = make(Y, P, **options).to_dict()
    return data, data["parts"][0]


def binned_with(row, column, number, *, label=0):
    data, part = part_of(tn.binned, bins=2)
    part["table"][row][label][column] = number
    return tn.Binned, data


def floats_with(column, number, *, whole=False, count=None):
    data, part = part_of(tn.binned, bins=2, sample_weight=[0.5, 2, 3])
    part["floats"][1][column] = number
    part["whole"] = whole
    part["count"] = count or part["count"]
    return tn.Binned, data


def tally_with(weights=None, **columns):
    data, part = part_of(tn.tally, sample_weight=weights)
    part.update(columns)
    return tn.Tally, {**data, "parts": [{k: v for k, v in part.items() if v is not None}]}


def sketch_with(name, at, number):
    data, part = part_of(tn.sketch)
    values = part[name]
    for i in at[:-1]:
        values = values[i]
    values[at[-1]] = number
    return tn.Sketch, data


def scaled(data, factor):
    """Stored sums of real weights, with all weights multiplied by a factor."""
    powers = {"weight": 1, "events": 1, "floats": 1, "squares": 2, "event_squares": 2}
    parts = [
        {name: (np.array(v) * factor ** powers[name]).tolist() if name in powers else v for name, v in part.items()}
        for part in data["parts"]
    ]
    for part in parts:
        if data["what"] == "trueness.binned":  # the second column is Σw²
            part["floats"] = [[row[0], row[1] * factor, *row[2:]] for row in part["floats"]]
    return {**data, "parts": parts}


# One event of score 1 and one non-event of score 0: Σp² is 1.
BINS = tn.binned([0, 1], [0.0, 1.0], bins=1, sample_weight=[0.5, 0.5]).to_dict()

IMPOSSIBLE = {
    "Σp of 2⁵² from one row": (binned_with(1, 1, 2**52, label=1), "Σp must be at most the number of rows"),
    "Σp beyond the edges": (binned_with(1, 1, 2**24, label=1), "Σwp of a bin must lie within the edges"),
    "lower bits": (binned_with(0, 2, 2**40), "the lower bits"),
    "squares beyond the scores": (binned_with(1, 3, 2**26, label=1), "too large for scores within the edges"),
    "squares below Cauchy-Schwarz": (binned_with(1, 3, 0, label=1), r"\(Σwp\)² of a bin must be at most Σw Σwp²"),
    "squares below those of events and others": (
        (tn.Binned, {**BINS, "parts": [{**BINS["parts"][0], "floats": [[2.0, 2.0, 1.0, 1.0, 0.5, 1.0]]}]}),
        r"Σwp² must be at least \(Σwp\)² / Σw of events plus that of non-events",
    ),
    "more events than weight": (floats_with(2, 4.0), "Σwy must lie between 0 and Σw"),
    "scores of events": (floats_with(5, 0.0), "Σwp of events must lie within the edges"),
    "Σw² of real weights": (floats_with(1, 1e6), "Σw² must lie between"),
    "Σw² of whole weights": (floats_with(1, 0.5, whole=True), "Σw² of whole weights must lie between"),
    "weights of 1e308": (floats_with(0, 1e308), r"no weight may exceed 1e\+100, which fails in cell 1"),
    "2⁶² rows in bins of floats": (floats_with(2, 3.0, count=[BIG, BIG]), "at most 9,007,199,254,740,992 rows"),
    "2⁶² rows": (tally_with(count=[BIG, 1, 1], weight=[BIG, 1, 1]), "at most 9,007,199,254,740,992 rows"),
    "2⁶¹ rows": (tally_with(count=[2**61, 1, 1], weight=[2**61, 1, 1]), "at most 9,007,199,254,740,992 rows"),
    "whole weights of 2⁶¹": (
        tally_with([1, 2, 3], weight=[2**61, 2, 3], squares=[2.0**122, 4.0, 9.0]),
        "whole weights must sum to at most",
    ),
    "real weights without squares": (
        tally_with([0.5, 2, 3], squares=None, event_squares=None),
        "weights that are not whole numbers need 'squares'",
    ),
    "real weights of 1e308": (
        tally_with([0.5, 2, 3], weight=[1e308, 2.0, 3.0], squares=[1e308, 4.0, 9.0]),
        "no weight may exceed",
    ),
    "a nan": (tally_with([0.5, 2, 3], weight=[float("nan"), 2.0, 3.0]), "'weight' must be finite"),
    "sketch: more rows than weight": (sketch_with("count", (0,), 2), "rows must have weight 1"),
    "sketch: scores outside the cell": (sketch_with("table", (2, 1, 1), 2**25), "Σwp of events must lie within"),
    "sketch: Σp of 2⁵²": (sketch_with("table", (2, 1, 1), 2**52), "Σp must be at most the number of rows"),
}


@pytest.mark.all_cases
@pytest.mark.parametrize(("stored", "law"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_sums_that_no_rows_have_are_refused_by_name(stored, law):
    kind, data = stored
    with pytest.raises(tn.InputError, match=f"its columns contradict each other: .*{law}"):
        kind.from_dict(data)


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_classes_that_do_not_hold_the_same_rows_are_refused(make):
    sums = make([0, 1, 2], np.eye(3) * 0.4 + 0.2)
    other = make([0, 1, 1], np.eye(3) * 0.4 + 0.2)
    for parts, law in (
        ((sums + sums).parts[:1] + sums.parts[1:], "each class must hold all rows"),
        (sums.parts[:1] + other.parts[1:2] + sums.parts[2:], "each row must be an event of one class"),
    ):
        with pytest.raises(tn.InputError, match=law):
            type(sums).from_dict(type(sums)("classwise", parts, sums.classes).to_dict())


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_classes_whose_scores_sum_to_more_than_those_of_rows_are_refused(make):
    sums = make([0, 1, 2], np.full((3, 3), 2 / 3), sum_tolerance=1)
    assert type(sums).from_dict(sums.to_dict()) == sums
    certain = make([0, 1, 0], [1.0, 1.0, 1.0]).parts  # of each class: a Brier score of 3 − 1
    with pytest.raises(tn.InputError, match="the scores of a row must sum to at most 2"):
        type(sums).from_dict(type(sums)("classwise", certain * 3, sums.classes).to_dict())


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_a_class_named_twice_is_refused(make):
    data = make([0, 1, 2], np.eye(3) * 0.4 + 0.2).to_dict()
    with pytest.raises(tn.InputError, match="it names a class twice"):
        type(make(Y, P)).from_dict({**data, "classes": [0, 1, 1]})


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_weights_too_small_for_rows_are_too_small_for_sums(make):
    sums = make(Y, P, sample_weight=[1e-100, 1e-110, 1e-110])
    assert type(sums).from_dict(sums.to_dict()) == sums
    with pytest.raises(tn.InputError, match="some weight must be at least 1e-100"):
        type(sums).from_dict(scaled(sums.to_dict(), 1e-50))


@pytest.mark.parametrize("measure", [tn.ece, tn.ace, tn.brier, tn.log_loss, tn.auc, tn.smooth_ece])
def test_measures_of_any_number_of_rows_are_those_of_its_share(measure):
    rng = np.random.default_rng(0)
    p = rng.random(50).round(2)
    few = many = tn.tally(rng.random(50) < p, p)
    for _ in range(44):
        many += many
    assert measure(many) == pytest.approx(measure(few), rel=1e-9)


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_more_rows_than_can_be_counted_are_refused_when_sums_are_added(make):
    sums = make([0] * 64, np.arange(64) / 64, sample_weight=np.full(64, 0.5))
    for _ in range(47):
        sums += sums
    with pytest.raises(tn.InputError, match=r"hold at most 9,007,199,254,740,992 rows; these have about 1\.8e\+16"):
        sums + sums


def test_a_million_classes_are_refused_at_once():
    sums = tn.sketch([0, 1], [0.2, 0.7])
    empty = {name: [] for name in sums.to_dict()["parts"][0]}
    data = {**sums.to_dict(), "kind": "classwise", "classes": list(range(10**6)), "parts": [empty] * 10**6}
    began = time.process_time()
    with pytest.raises(tn.InputError, match="at most 262,144 classes can be written or read; these have 1,000,000"):
        tn.Sketch.from_dict(data)
    assert time.process_time() - began < 1
