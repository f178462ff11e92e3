"""Models compared on the same rows: laws, by hand, brute force, simulated levels, messages."""

import json
import math
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t

import trueness as tn
from trueness import ece_interval
from trueness.infer import compare

RNG = np.random.default_rng(7)
N = 300
Q = RNG.uniform(0.02, 0.98, N)
Y = (RNG.uniform(size=N) < Q).astype(int)
A = np.clip(Q + 0.10 * RNG.standard_normal(N), 0.01, 0.99)
B = np.clip(0.5 + 0.6 * (Q - 0.5) + 0.05 * RNG.standard_normal(N), 0.01, 0.99)
C = np.clip(Q + 0.05, 0.01, 0.99)
CLUSTER = RNG.integers(0, 40, N)
THREE = {"a": A, "b": B, "c": C}
LOGITS = RNG.standard_normal((N, 4))
MATRICES = {
    name: np.exp(s * LOGITS) / np.exp(s * LOGITS).sum(axis=1, keepdims=True)
    for name, s in (("cool", 0.7), ("hot", 2))
}

CLASSES = np.array([RNG.choice(4, p=row) for row in MATRICES["cool"]])
NAMED = ("squared_ece", "brier", "log_loss")
EVERY = [
    pytest.param(
        {"measure": measure, "method": method} | more,
        id=f"{measure}-{method}{'-cluster' * bool(more)}",
    )
    for measure, method, more in product(
        NAMED, ("influence", "bootstrap"), ({}, {"cluster": CLUSTER})
    )
]


@pytest.mark.parametrize("options", EVERY)
def test_identical_models_do_not_differ(options):
    pair = compare(Y, {"a": A, "again": A.copy()}, seed=1, resamples=99, **options).pairs[0]
    assert (pair.difference, pair.standard_error, pair.low, pair.high, pair.pvalue) == (
        0,
        0,
        0,
        0,
        1,
    )


@pytest.mark.parametrize("options", EVERY)
def test_swapping_the_models_changes_the_sign_only(options):
    forth = compare(Y, {"a": A, "b": B}, seed=1, resamples=99, **options)
    back = compare(Y, {"b": B, "a": A}, seed=1, resamples=99, **options)
    for one, other in ((forth["a", "b"], back["a", "b"]), (forth["b", "a"], back["b", "a"])):
        assert one.difference == other.difference
        assert one.pvalue == other.pvalue
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-15)
    assert forth["a", "b"].difference == -forth["b", "a"].difference


@pytest.mark.parametrize("options", EVERY)
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(options):
    options = dict(options)
    cluster = options.pop("cluster", None)
    w = np.random.default_rng(2).integers(0, 4, N)
    at = np.repeat(np.arange(N), w)
    told = {} if cluster is None else {"cluster": cluster}
    again = {} if cluster is None else {"cluster": cluster[at]}
    weighted = compare(
        Y,
        THREE,
        sample_weight=w,
        weight_type="frequency",
        seed=3,
        level=0.9,
        resamples=99,
        **options,
        **told,
    )
    repeated = compare(
        Y[at],
        {k: p[at] for k, p in THREE.items()},
        seed=3,
        level=0.9,
        resamples=99,
        **options,
        **again,
    )
    assert weighted == repeated


@pytest.mark.parametrize("measure", ["squared_ece", tn.ece])
def test_the_number_of_workers_does_not_matter(measure):
    ask = partial(
        compare, Y, THREE, measure=measure, method="bootstrap", seed=5, level=0.9, resamples=99
    )
    assert ask(workers=1) == ask(workers=3)
    assert ask(seed=6) != ask()


def test_a_function_of_the_tally_sees_the_tally():
    for y, models, options in (
        (Y, {"a": A, "b": B}, {}),
        (CLASSES, MATRICES, {}),
        (CLASSES, MATRICES, {"kind": "confidence"}),
        (CLASSES, MATRICES, {"kind": "top-label"}),
    ):
        found = compare(
            y,
            models,
            measure=tn.ece,
            method="bootstrap",
            seed=1,
            level=0.9,
            resamples=19,
            **options,
        )
        assert found.estimates == {
            name: tn.ece(tn.tally(y, p, **options)) for name, p in models.items()
        }
        assert found.measure == "ece"


def test_resamples_of_a_function_are_those_of_the_rows():
    by_name = compare(
        Y, THREE, measure="brier", method="bootstrap", seed=1, level=0.9, resamples=99
    )
    by_function = compare(
        Y, THREE, measure=tn.brier, method="bootstrap", seed=1, level=0.9, resamples=99
    )
    clustered = compare(
        Y,
        THREE,
        measure="brier",
        method="bootstrap",
        seed=1,
        level=0.9,
        resamples=99,
        cluster=CLUSTER,
    )
    of_tally = compare(
        Y,
        THREE,
        measure=tn.brier,
        method="bootstrap",
        seed=1,
        level=0.9,
        resamples=99,
        cluster=CLUSTER,
    )
    for one, other in ((by_name, by_function), (clustered, of_tally)):
        for a, b in zip(one.pairs, other.pairs, strict=True):
            assert (a.difference, a.low, a.high) == pytest.approx(
                (b.difference, b.low, b.high), abs=1e-12
            )
            assert a.pvalue == b.pvalue


