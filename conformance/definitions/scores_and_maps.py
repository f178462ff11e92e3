"""Cases of proper scores, slopes, tested and debiased errors, and calibration maps."""

from decimal import Decimal
from fractions import Fraction

from definitions import exact
from definitions.suite import P3, Y3, P, Suite, Y, number

CLIPS = [
    "1e-6",
    "1e-7",
    "1e-8",
    "1e-10",
    "1e-12",
    "1e-15",
    "1e-16",
    "2.220446049250313e-16",
    "1.1920928955078125e-7",
    "1.1754943508222875e-38",
]


def _brier(suite, id, y, p, why, **fields):
    scores = [number(q) for q in p]
    w = [number(v) for v in fields.get("sample_weight") or [1] * len(p)]
    value = exact.brier([int(v) for v in y], scores, w)
    others = [("both classes summed", 2 * value, False), ("root", exact.root(value), False)]
    suite.value(
        f"brier-{id}",
        "brier",
        y,
        p,
        value,
        why,
        others=others,
        convention={"classes": "binary"},
        **fields,
    )


def _brier_classes(suite, id, y, rows, why):
    value = exact.brier_classes(
        y, [[number(q) for q in row] for row in rows], [Fraction(1)] * len(y)
    )
    k = len(rows[0])
    others = [
        ("half the sum over classes", value / 2, False),
        ("mean over classes", value / k, False),
    ]
    if k == 2:
        value, others = value / 2, [("both classes summed", value, False)]
    suite.value(
        f"brier-{id}",
        "brier",
        y,
        rows,
        value,
        why,
        others=others,
        convention={"classes": "summed; of two classes, the binary score"},
    )


def _log_loss(suite, id, y, p, why, **fields):
    matrix = isinstance(p[0], list)
    rows = (
        [[number(q) for q in row] for row in p]
        if matrix
        else [[1 - number(q), number(q)] for q in p]
    )
    w = [number(v) for v in fields.get("sample_weight") or [1] * len(p)]
    value = exact.log_loss([int(v) for v in y], rows, w)
    others = [
        (f"clipped at {eps}", exact.log_loss([int(v) for v in y], rows, w, Fraction(eps)), False)
        for eps in CLIPS
    ]
    others.append(("in bits", value / Decimal(2).ln() if value.is_finite() else value, False))
    suite.value(
        f"log-loss-{id}",
        "log_loss",
        y,
        p,
        value,
        why,
        others=others,
        convention={"clip": "none", "unit": "nats"},
        **fields,
    )


def proper_scores():
    suite = Suite()
    for score in (_brier, _log_loss):
        score(suite, "eight-rows", Y, P, "Plain data.")
        score(suite, "one-row", [1], [0.3], "One row.")
        score(
            suite,
            "one-class",
            [1, 1, 1],
            [0.2, 0.5, 0.9],
            "One class only: the score exists all the same.",
        )
        score(suite, "constant", [0, 1, 1, 0, 1], [0.35] * 5, "All scores equal.")
        score(
            suite,
            "certain-and-right",
            [0, 1, 1],
            [0.0, 1.0, 0.75],
            "Certain and right: no loss, no nan from 0 · log 0.",
        )
        score(
            suite,
            "certain-and-wrong",
            [1, 0, 1],
            [0.0, 0.5, 0.75],
            "Certain and wrong once: the log loss is infinite unless clipped.",
        )
        score(
            suite,
            "labels-bool",
            [False, True],
            [0.2, 0.9],
            "Labels True and False.",
            dtype={"y_true": "bool"},
        )
        score(
            suite,
            "whole-weights",
            [0, 1, 1],
            [0.2, 0.6, 0.9],
            "A weight of 2 counts the row twice.",
            sample_weight=[2, 1, 3],
        )
        score(
            suite,
            "zero-weight",
            [0, 1, 1],
            [0.2, 0.6, 0.9],
            "A weight of 0 removes the row.",
            sample_weight=[1, 0, 2],
        )
        score(
            suite,
            "fractional-weights",
            [0, 1, 1],
            [0.2, 0.6, 0.9],
            "Fractional weights.",
            sample_weight=[0.5, 1.25, 2.0],
        )
    _brier_classes(suite, "three-classes", Y3, P3, "Brier's definition sums over the classes.")
    _brier_classes(
        suite,
        "two-columns",
        [0, 1, 1],
        [[0.8, 0.2], [0.35, 0.65], [0.55, 0.45]],
        "Two columns are the binary problem.",
    )
    _log_loss(suite, "three-classes", Y3, P3, "−log of the probability of the label.")
    _log_loss(
        suite,
        "zero-weight-hides-infinity",
        [1, 0, 1],
        [0.0, 0.5, 0.75],
        "The infinite row has weight 0.",
        sample_weight=[0, 1, 1],
    )
    _log_loss(
        suite,
        "certain-classes",
        [0, 1],
        [[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]],
        "A zero that is not the label's costs nothing.",
    )
    return suite


