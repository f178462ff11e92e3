"""Cases of binned calibration errors, under every way of binning and averaging."""

import itertools
from fractions import Fraction

from definitions import exact
from definitions.suite import P3, Y3, P, Suite, Y, number, single

# How bins are made: name, function that groups the rows, whether it is a defect (loses rows, other bins than asked).
WIDTH_RULES = [
    ("", exact.width_groups(exact.left_closed), False),
    ("bins closed on the right", exact.width_groups(exact.right_closed), False),
    ("a score of 1 in a bin of its own", exact.width_groups(exact.one_on_its_own), False),
    ("a score of 0 in no bin", exact.width_groups(exact.right_closed_without_zero), True),
    ("a score of 1 in no bin", exact.width_groups(exact.left_closed_without_one), True),
    ("one bin fewer than asked for, and one for 0", exact.width_groups(exact.one_bin_fewer), True),
    ("rounded edges, i times 1/B", exact.width_groups(exact.by_multiplied_edges), True),
    (
        "rounded edges, i times 1/B, closed on the right",
        exact.width_groups(exact.by_multiplied_edges_right),
        True,
    ),
    ("rounded edges, from both ends", exact.width_groups(exact.by_mirrored_edges), True),
    (
        "rounded edges, from both ends, and 1 in a bin of its own",
        exact.width_groups(exact.by_mirrored_edges_with_one),
        True,
    ),
    ("rounded quotient, p divided by 1/B", exact.width_groups(exact.by_division), True),
    ("bins between the smallest and the largest score", exact.range_groups, False),
]
MASS_RULES = [
    ("", exact.mass_floor, False),
    ("cuts rounded up", exact.mass_ceil, False),
    ("larger bins first, ties split", exact.larger_bins_first, False),
    ("smaller bins first, ties split", exact.smaller_bins_first, False),
    ("larger bins first, edges midway, ties together", exact.between_larger_bins, False),
    ("interpolated quantiles, closed on the right", exact.quantile_right, False),
    ("interpolated quantiles, closed on the left", exact.quantile_left, False),
    ("interpolated quantiles, the smallest score in no bin", exact.quantile_lost, True),
    (
        "one bin fewer than asked for, and one for the smallest score",
        exact.one_quantile_fewer,
        True,
    ),
]
AVERAGES = [("", "rows"), ("bins weighted alike", "bins"), ("lost rows not counted", "counted")]
NORMS = {
    "l1": [("", "l1")],
    "l2": [("", "l2"), ("without the root", "l2-squared")],
    "max": [("", "max")],
}


def combine(*choices):
    """Deviations in at most two respects, the simplest first: (name, values, is it a defect)."""
    found = []
    for combination in itertools.product(*choices):
        names = [entry[0] for entry in combination if entry[0]]
        if len(names) <= 2 and ("lost rows not counted" not in names or "in no bin" in names[0]):
            defect = any(entry[2] for entry in combination if len(entry) > 2)
            found.append(("; ".join(names), [entry[1] for entry in combination], defect))
    return sorted(found, key=lambda entry: (bool(entry[0]) + entry[0].count("; "), entry[2]))


def error_values(views, w, bins, norm, rules):
    """The expected calibration error and those of other conventions; `views(…)`: name → list of binary problems."""
    found = []
    for name, (rule, by, kind, (view, over)), defect in combine(
        rules, AVERAGES, NORMS[norm], views
    ):
        values = [exact.calibration_error(y, p, w[: len(y)], bins, rule, kind, by) for y, p in view]
        found.append((name, over(values), defect))
    return found[0][1], found[1:]


def mean(values):
    return values[0] if len(values) == 1 else sum(values) / len(values)


def root_of_mean_square(values):
    squares = sum(Fraction(v) ** 2 for v in values) / len(values)
    return exact.root(squares)


def calibration_error(
    suite, id, y, p, bins, why, *, norm="l1", rule="equal-width", w=None, dtype=None, **fields
):
    """One binary case of the calibration error."""
    scores = [single(q) if dtype and dtype.get("y_prob") == "float32" else number(q) for q in p]
    weights = [Fraction(1)] * len(p) if w is None else [number(v) for v in w]
    codes = fields.pop("codes", None) or [int(v) for v in y]
    rules = WIDTH_RULES if rule == "equal-width" else MASS_RULES
    value, others = error_values([("", ([(codes, scores)], mean))], weights, bins, norm, rules)
    measure = {"l1": "ece", "l2": "rmsce", "max": "mce"}[norm] if rule == "equal-width" else "ace"
    if dtype and dtype.get("y_prob") == "float32":
        rounded = [number(round(q, 6)) for q in p]
        groups = exact.width_groups(exact.left_closed)(rounded, bins, weights)
        total = exact.average(exact.gaps(codes, scores, weights, groups), norm, sum(weights))
        others = [("edges rounded to float32", total, False), *others]
        fields["tolerance"] = 1e-6
    suite.value(
        id,
        measure,
        y,
        p,
        value,
        why,
        others=others,
        dtype=dtype,
        bins=bins,
        sample_weight=w,
        convention=conventions(rule, norm, "binary"),
        **fields,
    )


