"""Stored sums satisfy the inequalities that the sums of rows obey, or are refused by the name of the one they break."""

import copy
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


# ----------------------------------------------------- each law at its very limit, and a little beyond it: 1 ± 10⁻⁶

BEYOND, BELOW = 1 + 1e-6, 1 - 1e-6
MOST_ROWS, MOST_EXACT, UNIT = 2**53, 2**36, 2**26
LAST_CELL = 7683


def changed(data, changes):
    """Stored sums with other values at some places of their first part."""
    data = copy.deepcopy(data)
    for (name, *at), value in changes.items():
        if not at:
            data["parts"][0][name] = value
            continue
        values = data["parts"][0][name]
        for i in at[:-1]:
            values = values[i]
        values[at[-1]] = value
    return data


# Two rows of weight 2.5 and score 0.2, one of them an event; one of weight 4 and score 0.6, an event.
REAL = ([0, 1, 1], [0.2, 0.2, 0.6]), {"sample_weight": [2.5, 2.5, 4.0]}
# Whole weights: 2 and 3 rows of score 0.2, one of score 0.6.
WHOLE = ([0, 1, 1], [0.2, 0.2, 0.6]), {"sample_weight": [2, 3, 1]}
COUNTS = ([0, 1, 1], [0.2, 0.2, 0.6]), {}


def stored(make, rows, **options):
    (y, p), weights = rows
    return make(y, p, **weights, **options).to_dict()


TALLY = {name: stored(tn.tally, rows) for name, rows in (("real", REAL), ("whole", WHOLE), ("counts", COUNTS))}
BINNED = {
    name: stored(tn.binned, rows, bins=2) for name, rows in (("real", REAL), ("whole", WHOLE), ("counts", COUNTS))
}
SKETCH = {name: stored(tn.sketch, rows) for name, rows in (("real", REAL), ("whole", WHOLE), ("counts", COUNTS))}