def slopes():
    suite = Suite()
    plain_rows = ([0, 1, 0, 1, 0, 1, 1, 1], [0.2, 0.2, 0.5, 0.5, 0.8, 0.8, 0.8, 0.8])
    many_rows = ([0, 0, 1, 0, 1, 0, 1, 1], [0.05, 0.2, 0.3, 0.4, 0.55, 0.7, 0.8, 0.9])
    for id, (y, p) in {"three-scores": plain_rows, "eight-scores": many_rows}.items():
        q = [number(v) for v in p]
        joint = exact.logistic_fit(y, q)
        shift, _ = exact.logistic_fit(y, q, fit_slope=False)
        suite.value(
            f"slope-{id}",
            "slope",
            y,
            p,
            joint[1],
            "Logistic regression of the labels on logit p.",
            tolerance=1e-5,
            convention={"scores of 0 and 1": "left out"},
        )
        suite.value(
            f"intercept-{id}",
            "intercept",
            y,
            p,
            shift,
            "The slope is fixed at 1 (calibration in the large).",
            others=[("intercept beside a free slope", joint[0], False)],
            tolerance=1e-5,
        )
    inner = exact.logistic_fit(many_rows[0], [number(v) for v in many_rows[1]])
    y, p = [*many_rows[0], 0, 1, 1], [*many_rows[1], 0.0, 1.0, 0.0]
    others = []
    for eps in (
        "1e-2",
        "1e-3",
        "1e-4",
        "1e-5",
        "1e-6",
        "1e-7",
        "1e-8",
        "1e-9",
        "1e-10",
        "1e-12",
        "1e-15",
    ):
        q = [min(max(number(v), Fraction(eps)), 1 - Fraction(eps)) for v in p]
        others.append((f"clipped at {eps}", exact.logistic_fit(y, q)[1], False))
    suite.value(
        "slope-zero-and-one",
        "slope",
        y,
        p,
        inner[1],
        "Scores of 0 and 1 have infinite logits and are left out.",
        others=others,
        tolerance=1e-5,
        convention={"scores of 0 and 1": "left out"},
    )
    suite.undefined(
        "slope-separated",
        "slope",
        [0, 0, 1, 1],
        [0.2, 0.4, 0.6, 0.8],
        "The scores separate the classes: no finite slope.",
    )
    suite.undefined(
        "slope-constant",
        "slope",
        [0, 1, 1, 0],
        [0.4] * 4,
        "One score only: the slope is not identified.",
    )
    suite.undefined(
        "slope-one-class", "slope", [1, 1, 1], [0.3, 0.5, 0.8], "One class only: no finite slope."
    )
    _observed_expected(suite)
    return suite


def _observed_expected(suite):
    for id, y, p in [
        ("eight-rows", Y, P),
        ("zero-and-one", [1, 1, 0, 1], [0.0, 1.0, 1.0, 0.25]),
        ("no-events", [0, 0], [0.25, 0.75]),
    ]:
        ratio = Fraction(sum(y)) / sum(number(q) for q in p)
        others = [("expected over observed", 1 / ratio, False)] if ratio else []
        suite.value(
            f"oe-{id}",
            "observed_expected",
            y,
            p,
            ratio,
            "Observed divided by expected events.",
            others=others,
        )


def tested_and_debiased():
    suite = Suite()
    _tested(suite)
    _debiased(suite)
    return suite


def _tested(suite):
    ten = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    for id, y, p, bins, why in [
        (
            "two-groups",
            ten + ten,
            [0.3] * 10 + [0.9] * 10,
            2,
            "3 of 10 events refute 0.9 and not 0.3.",
        ),
        (
            "one-bin",
            [0, 0, 0, 0, 0, 1],
            [0.01, 0.02, 0.2, 0.5, 0.6, 0.99],
            1,
            "Each score is tested against 1 event in 6 rows.",
        ),
        ("certain-scores", [0, 0, 0, 1], [0.0, 0.0, 0.0, 0.0], 1, "An event refutes the score 0."),
        ("one-row", [1], [0.3], 10, "One row refutes nothing at 5 %."),
    ]:
        scores = [number(q) for q in p]
        value = exact.tce(y, scores, bins, Fraction(1, 20))
        strict = exact.tce(y, scores, bins, Fraction(1, 100))
        suite.value(
            f"tce-{id}",
            "tce",
            y,
            p,
            value,
            why,
            bins=bins,
            alpha=0.05,
            others=[("level 1 %", strict, False), ("fraction, not percent", value / 100, False)],
            convention={
                "test": "exact binomial, two-sided",
                "bin_rule": "equal-width",
                "edge_side": "closed on the left",
            },
        )