def conventions(rule, norm, classes):
    side = "closed on the left, the last bin on both sides"
    return {
        "bin_rule": rule,
        "edge_side": side
        if rule == "equal-width"
        else "cut j after the floor(jW/B)-th unit of weight",
        "norm": norm,
        "classes": classes,
        "ties": "a tie is never split; one that a cut would split belongs to the lower bin"
        if rule == "equal-mass"
        else "not applicable",
    }


def class_error(suite, id, y, P, bins, classes, why, *, norm="l1", rule="equal-width", **fields):
    """One case of several classes."""
    rows = [[number(q) for q in row] for row in P]
    weights = [Fraction(1)] * (len(P) * len(P[0]))
    if classes == "confidence":
        views = [
            ("", ([exact.confidence_view(y, rows)], mean)),
            ("the last of tied classes", ([exact.confidence_view(y, rows, last=True)], mean)),
        ]
        if len(rows[0]) == 2:
            views.append(
                ("the binary problem of the second column", ([exact.class_views(y, rows)[1]], mean))
            )
        present = sorted(set(y))
        if len(present) == 2 < len(rows[0]):
            second = (
                [int(label == present[1]) for label in y],
                [row[present[1]] / sum(row[k] for k in present) for row in rows],
            )
            views.append(("classes without rows left out", ([second], mean)))
    elif classes == "classwise":
        each = exact.class_views(y, rows)
        pooled = [([a for view in each for a in view[0]], [a for view in each for a in view[1]])]
        views = [("", (each, mean))]
        if norm == "l2":
            views.append(("root of the mean over classes", (each, root_of_mean_square)))
        views += [
            ("sum over classes", (each, sum)),
            ("largest class", (each, max)),
            ("classes pooled in the same bins", (pooled, mean)),
        ]
    else:
        parts = exact.top_label_views(y, rows)
        shares, each = [share for share, _ in parts], [view for _, view in parts]
        views = [
            ("", (each, lambda values: sum(s * v for s, v in zip(shares, values, strict=True)))),
            ("predicted classes weighted alike", (each, mean)),
        ]
    rules = WIDTH_RULES if rule == "equal-width" else MASS_RULES
    value, others = error_values(views, weights, bins, norm, rules)
    if classes == "classwise" and norm == "l1":
        view = exact.confidence_view(y, rows)
        groups = exact.width_groups(exact.left_closed)
        top = exact.calibration_error(*view, weights[: len(y)], bins, groups)
        others.append(("confidence of the predicted class", top, False))
    measure = {"l1": "ece", "l2": "rmsce", "max": "mce"}[norm] if rule == "equal-width" else "ace"
    suite.value(
        id,
        measure,
        y,
        P,
        value,
        why,
        others=others,
        bins=bins,
        convention=conventions(rule, norm, classes),
        **fields,
    )