def test_estimates_are_those_of_the_measures():
    rule = tn.EqualMass(10)
    for bins, same in (
        (rule, rule),
        (None, None),
        (7, tn.EqualWidth(7)),
        ([0, 0.4, 1], tn.Edges([0, 0.4, 1])),
    ):
        found = compare(Y, THREE, bins=bins)
        for name, p in THREE.items():
            assert found.estimates[name] == pytest.approx(
                tn.squared_ece(Y, p, bins=same), abs=1e-15
            )
    few = compare(Y, {"many": A, "one": np.full(300, 0.5)})
    assert few.bins == "MassAndWidth(mass=10, width=10), Distinct()"
    for measure, of in (("brier", tn.brier), ("log_loss", tn.log_loss)):
        found = compare(Y, THREE, measure=measure)
        assert list(found.estimates.values()) == pytest.approx(
            [of(Y, p) for p in THREE.values()], rel=1e-13
        )


def test_matrices_are_compared_by_the_top_label_or_over_all_classes():
    found = compare(CLASSES, MATRICES, bins=5)
    assert found.estimates == pytest.approx(
        {k: tn.squared_ece(CLASSES, p, bins=5) for k, p in MATRICES.items()}
    )
    for measure, of in (("brier", tn.brier), ("log_loss", tn.log_loss)):
        for kind in ("classwise", "confidence"):
            found = compare(CLASSES, MATRICES, measure=measure, kind=kind)
            assert found.estimates == pytest.approx(
                {k: of(CLASSES, p, kind=kind) for k, p in MATRICES.items()}
            )
        assert compare(CLASSES, MATRICES, measure=measure) == compare(
            CLASSES, MATRICES, measure=measure, kind="classwise"
        )
    cool = compare(CLASSES, MATRICES, measure="log_loss")["cool", "hot"]
    assert cool.high < 0


def test_the_difference_of_brier_scores_is_the_mean_of_row_differences():
    # Losses 0, 1/4, 1/4 and 1/4, 1/4, 1: differences −1/4, 0, −3/4 with mean −1/3 and variance 7/48.
    pair = compare(
        [0, 1, 1], {"a": [0, 0.5, 0.5], "b": [0.5, 0.5, 0]}, measure="brier", level=0.9
    ).pairs[0]
    error = np.sqrt(7 / 48 / 3)
    assert pair.difference == pytest.approx(-1 / 3)
    assert pair.standard_error == pytest.approx(error)
    t = (1 / 3) / error  # two degrees of freedom: P(|T| > t) = 1 − t/√(2 + t²)
    assert pair.pvalue == pytest.approx(1 - t / np.sqrt(2 + t * t))
    assert pair.high == pytest.approx(-1 / 3 + 2.9199855803537 * error)