SQUARES = r"Σw² must lie between \(Σw\)² / rows and \(Σw\)²"
TALLY_LAWS = [
    # Form, the place, a value at the limit (None: there is none), a value beyond it, and the law.
    ("real", {("squares", 0): 12.5}, {("squares", 0): 12.5 * BELOW}, SQUARES),
    ("real", {("squares", 0): 25.0}, {("squares", 0): 25 * BEYOND}, SQUARES),
    ("real", {("events", 0): 5.0}, {("events", 0): 5 * BEYOND}, "Σwy must lie between 0 and Σw"),
    ("real", {("events", 0): 0.0}, {("events", 0): -1e-6}, "Σwy must lie between 0 and Σw"),
    ("real", {("event_squares", 0): 12.5}, {("event_squares", 0): 12.5 * BEYOND}, "Σw²y must lie between 0 and Σw²"),
    ("real", {("event_squares", 0): 0.0}, {("event_squares", 0): -1e-6}, "Σw²y must lie between 0 and Σw²"),
    ("real", {("score", 0): 0.0}, {("score", 0): -1e-9}, r"scores must lie in \[0, 1\]"),
    ("real", {("score", 1): 1.0}, {("score", 1): 1 + 1e-9}, r"scores must lie in \[0, 1\]"),
    ("real", {("score", 0): np.nextafter(0.6, 0)}, {("score", 0): 0.6}, "scores must ascend"),
    ("real", {("count", 1): 1}, {("count", 1): 0}, "each score must have rows"),
    ("real", {}, {("weight", 1): 0.0, ("events", 1): 0.0}, "a cell has rows if and only if it has weight"),
    (
        "real",
        {("weight", 0): 2e100, ("squares", 0): 2e200},
        {("weight", 0): 2e100 * BEYOND, ("squares", 0): 2e200},
        r"no weight may exceed 1e\+100, which fails in cell 0",
    ),
    ("whole", {("count", 0): 5}, {("count", 0): 6}, "whole weights must be at least 1, which fails in cell 0"),
    (
        "whole",
        {("weight", 1): MOST_ROWS - 5, ("squares", 1): 2.0**106},
        {("weight", 1): MOST_ROWS - 3, ("squares", 1): 2.0**106},
        "whole weights must sum to at most 9,007,199,254,740,992",
    ),
    (
        "counts",
        {("count", 0): MOST_ROWS - 1, ("weight", 0): MOST_ROWS - 1},
        {("count", 0): MOST_ROWS + 3, ("weight", 0): MOST_ROWS + 3},
        "there must be at most 9,007,199,254,740,992 rows",
    ),
    ("counts", {}, {("weight", 0): 3}, "without 'squares', rows must have weight 1"),
    ("counts", {}, {("count", 0): -2, ("weight", 0): -2}, "each score must have rows"),
    ("counts", {}, {("events",): [1]}, "columns must have one length"),
    ("real", {}, {("squares", 1): float("inf")}, "'squares' must be finite"),
]
EVENTS_WITHIN = "Σwp of events must lie within the edges"
OTHERS_WITHIN = "Σwp of non-events must lie within the edges"
# Floats of a bin: Σw, Σw², Σwy, Σwp, Σwp², Σwyp. `real` has (5, 12.5, 2.5, 1, 0.2, 0.5) and (4, 16, 4, 2.4, 1.44, 2.4).
BINNED_LAWS = [
    ("real", {("floats", 0, 1): 12.5}, {("floats", 0, 1): 12.5 * BELOW}, SQUARES),
    ("real", {("floats", 0, 1): 25.0}, {("floats", 0, 1): 25 * BEYOND}, SQUARES),
    ("real", {}, {("floats", 0, 5): -1e-6}, "sums must not be below 0"),
    (
        "real",
        {("edges",): [0.0, 0.2, 0.6]},
        {("edges",): [0.0, 0.2 * BELOW, 0.6]},
        "Σwp of a bin must lie within the edges",
    ),
    (
        "real",
        {("edges",): [0.2, 0.5, 1.0]},
        {("edges",): [0.2 * BEYOND, 0.5, 1.0]},
        "Σwp of a bin must lie within the edges",
    ),
    ("real", {("edges",): [0.0, 0.5, 1.0]}, {("edges",): [-1e-9, 0.5, 1.0]}, r"edges must lie in \[0, 1\]"),
    ("real", {("edges",): [0.0, 0.5, 1.0]}, {("edges",): [0.0, 0.5, 1 + 1e-9]}, r"edges must lie in \[0, 1\]"),
    ("real", {}, {("edges",): [0.9, 0.5, 1.0]}, "edges must ascend"),
    ("real", {}, {("edges",): [0.0, 1.0]}, "columns must have one length"),
    ("real", {}, {("edges",): [0.0, 0.3, 0.5, 1.0]}, "columns must have one length"),
    (  # Σwp² of both rows of bin 0 at their mean, 0.2
        "real",
        {("floats", 0, 4): 0.2},
        {("floats", 0, 4): 0.2 - 1e-6},
        r"\(Σwp\)² of a bin must be at most Σw Σwp²",
    ),
    (  # no score of bin 1 is below 1/2 − 2⁻⁸ or above 1
        "real",
        {("floats", 1, 4): (1.5 - 2**-8) * 2.4 - (0.5 - 2**-8) * 4},
        {("floats", 1, 4): (1.5 - 2**-8) * 2.4 - (0.5 - 2**-8) * 4 + 1e-6},
        "Σwp² of a bin is too large for scores within the edges",
    ),
    (  # events of bin 0 at 1/2 + 2⁻⁸, the others where Σwp leaves them: a cell of a sketch may cross an edge
        "real",
        {("floats", 0, 3): 1.5, ("floats", 0, 4): 0.7, ("floats", 0, 5): 2.5 * (0.5 + 2**-8)},
        {("floats", 0, 3): 1.5, ("floats", 0, 4): 0.7, ("floats", 0, 5): 2.5 * (0.5 + 2**-8) + 1e-6},
        EVENTS_WITHIN,
    ),
    (
        "real",
        {("floats", 0, 3): 1.5, ("floats", 0, 4): 0.7, ("floats", 0, 5): 1.5 - 2.5 * (0.5 + 2**-8)},
        {("floats", 0, 3): 1.5, ("floats", 0, 4): 0.7, ("floats", 0, 5): 1.5 - 2.5 * (0.5 + 2**-8) - 1e-6},
        OTHERS_WITHIN,
    ),
    (  # events of bin 1, with an equal weight of others: at 1/2 − 2⁻⁸, and at 1
        "real",
        {("floats", 1, 2): 2.0, ("floats", 1, 4): 1.5, ("floats", 1, 5): 2 * (0.5 - 2**-8)},
        {("floats", 1, 2): 2.0, ("floats", 1, 4): 1.5, ("floats", 1, 5): 2 * (0.5 - 2**-8) - 1e-6},
        EVENTS_WITHIN,
    ),
    (
        "real",
        {("floats", 1, 2): 2.0, ("floats", 1, 3): 3.0, ("floats", 1, 4): 2.5, ("floats", 1, 5): 2.0},
        {("floats", 1, 2): 2.0, ("floats", 1, 3): 3.0, ("floats", 1, 4): 2.5, ("floats", 1, 5): 2 + 1e-6},
        EVENTS_WITHIN,
    ),
    (  # Σwp² of events at 0.1 and others at 0.3: 2.5 · 0.01 + 2.5 · 0.09
        "real",
        {("floats", 0, 4): 0.25, ("floats", 0, 5): 0.25},
        {("floats", 0, 4): 0.25 - 1e-6, ("floats", 0, 5): 0.25},
        r"Σwp² must be at least \(Σwp\)² / Σw of events plus that of non-events",
    ),
    (
        "whole",
        {("floats", 0, 1): 5.0},
        {("floats", 0, 1): 5 * BELOW},
        r"Σw² of whole weights must lie between Σw and \(Σw\)²",
    ),
    (
        "whole",
        {("floats", 0, 1): 25.0},
        {("floats", 0, 1): 25 * BEYOND},
        r"Σw² of whole weights must lie between Σw and \(Σw\)²",
    ),
    ("whole", {("count", 0): 5}, {("count", 0): 6}, "whole weights must be at least 1, which fails in cell 0"),
    ("counts", {}, {("whole",): False}, "whole sums need whole weights"),
    ("counts", {}, {("table", 0, 1, 1): UNIT + 1}, "Σp must be at most the number of rows"),
    ("counts", {}, {("table", 0, 1, 3): UNIT + 1}, "Σp must be at most the number of rows"),
    ("counts", {}, {("table", 0, 1, 2): 2 * UNIT + 1}, "the lower bits of Σp must be fewer than 28 per row"),
    ("counts", {}, {("table", 0, 1, 4): 2 * UNIT + 1}, "the lower bits of Σp must be fewer than 28 per row"),
    ("counts", {}, {("table", 0, 0, 4): -1}, "sums must not be below 0"),
    ("counts", {}, {("count", 0): -2}, "rows must not be below 0"),
    ("counts", {}, {("count", 0): 0}, "a cell has rows if and only if it has weight"),
]
# Floats of a cell: label 0, then label 1: Σw, Σwp, Σwp². Cell 0 of `real`: (2.5, 0.5, 0.1) each.
WIDE = {("ends", 0): [0.2, 0.2001]}
SKETCH_LAWS = [
    ("real", {("cell", 1): 4098}, {("cell", 1): LAST_CELL + 1}, "cells must be numbers from 0 to 7,683"),
    ("real", {}, {("cell", 0): -1}, "cells must be numbers from 0 to 7,683"),
    ("real", {}, {("cell", 1): "cell 0"}, "cells must ascend"),
    ("real", {}, {("count", 1): 0}, "each cell must have rows"),
    ("real", {}, {("ends", 0): [0.2, 0.2 * BELOW]}, r"'ends' must ascend within \[0, 1\]"),
    ("real", {}, {("ends", 0): [0.2, 0.3]}, "'ends' must lie in their cell"),
    ("real", {}, {("ends", 0): [0.1, 0.2]}, "'ends' must lie in their cell"),
    ("real", {}, {("floats", 0, 0, 2): -1e-6}, "sums must not be below 0"),
    ("real", {("squares", 0): [6.25, 6.25]}, {("squares", 0): [6.25, 6.25 * BELOW]}, SQUARES),
    ("real", {("squares", 0): [12.5, 12.5]}, {("squares", 0): [12.5, 12.5 * BEYOND]}, SQUARES),
    ("real", {}, {("squares", 1): [8.0, 8.0]}, "Σw² of non-events needs non-events, which fails in cell 1"),
    (
        "real",
        WIDE | {("floats", 0, 1): [2.5, 0.50025, 0.50025**2 / 2.5]},
        WIDE | {("floats", 0, 1): [2.5, 0.50025 + 1e-6, 0.1001]},
        EVENTS_WITHIN,
    ),
    ("real", WIDE, WIDE | {("floats", 0, 0): [2.5, 0.5 - 1e-6, 0.1]}, OTHERS_WITHIN),
    ("real", {}, {("floats", 0, 1): [2.5, 0.5, 0.1 - 1e-6]}, r"\(Σwp\)² of events must be at most Σw Σwp²"),
    (
        "real",
        {},
        {("floats", 0, 0): [2.5, 0.5, 0.1 + 1e-6]},
        "Σwp² of non-events is too large for scores within the edges",
    ),
    (  # as much weight at each end
        "real",
        WIDE | {("floats", 0, 1): [2.5, 0.500125, 1.25 * (0.2**2 + 0.2001**2)]},
        WIDE | {("floats", 0, 1): [2.5, 0.500125, 1.25 * (0.2**2 + 0.2001**2) + 1e-6]},
        "Σwp² of events is too large for scores within the edges",
    ),
    ("whole", {("count", 0): 5}, {("count", 0): 6}, "whole weights must be at least 1, which fails in cell 0"),
    ("counts", {}, {("count", 0): 1}, "without 'squares', rows must have weight 1"),
    ("counts", {}, {("table", 0, 1, 1): UNIT + 1}, "Σp must be at most the number of rows"),
    ("counts", {}, {("table", 0, 0, 3): UNIT + 1}, "Σp must be at most the number of rows"),
    ("counts", {}, {("table", 0, 1, 4): 2 * UNIT + 1}, "the lower bits of Σp must be fewer than 28 per row"),
    ("counts", {}, {("count",): [2]}, "columns must have one length"),
]
LAWS = [
    *((tn.Tally, TALLY[form], *rest) for form, *rest in TALLY_LAWS),
    *((tn.Binned, BINNED[form], *rest) for form, *rest in BINNED_LAWS),
    *((tn.Sketch, SKETCH[form], *rest) for form, *rest in SKETCH_LAWS),
]


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("kind", "data", "at", "beyond", "law"), LAWS, ids=[f"{law[0].__name__}: {law[-1]}" for law in LAWS]
)
def test_sums_at_the_limit_of_a_law_are_read_and_those_beyond_are_refused(kind, data, at, beyond, law):
    beyond = {place: data["parts"][0]["cell"][0] if value == "cell 0" else value for place, value in beyond.items()}
    at = {place: data["parts"][0]["cell"][1] if place == ("cell", 1) else value for place, value in at.items()}
    assert kind.from_dict(changed(data, at)).n > 0
    with pytest.raises(tn.InputError, match=f"its columns contradict each other: .*{law}"):
        kind.from_dict(changed(data, beyond))