SHUFFLED = (5, 2, 7, 0, 3, 6, 1, 4)
NEAR_EDGES = ([1, 0, 1, 0, 1, 0, 1], [0.3, 0.35, 0.7, 0.65, 0.25, 0.5, 0.56])
EQUAL_WIDTH = [
    ("help-page", [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], 2, "The four rows of an R help page."),
    ("one-bin", Y, P, 1, "With one bin: the difference of the two means."),
    ("one-row", [1], [0.3], 10, "One row: |1 − 0.3|."),
    ("one-row-at-one", [1], [1.0], 10, "One row with the score 1 in the last bin."),
    ("one-row-at-zero", [1], [0.0], 10, "One row with the score 0 and an event: the error is 1."),
    (
        "all-edges",
        [1, 0] * 5 + [1],
        [i / 10 for i in range(11)],
        10,
        "Every edge; a rounded edge moves a score.",
    ),
    (
        "edges-of-fifteen",
        [1, 0, 0, 1, 1, 0],
        [0.2, 0.21, 0.4, 0.46, 0.6, 0.64],
        15,
        "0.2 = 3/15, 0.4 = 6/15, 0.6 = 9/15.",
    ),
    (
        "edge-0.29-of-hundred",
        [1, 0, 0],
        [0.29, 0.285, 0.57],
        100,
        "0.29 · 100 is 28.999999999999996 in floating point.",
    ),
    (
        "below-an-edge",
        [1, 0, 1],
        [0.29999999999999993, 0.3, 0.25],
        10,
        "Just below 0.3 is in the bin below.",
    ),
    (
        "half-in-two-bins",
        [1, 0, 1, 0],
        [0.5, 0.25, 0.5, 0.9],
        2,
        "0.5 belongs to the upper of two bins.",
    ),
    ("constant-score", [0, 1, 1, 0, 1], [0.35] * 5, 10, "All scores equal."),
    ("constant-on-edge", [0, 1, 1, 0, 1], [0.6] * 5, 10, "All scores equal, on an edge."),
    ("ties", [0, 1, 1, 0, 1, 1], [0.25] * 3 + [0.75] * 3, 4, "Tied scores on edges of four bins."),
    (
        "only-events",
        [1, 1, 1],
        [0.2, 0.55, 0.93],
        10,
        "One class only, the events; the number exists.",
    ),
    ("no-events", [0, 0, 0], [0.2, 0.55, 0.93], 10, "One class only, no event."),
    (
        "always-certain-and-right",
        [0, 1, 1, 0],
        [0.0, 1.0, 1.0, 0.0],
        15,
        "Certain and right: zero.",
    ),
    ("always-certain-and-wrong", [1, 0, 0, 1], [0.0, 1.0, 1.0, 0.0], 15, "Certain and wrong: one."),
    ("more-bins-than-rows", [0, 1], [0.123, 0.987], 1000, "Far more bins than rows."),
    (
        "smallest-float",
        [0, 1, 1],
        [5e-324, 0.05, 0.95],
        10,
        "The smallest positive float is in the first bin.",
    ),
    (
        "row-order",
        [Y[i] for i in SHUFFLED],
        [P[i] for i in SHUFFLED],
        5,
        "The order of the rows is irrelevant.",
    ),
]


def equal_width():
    suite = Suite()
    for norm in ("l1", "l2", "max"):
        for id, y, p, bins, why in [
            ("eight-rows", Y, P, 5, "Plain data: every bin has rows."),
            ("empty-bins", Y, P, 20, "Empty bins have no weight."),
            (
                "zero-and-one",
                [0, 1, 1, 0],
                [0.0, 0.0, 1.0, 1.0],
                10,
                "Scores of exactly 0 and 1 are counted, once.",
            ),
            (
                "edges-0.3-0.7",
                *NEAR_EDGES,
                10,
                "0.3 and 0.7 are edges of ten bins and belong to the bins above them.",
            ),
        ]:
            calibration_error(suite, f"{id}-{norm}", y, p, bins, why, norm=norm)
    for entry in EQUAL_WIDTH:
        calibration_error(suite, *entry)
    _types(suite)
    return suite


def _types(suite):
    """The same rows with labels and scores of other types."""
    p, codes = [0.22, 0.45, 0.63, 0.85], [0, 1, 0, 1]
    for id, y, why, fields in [
        (
            "labels-bool",
            [False, True] * 2,
            "Labels True and False are 1 and 0.",
            {"dtype": {"y_true": "bool"}},
        ),
        ("labels-float", codes, "Labels 0.0 and 1.0.", {"dtype": {"y_true": "float64"}}),
        (
            "labels-1-2-declared",
            [1, 2] * 2,
            "Labels 1 and 2, the event declared.",
            {"pos_label": 2},
        ),
        (
            "labels-text-declared",
            ["no", "yes"] * 2,
            "Text labels, the event declared.",
            {"pos_label": "yes", "dtype": {"y_true": "str"}},
        ),
    ]:
        calibration_error(suite, id, y, p, 5, why, codes=codes, **fields)
    why = "Scores that are the integers 0 and 1."
    calibration_error(
        suite, "scores-int", [0, 1, 1, 0], [0, 1, 1, 1], 10, why, dtype={"y_prob": "int64"}
    )
    why = "A float32 score is the number it denotes: that of 0.7 lies below 0.7, that of 0.3 above 0.3."
    calibration_error(suite, "scores-float32", *NEAR_EDGES, 10, why, dtype={"y_prob": "float32"})