def test_the_error_of_a_mean_is_that_of_cluster_sums():
    y, cluster = np.array([1, 0, 1, 0, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    a, b = np.array([0.9, 0.2, 0.7, 0.4, 0.6, 0.8]), np.full(6, 0.5)
    d = (y - a) ** 2 - (y - b) ** 2
    plain = compare(y, {"a": a, "b": b}, measure="brier")["a", "b"]
    assert plain.standard_error == pytest.approx(d.std(ddof=1) / math.sqrt(6))
    rest = np.bincount(cluster, d - d.mean())
    grouped = compare(y, {"a": a, "b": b}, measure="brier", cluster=cluster)["a", "b"]
    assert grouped.standard_error == pytest.approx(math.sqrt(3 / 2 * rest @ rest) / 6)


def test_names_of_clusters_may_be_anything_that_can_be_told_apart():
    plain = compare(Y, THREE, cluster=CLUSTER)
    for names in (
        [f"patient {c}" for c in CLUSTER],
        [("ward", int(c)) if c % 2 else int(c) for c in CLUSTER],
        CLUSTER.astype(float),
    ):
        column = np.empty(N, dtype=object)
        column[:] = names
        found = compare(Y, THREE, cluster=column)
        assert found.pairs[0].standard_error == pytest.approx(
            plain.pairs[0].standard_error, rel=1e-10
        )


def holm(pvalues):
    """Reject one by one, the smallest first, with the number of those left."""
    adjusted, largest = np.empty(len(pvalues)), 0.0
    for rank, i in enumerate(np.argsort(pvalues, kind="stable")):
        largest = max(largest, (len(pvalues) - rank) * pvalues[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


def test_more_than_two_models_are_adjusted_for():
    found = compare(Y, THREE, level=0.9)
    assert [(p.first, p.second) for p in found.pairs] == list(combinations("abc", 2))
    assert found.models == ("a", "b", "c")
    assert "3 comparisons of 3 models" in found.multiplicity
    assert "Holm" in found.multiplicity
    assert "Bonferroni" in found.multiplicity
    pvalues = np.array([p.pvalue for p in found.pairs])
    assert [p.adjusted_pvalue for p in found.pairs] == holm(pvalues).tolist()
    wider = compare(Y, THREE, level=1 - 0.1 / 3)
    for one, other in zip(found.pairs, wider.pairs, strict=True):
        assert (one.simultaneous_low, one.simultaneous_high) == pytest.approx(
            (other.low, other.high)
        )
        assert one.simultaneous_low < one.low
    two = compare(Y, {"a": A, "b": B})
    assert two.multiplicity == "One comparison: nothing to adjust for."
    assert two.pairs[0].adjusted_pvalue == two.pairs[0].pvalue
    assert two.pairs[0].simultaneous_low == two.pairs[0].low


@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_interval_and_pvalue_agree(method):
    for measure, level in product(NAMED, (0.5, 0.9, 0.98)):
        for pair in compare(Y, THREE, measure=measure, method=method, level=level, seed=1).pairs:
            inside = pair.low <= 0 <= pair.high
            if abs(pair.pvalue - (1 - level)) > 0.004:
                assert inside == (pair.pvalue > 1 - level)


@pytest.mark.parametrize("cluster", [None, CLUSTER])
@pytest.mark.parametrize("measure", NAMED)
def test_the_bootstrap_agrees_with_the_influences(measure, cluster):
    shift = {"up": expit(logit(Q) + 0.8), "down": expit(logit(Q) - 0.5)}
    ask = partial(
        compare,
        Y,
        shift,
        measure=measure,
        cluster=cluster,
        bins=tn.EqualMass(10) if measure == "squared_ece" else None,
    )
    one, other = ask().pairs[0], ask(method="bootstrap", resamples=1999, seed=1).pairs[0]
    assert one.difference == other.difference
    assert one.standard_error == pytest.approx(other.standard_error, rel=0.1)
    assert one.low == pytest.approx(other.low, abs=0.25 * one.standard_error)
    assert one.high == pytest.approx(other.high, abs=0.25 * one.standard_error)


def test_rows_that_miss_a_value_anywhere_are_dropped_everywhere():
    a, b, cluster = A.copy(), B.copy(), CLUSTER.astype(float)
    y, w = Y.astype(float), np.ones(N)
    a[3], b[5], y[8], cluster[13], w[21] = (np.nan,) * 5
    gone = [3, 5, 8, 13, 21]
    with pytest.warns(
        tn.errors.DroppedRowsWarning, match=r"5 of 300 rows have a missing value in some model"
    ):
        found = compare(y, {"a": a, "b": b}, cluster=cluster, sample_weight=w, missing="drop")
    clean = compare(
        np.delete(Y, gone),
        {"a": np.delete(A, gone), "b": np.delete(B, gone)},
        cluster=np.delete(CLUSTER, gone),
    )
    assert found == clean
    p = {name: values.copy() for name, values in MATRICES.items()}
    p["hot"][7] = np.nan
    with pytest.warns(tn.errors.DroppedRowsWarning, match="1 of 300"):
        dropped = compare(CLASSES, p, missing="drop")
    assert dropped == compare(
        np.delete(CLASSES, 7), {k: np.delete(v, 7, axis=0) for k, v in MATRICES.items()}
    )
    assert compare(Y, {"a": A, "b": B}, missing="drop") == compare(Y, {"a": A, "b": B})


def test_labels_are_read_as_everywhere():
    words = np.where(Y == 1, "yes", "no")
    assert compare(words, THREE, pos_label="yes") == compare(Y, THREE)
    named = np.array(list("dcba"))[CLASSES]
    assert compare(named, MATRICES, labels=list("dcba")) == compare(CLASSES, MATRICES)


def test_each_model_may_have_labels_of_its_own():
    other = (np.random.default_rng(1).uniform(size=N) < B).astype(int)
    both = {"a": Y, "b": other}
    for options in (
        {},
        {"cluster": CLUSTER},
        {"measure": "brier", "method": "bootstrap", "seed": 0},
    ):
        result = compare(both, {"a": A, "b": B}, **options)
        assert result.estimates["a"] == compare(Y, {"a": A, "c": C}, **options).estimates["a"]
        assert result.estimates["b"] == compare(other, {"a": A, "b": B}, **options).estimates["b"]
        same = compare({"b": Y, "a": Y}, {"a": A, "b": B}, **options)
        assert same == compare(Y, {"a": A, "b": B}, **options)
    difference = compare(both, {"a": A, "b": B}, measure="brier")["a", "b"]
    d = (Y - A) ** 2 - (other - B) ** 2
    np.testing.assert_allclose(
        (difference.difference, difference.standard_error), (d.mean(), d.std(ddof=1) / N**0.5)
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"a": Y}, "must have the labels of every model"),
        ({"a": Y, "c": Y}, "must have the labels of every model"),
        ({"a": Y, "b": Y[1:]}, "same rows for every model; got {'a': 300, 'b': 299} labels"),
    ],
)
def test_labels_by_model_name_every_model_and_every_row(labels, message):
    with pytest.raises(tn.InputError, match=message):
        compare(labels, {"a": A, "b": B})


def test_a_comparison_can_be_read_and_stored():
    found = compare(Y, THREE)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    told = found.to_dict()
    assert told["first"] == ["a", "a", "b"]
    assert told["difference"] == [p.difference for p in found.pairs]
    assert told["estimates"] == found.estimates
    assert found.rows()[1]["second"] == "c"
    assert len(found) == 3
    text = str(found)
    assert (
        text.splitlines()[1] == "typical error, in percentage points, of 3 models "
        "(influence, n = 300, 10 bins of equal mass, cut at 10 of equal width)"
    )
    assert "a − b" in text
    assert "adjusted p" in text
    assert found.multiplicity in text
    assert "clusters" in str(compare(Y, THREE, cluster=CLUSTER))
    assert "adjusted p" not in str(compare(Y, {"a": A, "b": B}))
    assert str(found["b", "a"]).startswith("b − a: ")


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_every_measure_of_the_catalogue_can_be_compared():
    two = {"a": A, "b": B}
    for measure in ("ece_l2", "smooth_ece", "observed_expected", "auc", "discrimination"):
        found = compare(Y, two, measure=measure, resamples=39, seed=0)
        assert found.method == "bootstrap"
        for name, p in two.items():
            expected = tn.estimate(measure, Y, p, floor=False).value
            assert found.estimates[name] == pytest.approx(expected, rel=1e-9), measure
    bins = compare(Y, two, measure="ece", bins=5, resamples=39, seed=0)
    assert bins.estimates == {name: tn.ece(Y, p, bins=5) for name, p in two.items()}
    squared, root = (
        compare(Y, two, measure=m, method="bootstrap", resamples=39, seed=0)
        for m in ("squared_ece", "l2")
    )
    assert root.estimates == {
        name: max(0.0, value) ** 0.5 for name, value in squared.estimates.items()
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_frame_are_models(library):
    frame = pytest.importorskip(library)
    make = frame.table if library == "pyarrow" else frame.DataFrame
    assert compare(Y, make(THREE), measure="brier") == compare(Y, THREE, measure="brier")


def test_the_sentence_names_the_winner_or_says_that_there_is_none():
    def pair(first, second, difference, p):
        return tn.results.Difference(first, second, difference, 0.1, -1, 1, p, p, -1, 1)

    def found(estimates, *pairs, **options):
        return tn.results.Comparison(
            "brier", pairs, estimates, 0.95, "influence", 9, None, "", "", "", **options
        )

    two = {"a": 0.2, "b": 0.1}
    clear = found(two, pair("a", "b", 0.1, 0.05), name="Brier score")
    assert (clear.winner, clear.sentence) == ("b", "'b' has the lower Brier score (p = 0.05).")
    assert str(clear).startswith(clear.sentence)
    assert clear.to_dict()["sentence"] == clear.sentence
    close = found(two, pair("a", "b", 0.1, 0.06))
    assert close.winner is None
    assert (
        close.sentence
        == "No winner: 'b' has the lower brier, but it may be chance (against 'a': p = 0.06)."
    )
    assert found(two, pair("a", "b", 0.1, 0.01), better="more").winner == "a"
    assert found(two, pair("a", "b", 0.1, 0.01), better="").sentence == (
        "No winner: the models differ in brier, of which neither less nor more is better."
    )
    assert found(two, pair("a", "b", 0.1, 0.3), better="").sentence == (
        "No winner: the difference in brier may be chance (p = 0.30)."
    )
    tied = found({"a": 0.2, "b": 0.2}, pair("a", "b", -1e-17, 1.0))
    assert tied.sentence == "No winner: 'a' and 'b' have the same brier."
    assert "-0.0000 " not in str(tied)
    three = {"a": 0.2, "b": 0.1, "c": 0.15}
    pairs = pair("a", "b", 0.1, 0.01), pair("a", "c", 0.05, 0.3), pair("b", "c", -0.05, 0.04)
    assert found(three, *pairs).sentence == "'b' has the lowest brier (adjusted p = 0.04)."
    pairs = pair("a", "b", 0.1, 0.01), pair("a", "c", 0.05, 0.3), pair("b", "c", -0.05, 0.2)
    assert found(three, *pairs).sentence == (
        "No winner: 'b' has the lowest brier, but it may be chance (against 'c': adjusted p = 0.20)."
    )


def test_small_numbers_are_shown_with_enough_digits():
    found = compare(Y, {"a": A, "b": A + 1e-6}, measure="brier")
    assert f"{found.estimates['a']:.4f}" == f"{found.estimates['b']:.4f}"
    shown = [line.split()[1] for line in str(found).splitlines()[2:4]]
    assert shown[0] != shown[1]


def rejections(runs, n, models, *, seed=0, level=0.9, draw=None, **options):
    """How often the interval misses zero."""
    rng = np.random.default_rng(seed)
    missed = 0
    for _ in range(runs):
        q, y, more = (draw or independent)(rng, n)
        pair = compare(
            y, {name: of(q, rng) for name, of in models.items()}, level=level, **more, **options
        ).pairs[0]
        missed += not pair.low <= 0 <= pair.high
    return missed / runs


def independent(rng, n):
    q = rng.uniform(size=n)
    return q, (rng.uniform(size=n) < q).astype(int), {}


def shifted(by, noise=0.0):
    return lambda q, rng: expit(logit(q) + by + noise * rng.standard_normal(q.size))


# By symmetry the two have the same error, on opposite sides.
OPPOSITE = {"up": shifted(0.5, 0.3), "down": shifted(-0.5, 0.3)}


@pytest.mark.parametrize(
    ("runs", "n"),
    [pytest.param(2000, n, marks=pytest.mark.slow) for n in (200, 1000, 5000)],
)
def test_the_level_is_kept(runs, n):
    found = rejections(runs, n, OPPOSITE, seed=n)
    assert -max(0.03, 4 * np.sqrt(0.09 / runs)) < found - 0.1 < 0.01 + 3 * np.sqrt(0.1 * 0.9 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["brier", "log_loss"])
def test_the_level_is_kept_for_losses(measure):
    runs = 2000
    found = rejections(runs, 200, OPPOSITE, seed=1, measure=measure)
    assert abs(found - 0.1) < 3.5 * np.sqrt(0.1 * 0.9 / runs)


@pytest.mark.slow
def test_calibrated_models_are_told_apart_too_rarely_but_never_too_often():
    runs = 1000
    calibrated = {"sharp": lambda q, rng: q, "flat": lambda q, rng: np.full(q.size, 0.5)}
    assert rejections(runs, 1000, calibrated, seed=2) < 0.1
    assert (
        rejections(100, 300, calibrated, seed=2, method="bootstrap", resamples=199) < 0.1 + 3 * 0.03
    )


CALIBRATED = {"sharp": lambda q, rng: q, "coarse": lambda q, rng: (np.floor(q * 4) + 0.5) / 4}


@pytest.mark.slow
def test_the_standard_error_of_calibrated_models_is_as_much_too_large_as_the_page_says():
    rng = np.random.default_rng(8)
    found = []
    for _ in range(600):
        q, y, _ = independent(rng, 400)
        found.append(compare(y, {name: of(q, rng) for name, of in CALIBRATED.items()}).pairs[0])
    ratio = np.sqrt(np.mean([one.standard_error**2 for one in found])) / np.std(
        [one.difference for one in found]
    )
    assert 1.05 < ratio < 1.35


@pytest.mark.parametrize("runs", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_a_difference_is_found_that_separate_intervals_hide(runs):
    rng = np.random.default_rng(11)
    paired = disjoint = 0
    for _ in range(runs):
        q, y, _ = independent(rng, 1000)
        near, far = shifted(0.5, 0.2)(q, rng), shifted(0.7, 0.2)(q, rng)
        paired += compare(y, {"near": near, "far": far}, level=0.9)["near", "far"].high < 0
        one, other = (
            ece_interval(y, p, method="analytic", level=0.9, squared=True) for p in (near, far)
        )
        disjoint += one.hull[1] < other.hull[0]
    assert paired > 0.85 * runs
    assert disjoint < 0.05 * runs


def in_clusters(rng, n, size=5):
    """Rows of a cluster share their score, and most of their luck."""
    groups = n // size
    q = rng.uniform(size=groups)
    luck = rng.uniform(size=groups)
    cluster = np.repeat(np.arange(groups), size)
    own = rng.uniform(size=groups * size)
    u = np.where(rng.uniform(size=own.size) < 0.6, luck[cluster], own)
    return q[cluster], (u < q[cluster]).astype(int), {"cluster": cluster}


def without_names(rng, n):
    q, y, _ = in_clusters(rng, n)
    return q, y, {}


@pytest.mark.slow
def test_clusters_restore_the_level_roughly():
    runs = 150
    assert rejections(runs, 600, OPPOSITE, draw=in_clusters) < 0.1 + 4 * np.sqrt(0.1 * 0.9 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("measure", NAMED)
def test_clusters_restore_the_level(measure):
    runs = 1000
    found = rejections(runs, 1000, OPPOSITE, draw=in_clusters, seed=4, measure=measure)
    assert -0.04 < found - 0.1 < 0.01 + 3 * np.sqrt(0.1 * 0.9 / runs)
    assert rejections(runs // 4, 1000, OPPOSITE, draw=without_names, seed=4, measure=measure) > 0.2


@pytest.mark.slow
def test_all_simultaneous_intervals_hold_together():
    runs, missed = 1000, 0
    rng = np.random.default_rng(5)
    for _ in range(runs):
        q, y, _ = independent(rng, 500)
        models = {str(i): shifted(0.5 if i % 2 else -0.5, 0.5)(q, rng) for i in range(4)}
        found = compare(y, models, measure="brier", level=0.9)
        missed += any(not p.simultaneous_low <= 0 <= p.simultaneous_high for p in found.pairs)
        assert (min(p.adjusted_pvalue for p in found.pairs) <= 0.1) == any(
            not p.simultaneous_low <= 0 <= p.simultaneous_high for p in found.pairs
        )
    assert missed / runs < 0.1 + 3 * np.sqrt(0.1 * 0.9 / runs)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ({"a": A}, {}, "`models` must hold at least 2 models to compare; got 1"),
        ([A, B], {}, "`models` must be a dict of names and scores"),
        ({0: A, 1: B}, {}, "`models` must have strings as names; got 0. Use '0'"),
        (
            {"a": tn.tally(Y, A), "b": B},
            {},
            "scores of every row; 'a' is a Tally, which holds only sums of rows",
        ),
        ({"a": A, "b": 100 * B}, {}, r"Model 'b': `y_prob` must lie in \[0, 1\]"),
        ({"a": A, "b": B[:-1]}, {}, "Model 'b': `y_true` and `y_prob` must have one entry per row"),
        (
            {"a": A, "b": np.where(A > 0.9, np.nan, A)},
            {},
            "Model 'b': `y_prob` must not have missing values",
        ),
        (
            {"a": A, "b": np.column_stack([1 - B, B])},
            {},
            "'a' is a vector and 'b' is a matrix of 2 columns",
        ),
        (
            {"a": A, "b": B},
            {"measure": "eceX"},
            "`measure` must be one of prevalence, .*; got 'eceX'. .* 'ece'",
        ),
        (
            {"a": A, "b": B},
            {"measure": 3},
            "`measure` must be a function of a Tally, or one of prevalence, .*; got 3",
        ),
        (
            {"a": A, "b": B},
            {"measure": tn.ece, "method": "influence"},
            "`method` must be 'bootstrap' for a measure of your own",
        ),
        (
            {"a": A, "b": B},
            {"measure": "ece", "method": "influence"},
            "`method` must be 'bootstrap' for 'ece', whose",
        ),
        (
            {"a": A, "b": B},
            {"method": "delta"},
            "`method` must be 'auto', 'influence' or 'bootstrap'; got 'delta'",
        ),
        (
            {"a": A, "b": B},
            {"measure": "brier", "bins": 5},
            "`bins` needs a measure in bins, by its name, such as 'ece'; Brier score has none",
        ),
        ({"a": A, "b": B}, {"bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        ({"a": Q, "b": B}, {"bins": tn.Distinct()}, "Model 'a': No bin holds two rows"),
        ({"a": A, "b": B}, {"level": 90}, "`level` must lie strictly between 0 and 1; got 90"),
        (
            {"a": A, "b": B},
            {"cluster": CLUSTER[:-1]},
            r"`cluster` must have one entry per row \(300\)",
        ),
        ({"a": A, "b": B}, {"cluster": np.zeros(N)}, "`cluster` must name at least 2 clusters"),
        (
            {"a": A, "b": B},
            {"cluster": [None] + [1] * (N - 1)},
            "`cluster` must not have missing values",
        ),
        (
            {"a": A, "b": B},
            {"sample_weight": np.full(N, 0.5), "weight_type": "frequency"},
            "`sample_weight` must be whole numbers .* which count rows",
        ),
        ({"a": A, "b": B}, {"kind": "confidence"}, "Model 'a': `kind='confidence'` needs a matrix"),
        ({"a": A, "b": B}, {"seed": -1}, "`seed` must be"),
        (
            THREE,
            {"method": "bootstrap", "resamples": 50},
            "`resamples` must be at least 119 for 3 comparisons",
        ),
        (
            {"a": np.where(Y == 1, 0, A), "b": B},
            {"measure": "log_loss"},
            r"log loss is infinite; it is in .* rows, the first at row 1",
        ),
    ],
)
def test_bad_arguments_are_named(models, options, message):
    with pytest.raises(tn.InputError, match=message):
        compare(Y, models, **options)


def test_other_views_of_a_matrix_are_refused_for_the_squared_error():
    with pytest.raises(
        tn.InputError, match="`kind` must be 'confidence' for the squared error of a matrix"
    ):
        compare(CLASSES, MATRICES, kind="classwise")


def test_a_measure_that_is_not_a_number_is_refused():
    with pytest.raises(
        tn.InputError, match="Model 'a': `measure` must return one number; it returned str"
    ):
        compare(Y, {"a": A, "b": B}, measure=lambda t: "low", method="bootstrap")
    with pytest.raises(tn.InputError, match="Model 'a': `measure` must be finite"):
        compare(Y, {"a": A, "b": B}, measure=lambda t: float("nan"), method="bootstrap")


def test_one_row_is_refused():
    with pytest.raises(tn.InputError, match="at least 2 rows for the error of a difference; got 1"):
        compare([1], {"a": [0.5], "b": [0.6]}, measure="brier")


def test_too_few_rows_for_the_error_or_for_the_models_are_refused():
    """One pair of rows gives both the same influence, whose spread of zero made any difference certain."""
    with pytest.raises(
        tn.InputError,
        match="`y_true` must have at least 3 rows for the error of a difference; got 2",
    ):
        compare([0, 1], {"a": [0.3, 0.6], "b": [0.35, 0.7]})
    with pytest.raises(
        tn.InputError, match=r"`models` must be at most 10, .* rows; got 11 on 3 rows"
    ):
        compare([0, 1, 1], {name: [0.1, 0.2, 0.3] for name in "abcdefghijk"})


def test_a_pair_that_is_not_there_is_an_error():
    with pytest.raises(tn.InputError, match="There is no pair"):
        compare(Y, {"a": A, "b": B})["a", "z"]


def test_labels_that_are_all_equal_deserve_a_warning():
    with pytest.warns(tn.errors.OneClassWarning, match="All 300 labels are equal"):
        compare(np.ones(N), {"a": A, "b": B}, measure="brier")


def test_rows_without_a_partner_deserve_a_warning():
    with pytest.warns(tn.errors.FewRowsWarning, match="are in bins without two rows"):
        compare([0, 1, 0, 1, 0], {"a": [0.1, 0.11, 0.4, 0.7, 0.9], "b": [0.5] * 5}, bins=5)


@pytest.mark.parametrize(
    ("models", "words"), [(2, "39 for 1 comparison at"), (3, "119 for 3 comparisons at")]
)
def test_the_message_about_too_few_resamples_counts_the_comparisons(models, words):
    some = dict(list(THREE.items())[:models])
    with pytest.raises(tn.InputError, match=f"must be at least {words} level 0.95"):
        compare(Y, some, measure="brier", method="bootstrap", resamples=20)


def test_enough_resamples_are_accepted():
    two = {"a": A, "b": B}
    assert (
        len(compare(Y, two, measure="brier", method="bootstrap", resamples=39, seed=0).pairs) == 1
    )
    assert (
        len(
            compare(
                Y, THREE, measure="brier", method="bootstrap", resamples=59, level=0.9, seed=0
            ).pairs
        )
        == 3
    )
    for models, level, least in ((two, 0.95, 39), (THREE, 0.9, 59)):
        with pytest.raises(tn.InputError, match=f"must be at least {least}"):
            compare(
                Y, models, measure="brier", method="bootstrap", resamples=least - 1, level=level
            )


def test_assumptions_name_the_method():
    two = {"a": A, "b": B}
    ask = partial(compare, Y, two, measure="brier", seed=0)
    assert ask().assumptions == (
        "Rows are paired and independent; the difference is approximately normal (Student's t with rows − 1 degrees of "
        "freedom)."
    )
    assert ask(method="bootstrap").assumptions == (
        "Rows are paired and independent; 999 resamples of rows, the same for all models, centred on the difference."
    )
    assert ask(cluster=CLUSTER).assumptions.startswith(
        "Rows are paired, clusters are independent; the difference"
    )
    assert (
        "99 resamples of clusters"
        in ask(cluster=CLUSTER, method="bootstrap", resamples=99).assumptions
    )


def test_two_rows_are_enough():
    # Losses 0.04, 0.09 and 0.25, 0.16: differences −0.21 and −0.07.
    found = compare([0, 1], {"a": [0.2, 0.7], "b": [0.5, 0.6]}, measure="brier", level=0.9)[
        "a", "b"
    ]
    assert found.difference == pytest.approx(-0.14)
    assert found.standard_error == pytest.approx(0.07)
    assert (found.low, found.high) == pytest.approx(
        (-0.14 - t.ppf(0.95, 1) * 0.07, -0.14 + t.ppf(0.95, 1) * 0.07)
    )
    assert found.pvalue == pytest.approx(2 * t.sf(2, 1))


def test_a_difference_that_is_the_same_in_every_row_is_certain():
    found = compare([1, 0, 1], {"a": [0.5, 0.5, 0.5], "b": [0.75, 0.25, 0.75]}, measure="brier")[
        "a", "b"
    ]
    assert (found.standard_error, found.pvalue, found.low, found.high) == (0, 0, 0.1875, 0.1875)


def test_three_models_have_simultaneous_intervals_and_adjusted_pvalues():
    found = compare(Y, THREE, measure="brier", level=0.9)
    words = "3 comparisons of 3 models: adjusted p-values by Holm's method; simultaneous intervals by Bonferroni's, each"
    assert (
        found.multiplicity
        == f"{words} of level 96.67 %, so that all cover jointly with probability 90 %."
    )
    for pair in found.pairs:
        for level, (low, high) in (
            (0.9, (pair.low, pair.high)),
            (1 - 0.1 / 3, (pair.simultaneous_low, pair.simultaneous_high)),
        ):
            reach = t.ppf((1 + level) / 2, N - 1) * pair.standard_error
            assert (low, high) == pytest.approx((pair.difference - reach, pair.difference + reach))
    one = compare(Y, {"a": A, "b": B}, measure="brier")
    assert one.multiplicity == "One comparison: nothing to adjust for."


def test_a_loss_of_nothing_is_a_positive_zero():
    sure = {"a": [1.0, 0.0], "b": [1.0, 0.0]}
    assert [
        math.copysign(1, x) for x in compare([1, 0], sure, measure="log_loss").estimates.values()
    ] == [1, 1]
    matrix = np.eye(3)
    found = compare([0, 1, 2], {"a": matrix, "b": matrix}, measure="log_loss")
    assert [math.copysign(1, x) for x in found.estimates.values()] == [1, 1]


def test_every_value_of_a_matrix_is_checked_before_a_measure_of_your_own():
    wrong = np.array([[0.2, 0.3, 0.5], [0.5, 0.7, 0.2]])
    right = np.array([[0.2, 0.3, 0.5], [0.3, 0.5, 0.2]])
    for kind in ("classwise", "confidence", "top-label"):
        with pytest.raises(tn.InputError, match="Model 'b': Rows of `y_prob` must sum to 1"):
            compare(
                [0, 1],
                {"a": right, "b": wrong},
                measure=tn.brier,
                method="bootstrap",
                resamples=39,
                kind=kind,
            )


def test_resamples_without_a_value_are_left_out_with_a_warning():
    """Of 3 rows, the only event is missing in 8 of 27 resamples, which then have no odds."""

    def odds(tally):
        events = int(tally.parts[0].events.sum())
        return events / (3 - events) if 0 < events < 3 else float("nan")

    options = {"measure": odds, "method": "bootstrap", "resamples": 99, "level": 0.5, "seed": 1}
    with pytest.warns(
        tn.errors.NoEstimateWarning, match=r"not finite in \d+ of 99 resamples, which were left out"
    ):
        compare([0, 1, 0], {"a": [0.2, 0.6, 0.3], "b": [0.1, 0.9, 0.4]}, **options)


def test_the_brier_score_of_two_columns_is_the_binary_one():
    rng = np.random.default_rng(0)
    p = rng.random(80)
    y = (rng.random(80) < p).astype(int)
    models = {"a": p, "b": np.sqrt(p)}
    columns = {name: np.stack([1 - q, q], axis=1) for name, q in models.items()}
    found = tn.compare(y, columns, measure="brier", kind="classwise")
    binary = tn.compare(y, models, measure="brier")
    assert found.estimates == pytest.approx(binary.estimates)
    assert found.estimates["a"] == pytest.approx(tn.brier(y, p))
    pair, other = found.pairs[0], binary.pairs[0]
    assert (pair.low, pair.high) == pytest.approx((other.low, other.high))


def test_two_columns_class_by_class_have_the_brier_score_of_the_event():
    rng = np.random.default_rng(31)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    q = np.clip(p + 0.1 * np.cos(np.arange(120)), 0, 1)
    columns = {name: np.stack([1 - v, v], axis=1) for name, v in (("a", p), ("b", q))}
    of_columns = tn.compare(y, columns, measure="brier", kind="classwise")
    of_event = tn.compare(y, {"a": p, "b": q}, measure="brier")
    lines = [str(found).splitlines()[1:6] for found in (of_columns, of_event)]
    assert lines[0] == lines[1]
    assert f"{tn.brier(y, p):.4f}" in lines[0][2]
