"""Cases that are not valid: a library should refuse them."""

from definitions.errors import conventions
from definitions.suite import INF, NAN, P3, Y3, Suite

GOOD = ([0, 1, 0, 1], [0.2, 0.45, 0.6, 0.85])
BINARY = [
    ("score-nan", GOOD[0], [0.2, NAN, 0.6, 0.85], "A missing score.", {}),
    ("score-inf", GOOD[0], [0.2, INF, 0.6, 0.85], "An infinite score.", {}),
    ("score-above-one", GOOD[0], [0.2, 1.2, 0.6, 0.85], "A score above 1 is no probability.", {}),
    ("score-negative", GOOD[0], [-0.1, 0.45, 0.6, 0.85], "A score below 0 is no probability.", {}),
    ("scores-percent", GOOD[0], [20.0, 45.0, 60.0, 85.0], "Percentages.", {}),
    ("scores-logits", GOOD[0], [-1.5, -0.2, 0.4, 1.7], "Logits.", {}),
    ("label-nan", [0, 1, NAN, 1], GOOD[1], "A missing label.", {"dtype": {"y_true": "float64"}}),
    (
        "label-half",
        [0, 0.5, 0, 1],
        GOOD[1],
        "A label that is neither 0 nor 1.",
        {"dtype": {"y_true": "float64"}},
    ),
    ("labels-1-2", [1, 2, 1, 2], GOOD[1], "Labels 1 and 2, the event not declared.", {}),
    ("labels-minus-one", [-1, 1, -1, 1], GOOD[1], "Labels −1 and 1, the event not declared.", {}),
    (
        "labels-text",
        ["no", "yes", "no", "yes"],
        GOOD[1],
        "Text labels, the event not declared.",
        {"dtype": {"y_true": "str"}},
    ),
    ("three-labels", [0, 1, 2, 1], GOOD[1], "Three classes and a vector of scores.", {}),
    (
        "swapped",
        GOOD[1],
        GOOD[0],
        "Scores and labels exchanged.",
        {"dtype": {"y_true": "float64", "y_prob": "int64"}},
    ),
    ("length-mismatch", [0, 1, 0], GOOD[1], "Three labels and four scores.", {}),
    ("empty", [], [], "No rows.", {"dtype": {"y_true": "int64", "y_prob": "float64"}}),
]
WEIGHTS = [
    ("weight-negative", [1, -1, 1, 1], "A negative weight."),
    ("weight-nan", [1, NAN, 1, 1], "A missing weight."),
    ("weights-all-zero", [0, 0, 0, 0], "No weight at all."),
    ("weights-short", [1, 1, 1], "Three weights and four rows."),
]


def invalid():
    suite = Suite()
    for measure in ("ece", "brier", "log_loss"):
        bins = 5 if measure == "ece" else None
        for id, y, p, why, fields in BINARY:
            suite.refused(
                f"{measure}-{id}",
                measure,
                y,
                p,
                why,
                bins=bins,
                convention=invalid_convention(measure),
                **fields,
            )
        for id, w, why in WEIGHTS:
            suite.refused(
                f"{measure}-{id}",
                measure,
                *GOOD,
                why,
                bins=bins,
                sample_weight=w,
                convention=invalid_convention(measure),
            )
    for id, y, p, why, fields in BINARY[:2] + BINARY[6:7] + BINARY[13:15]:
        suite.refused(f"isotonic-{id}", "isotonic", y, p, why, **fields)
    for id, y, P, why in [
        ("rows-not-one", Y3, [[0.7, 0.4, 0.1], *P3[1:]], "A row sums to 1.2."),
        ("rows-of-logits", Y3, [[1.5, -0.3, 0.2], *P3[1:]], "A row of logits."),
        ("matrix-nan", Y3, [[NAN, 0.2, 0.1], *P3[1:]], "A missing probability."),
        ("label-beyond-columns", [0, 3, 1, 1, 0, 2], P3, "Label 3 and three columns."),
        ("label-below-zero", [0, -1, 1, 1, 0, 2], P3, "Label −1: it must not count from the end."),
        ("matrix-length-mismatch", Y3[:5], P3, "Five labels and six rows."),
    ]:
        suite.refused(
            f"ece-{id}",
            "ece",
            y,
            P,
            why,
            bins=5,
            convention=conventions("equal-width", "l1", "confidence"),
        )
        suite.refused(f"log_loss-{id}", "log_loss", y, P, why)
    for bins, name in ((0, "zero"), (-3, "negative"), (2.5, "fractional")):
        suite.refused(
            f"ece-bins-{name}",
            "ece",
            *GOOD,
            "The number of bins must be a positive integer.",
            bins=bins,
            convention=conventions("equal-width", "l1", "binary"),
        )
    return suite


def invalid_convention(measure):
    return conventions("equal-width", "l1", "binary") if measure == "ece" else {"classes": "binary"}