def equal_mass():
    suite, error = Suite(), calibration_error
    for id, y, p, bins, why in [
        ("even", Y, P, 4, "Eight rows in four bins of two."),
        (
            "five-rows-two-bins",
            [0, 1, 0, 0, 1],
            [0.1, 0.3, 0.45, 0.7, 0.9],
            2,
            "Five rows in two bins: 2|3, since the cut lies after row ⌊5/2⌋.",
        ),
        (
            "seven-rows-three-bins",
            [0, 1, 0, 0, 1, 1, 0],
            [0.1, 0.22, 0.37, 0.5, 0.61, 0.83, 0.9],
            3,
            "Seven rows in three bins: 2|2|3.",
        ),
        (
            "tie-at-cut",
            [0, 1, 0, 1],
            [0.2, 0.4, 0.4, 0.8],
            2,
            "The tie 0.4 would be split: it belongs to the lower bin.",
        ),
        (
            "all-tied",
            [0, 1, 1, 0, 1],
            [0.35] * 5,
            3,
            "One score: one bin, whatever the number asked for.",
        ),
        ("one-row", [1], [0.3], 10, "One row, ten bins."),
        (
            "fewer-rows-than-bins",
            [0, 1, 1],
            [0.2, 0.5, 0.9],
            10,
            "Three rows in ten bins: each is a bin.",
        ),
        ("zero-and-one", [0, 1, 1, 0], [0.0, 0.0, 1.0, 1.0], 2, "Ties at 0 and at 1."),
        (
            "ties-of-zero",
            [0, 0, 1, 0, 1, 1],
            [0.0, 0.0, 0.0, 0.0, 0.6, 0.9],
            3,
            "Most scores are 0: the first tie fills two bins.",
        ),
        ("one-class", [1, 1, 1, 1], [0.2, 0.55, 0.7, 0.93], 2, "One class only."),
    ]:
        error(suite, f"mass-{id}", y, p, bins, why, rule="equal-mass")
    return suite


CERTAIN = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
WITHOUT = [[0.5, 0.21, 0.29], [0.1, 0.72, 0.18], [0.3, 0.58, 0.12], [0.44, 0.31, 0.25]]
ON_EDGES = [[0.7, 0.3, 0.0], [0.3, 0.7, 0.0], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]
CLASSES = [
    (
        "two-columns",
        [0, 1, 1, 0],
        [[0.78, 0.22], [0.35, 0.65], [0.55, 0.45], [0.1, 0.9]],
        5,
        "Two columns.",
    ),
    (
        "certain-rows",
        [0, 1, 2, 2],
        CERTAIN,
        10,
        "Rows of zeros and one: all probabilities are ends of the scale.",
    ),
    ("one-row", [1], [[0.25, 0.45, 0.3]], 10, "One row of three classes."),
    ("class-without-rows", [0, 1, 1, 0], WITHOUT, 5, "Class 2 has a column and no label."),
    ("edges", [0, 1, 2, 0], ON_EDGES, 10, "Probabilities on the edges 0.3, 0.6, 0.7."),
]


def several_classes():
    suite = Suite()
    for classes, norm in itertools.product(
        ("confidence", "classwise", "top-label"), ("l1", "l2", "max")
    ):
        if classes == "top-label" and norm != "l1":
            continue
        class_error(
            suite,
            f"three-classes-{classes}-{norm}",
            Y3,
            P3,
            5,
            classes,
            "Six rows, three classes.",
            norm=norm,
        )
    for classes in ("confidence", "classwise"):
        for id, y, rows, bins, why in CLASSES:
            class_error(suite, f"{id}-{classes}", y, rows, bins, classes, why)
    class_error(
        suite,
        "tied-top",
        [0, 1, 2, 1],
        [[0.4, 0.4, 0.2], [0.45, 0.45, 0.1], [0.2, 0.4, 0.4], [0.1, 0.8, 0.1]],
        4,
        "confidence",
        "Two classes share the largest probability: the first is predicted.",
    )
    class_error(
        suite,
        "sums-within-rounding",
        Y3,
        [[0.71, 0.19, 0.1000001], *P3[1:]],
        5,
        "confidence",
        "A sum of 1.0000001 is rounding, not an error.",
    )
    class_error(
        suite,
        "mass-classwise",
        Y3,
        P3,
        3,
        "classwise",
        "Equal-mass bins of each column.",
        rule="equal-mass",
    )
    class_error(
        suite,
        "mass-confidence",
        Y3,
        P3,
        3,
        "confidence",
        "Equal-mass bins of the confidence.",
        rule="equal-mass",
    )
    return suite


def weighted():
    suite = Suite()
    for id, w, why in [
        ("whole", [2, 1, 1, 3, 1, 2, 1, 1], "Whole weights are repetitions."),
        ("with-zero", [2, 0, 1, 3, 0, 2, 1, 1], "A weight of 0 removes the row."),
        ("fractions", [0.5, 1.5, 0.25, 1, 1, 2.75, 0.1, 1], "Fractional weights."),
    ]:
        calibration_error(suite, f"weights-{id}", Y, P, 5, why, w=w)
    calibration_error(
        suite,
        "weights-empty-a-bin",
        [0, 1, 1],
        [0.1, 0.15, 0.9],
        2,
        "All weight of the lower bin is 0.",
        w=[0, 0, 1],
    )
    calibration_error(
        suite,
        "weights-mass-whole",
        Y,
        P,
        3,
        "Equal mass by weight.",
        w=[2, 1, 1, 3, 1, 2, 1, 1],
        rule="equal-mass",
    )
    return suite