def _debiased(suite):
    width = exact.width_groups(exact.left_closed)
    for id, y, p, bins, why in [
        ("eight-rows", Y, P, 3, "May be negative: it is unbiased."),
        ("pair", [0, 1], [0.5, 0.5], 1, "Two rows: the product of the residuals, −1/4."),
        ("ties", [0, 1, 1, 1, 0], [0.2, 0.2, 0.2, 0.9, 0.9], 2, "Tied scores."),
        (
            "single-rows",
            [0, 1, 1],
            [0.1, 0.5, 0.9],
            3,
            "A bin with one row has no pair and adds nothing.",
        ),
    ]:
        scores = [number(q) for q in p]
        groups = width(scores, bins, None)
        value = exact.debiased(y, scores, groups)
        other = exact.debiased_by_label_variance(y, scores, groups)
        plugin = sum(
            (n * gap**2 for n, gap in exact.gaps(y, scores, [Fraction(1)] * len(p), groups)),
            Fraction(0),
        ) / len(p)
        suite.value(
            f"debiased-{id}",
            "squared_ece",
            y,
            p,
            value,
            why,
            bins=bins,
            others=[
                ("label variance about the bin's rate", other, False),
                ("its root, cut at 0", exact.root(max(other, Fraction(0))), False),
                ("root, cut at 0", exact.root(max(value, Fraction(0))), False),
                ("not debiased", plugin, False),
            ],
            convention={"bin_rule": "equal-width", "edge_side": "closed on the left"},
        )


def maps():
    suite = Suite()
    _isotonic(suite)
    _histogram(suite)
    return suite


def _isotonic(suite):
    for id, y, p, w in [
        ("eight-rows", Y, P, None),
        ("ties", [0, 1, 1, 0, 1, 0], [0.2, 0.2, 0.5, 0.5, 0.5, 0.9], None),
        ("decreasing", [1, 1, 0, 0], [0.1, 0.3, 0.6, 0.8], None),
        ("constant", [0, 1, 1], [0.4, 0.4, 0.4], None),
        ("zero-and-one", [0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0], None),
        ("unsorted", [1, 0, 1, 0, 1], [0.9, 0.2, 0.3, 0.6, 0.1], None),
        ("one-row", [1], [0.3], None),
        ("weights", [1, 0, 1, 0], [0.1, 0.3, 0.6, 0.8], [1, 2, 3, 0.5]),
    ]:
        scores, weights = [number(q) for q in p], [number(v) for v in w or [1] * len(p)]
        value = exact.isotonic(y, scores, weights)
        others = [
            ("ties split in row order", exact.isotonic(y, scores, weights, split_ties=True), False)
        ]
        suite.value(
            f"isotonic-{id}",
            "isotonic",
            y,
            p,
            value,
            "The isotonic regression at the fitted scores; tied scores share one value.",
            others=others,
            sample_weight=w,
            convention={"ties": "share one value"},
        )


def _histogram(suite):
    at = [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0]
    where = [number(q) for q in at]
    for id, y, p in [
        ("eight-rows", Y, P),
        ("empty-bin", [0, 1, 1, 1, 0], [0.1, 0.15, 0.3, 0.9, 0.95]),
    ]:
        scores = [number(q) for q in p]
        suite.value(
            f"histogram-{id}",
            "histogram_binning",
            y,
            p,
            exact.histogram(y, scores, 5, where, exact.left_closed),
            "The event rate of each bin; a bin without rows gives the overall rate.",
            bins=5,
            at=at,
            others=_other_histograms(y, scores, where),
            convention={
                "bin_rule": "equal-width",
                "edge_side": "closed on the left",
                "empty bin": "overall rate",
            },
        )


def _other_histograms(y, scores, where):
    low, high = min(scores), max(scores)
    spread = [
        [min(max((q - low) / (high - low), Fraction(0)), Fraction(1)) for q in row]
        for row in (scores, where)
    ]

    def rates(place, *options, **keywords):
        return exact.histogram(y, scores, 5, where, place, *options, **keywords)

    return [
        ("bins closed on the right", rates(exact.right_closed), False),
        ("rounded edges, i times 1/B", rates(exact.by_multiplied_edges), True),
        (
            "rounded edges, i times 1/B, closed on the right",
            rates(exact.by_multiplied_edges_right),
            True,
        ),
        (
            "bins closed on the right; an empty bin gives its midpoint",
            rates(exact.right_closed, empty="midpoint"),
            False,
        ),
        (
            "bins between the smallest and the largest score; 1 added to both counts",
            exact.histogram(y, spread[0], 5, spread[1], exact.left_closed, 1, empty="half"),
            False,
        ),
        ("1/2 added to events and non-events", rates(exact.left_closed, Fraction(1, 2)), False),
        ("1 added to events and non-events", rates(exact.left_closed, 1), False),
    ]