@pytest.mark.parametrize("make", [tn.binned, tn.sketch])
def test_a_table_holds_as_many_rows_as_its_sums_can(make):
    """Scores of 0: Σp is 0 whatever the number of rows."""
    data = make([0, 1], [0.0, 0.0], **({"bins": 1} if make is tn.binned else {})).to_dict()
    kind, both = (tn.Binned, 2**35) if make is tn.binned else (tn.Sketch, 2**36)
    for rows, law in ((both, ""), (both + 1, "has at most 68,719,476,736 rows|must have at most 68,719,476,736 rows")):
        table = [[[rows, 0, 0, 0, 0], [both, 0, 0, 0, 0]]]
        made = changed(data, {("table",): table, ("count",): [rows + both]})
        if law:
            with pytest.raises(tn.InputError, match=law):
                kind.from_dict(made)
        else:
            assert kind.from_dict(made).n == 2 * both
    lone = changed(data, {("table",): [[[0, 0, 0, 0, 0], [2**36, 0, 0, 0, 0]]], ("count",): [2**36]})
    assert kind.from_dict(lone).n == 2**36


def test_columns_beside_empty_ones_are_refused():
    empty = {"exact": True, "score": [], "count": [], "weight": [], "events": []}
    data = tn.tally([], []).to_dict()
    assert data["parts"] == [empty]
    for part, law in (
        (empty | {"exact": False}, "weights that are not whole numbers need 'squares'"),
        (empty | {"squares": [1.0], "event_squares": [0.0]}, "columns must have one length"),
        (empty | {"score": [0.5]}, "columns must have one length"),
    ):
        with pytest.raises(tn.InputError, match=law):
            tn.Tally.from_dict({**data, "parts": [part]})
    for name in ("score", "squares"):
        real = empty | {"exact": False, "squares": [], "event_squares": []}
        assert tn.Tally.from_dict({**data, "parts": [real]}).n == 0
        with pytest.raises(tn.InputError, match="columns must have one length"):
            tn.Tally.from_dict({**data, "parts": [real | {name: [0.5]}]})
    sketch = tn.sketch([], []).to_dict()
    assert tn.Sketch.from_dict(sketch).n == 0
    with pytest.raises(tn.InputError, match="columns must have one length"):
        tn.Sketch.from_dict(changed(sketch, {("squares",): [[1.0, 1.0]]}))


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_sums_without_rows_and_of_the_smallest_weights_come_back(make):
    for rows in (([], []), ([0, 1], [0.2, 0.7], [1e-100, 0]), ([0, 1, 1], [0.2, 0.7, 0.8], [1, 1e-160, 3e-160])):
        y, p, *w = rows
        sums = make(y, p, **({"sample_weight": w[0]} if w else {}))
        assert type(sums).from_dict(sums.to_dict()) == sums


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_weights_of_classes_agree_to_nine_digits(make):
    P = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.2, 0.2, 0.6]])
    options = {"bins": 1} if make is tn.binned else {}
    sums = make([0, 1, 2, 2], P, sample_weight=[20.5, 11, 12, 13], **options)
    other = make([0, 1, 2, 2], P, sample_weight=np.array([20.5, 11, 12, 13]) * BEYOND, **options)
    assert type(sums).from_dict(sums.to_dict()) == sums
    fewer = make([0, 1, 2], P[:3], sample_weight=[20.5, 11, 25], **options)  # the same weight on fewer rows
    for parts, law in (
        (sums.parts[:2] + other.parts[2:], "each class must hold all rows"),
        (fewer.parts[:1] + sums.parts[1:], "each class must hold all rows"),
    ):
        with pytest.raises(tn.InputError, match=law):
            type(sums).from_dict(type(sums)("classwise", parts, sums.classes).to_dict())
    moved = make([0, 1, 2, 2, 1], P[[0, 1, 2, 3, 3]], sample_weight=[20.5, 11, 12, 13 - 1e-4, 1e-4], **options)
    four = make([0, 1, 2, 2, 2], P[[0, 1, 2, 3, 3]], sample_weight=[20.5, 11, 12, 13 - 1e-4, 1e-4], **options)
    with pytest.raises(tn.InputError, match="each row must be an event of one class"):
        type(sums).from_dict(type(sums)("classwise", moved.parts[:2] + four.parts[2:], sums.classes).to_dict())


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_scores_of_classes_sum_to_two_at_most(make):
    options = {"bins": 1} if make is tn.binned else {}
    w = [20.5, 11.0, 12.0]
    sums = [make([k == 0, k == 1, k == 2], np.full(3, 2 / 3), sample_weight=w, **options).parts[0] for k in range(3)]
    more = [make([k == 0, k == 1, k == 2], np.full(3, 2 / 3 * BEYOND), sample_weight=w, **options) for k in range(3)]
    form = type(more[0])
    assert form.from_dict(form("classwise", tuple(sums), (0, 1, 2)).to_dict()).n == 3
    with pytest.raises(tn.InputError, match="the scores of a row must sum to at most 2"):
        form.from_dict(form("classwise", tuple(one.parts[0] for one in more), (0, 1, 2)).to_dict())
