"""Every shape of labels and scores: several labels per row, dense predictions, a single column."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import trueness as tn
from trueness.errors import InputError

RNG = np.random.default_rng(7)
P = RNG.random((400, 3))
Y = (RNG.random((400, 3)) < P**1.4).astype(int)
NAMES = ["cat", "dog", "red"]
MEASURES = [
    "ece",
    "ace",
    "mce",
    "brier",
    "log_loss",
    "auc",
    "scaled_brier",
    "smooth_ece",
    "squared_ece",
]
MEASURES += ["calibration_slope", "observed_expected"]


def label(k):
    return Y[:, k], P[:, k]


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_of_several_labels_is_the_mean_over_their_columns(name):
    measure = getattr(tn.measure, name)
    assert measure(Y, P, kind="multilabel") == np.mean([measure(*label(k)) for k in range(3)])


@pytest.mark.parametrize("sums", [tn.tally, tn.sketch, tn.binned])
def test_sums_of_several_labels_are_those_of_each_column_and_add(sums):
    both = sums(Y[:150], P[:150], kind="multilabel", labels=NAMES) + sums(
        Y[150:], P[150:], kind="multilabel", labels=NAMES
    )
    assert both.parts == tuple(sums(*label(k)).parts[0] for k in range(3))
    assert (both.kind, both.classes, both.n) == ("multilabel", tuple(NAMES), 400)
    assert type(both).from_bytes(both.to_bytes()) == both == type(both).from_dict(both.to_dict())


def test_bands_have_rows_for_every_label_and_call_them_labels():
    found = tn.curve_band(Y, P, kind="multilabel", bins=2, method="bins")
    assert [line.split()[0] for line in str(found).splitlines()] == [
        "label",
        "0",
        "0",
        "1",
        "1",
        "2",
        "2",
    ]
    assert np.allclose(found.rate[:2], tn.curve_band(Y[:, 0], P[:, 0], bins=2, method="bins").rate)


def test_labels_take_their_names_from_either_frame():
    plain = tn.tally(Y, P, kind="multilabel", labels=NAMES)
    assert tn.tally(pd.DataFrame(Y, columns=NAMES), P, kind="multilabel") == plain
    assert tn.tally(Y, pd.DataFrame(P, columns=NAMES), kind="multilabel") == plain


def test_logits_of_several_labels_pass_through_the_logistic_function():
    Z = np.log(P / (1 - P))
    each = [tn.brier(Y[:, k], Z[:, k], from_logits=True) for k in range(3)]
    assert tn.brier(Y, Z, kind="multilabel", from_logits=True) == np.mean(each)


def test_a_row_that_lacks_one_of_its_labels_is_dropped():
    gaps = Y.astype(float)
    gaps[:5, 1] = np.nan
    with pytest.warns(tn.errors.DroppedRowsWarning, match="5 of 400 rows have a missing value"):
        found = tn.ece(gaps, P, kind="multilabel", missing="drop")
    assert found == tn.ece(Y[5:], P[5:], kind="multilabel")


def test_a_batch_after_another_gives_the_sums_of_all():
    total = tn.Accumulator(bins=10, kind="multilabel", labels=NAMES)
    for few in np.array_split(np.arange(400), 3):
        total.update(Y[few], P[few])
    assert total.total == tn.binned(Y, P, kind="multilabel", labels=NAMES)


@pytest.mark.parametrize("name", ["ece", "l2", "brier", "slope", "smooth_ece"])
def test_each_label_has_its_own_limits_at_a_level_that_holds_for_all(name):
    found = tn.estimate(name, Y, P, kind="multilabel", labels=NAMES, seed=1, floor=False)
    assert list(found.each) == NAMES
    for k, one in enumerate(found.each.values()):
        alone = tn.estimate(name, *label(k), level=1 - 0.05 / 3, seed=1, floor=False)
        assert one.value == alone.value
        if name in ("brier", "slope"):  # which draw nothing
            assert (one.low, one.high) == (alone.low, alone.high)
    for field in ("value", "low", "high"):
        mean = np.mean([getattr(one, field) for one in found.each.values()])
        assert getattr(found, field) == mean or np.isnan(mean)
    assert found.kind == "multilabel"
    assert str(found).count("\n") == 3
    assert (
        found.to_dict()["each"]["dog"]["value"]
        == found.to_frame()["value"][1]
        == tn.estimate(name, *label(1)).value
    )


def test_labels_that_repeat_each_other_have_the_joint_p_value_of_bonferroni():
    y, p = label(0)
    alone = tn.calibration_test(y, p, method="cox").pvalue
    found = tn.calibration_test(
        np.column_stack([y] * 4), np.column_stack([p] * 4), kind="multilabel", method="cox"
    )
    assert found.pvalue == min(1, 4 * alone)
    assert set(found.alone.values()) == {alone}


def test_the_worst_label_is_named_and_the_others_are_adjusted_by_holm():
    y = np.column_stack(
        [(RNG.random(2000) < 0.3), (RNG.random(2000) < 0.3), (RNG.random(2000) < 0.4)]
    )
    found = tn.calibration_test(y, np.full((2000, 3), 0.3), kind="multilabel", labels=NAMES, seed=0)
    assert found.strongest.startswith("label 'red'")
    assert found.pvalue == found.adjusted["red"] == 3 * found.alone["red"] < 0.01
    low, high = sorted(found.alone[name] for name in ("cat", "dog"))
    assert sorted(found.adjusted.values())[1:] == sorted(
        [min(1, 2 * low), max(min(1, 2 * low), high)]
    )


def test_sums_answer_as_rows_do():
    sums = tn.tally(Y, P, kind="multilabel", labels=NAMES)
    assert (
        tn.calibration_test(sums, method="cox").alone
        == tn.calibration_test(Y, P, kind="multilabel", labels=NAMES, method="cox").alone
    )
    assert tn.estimate("brier", sums).low == tn.estimate("brier", Y, P, kind="multilabel").low


@pytest.mark.parametrize(
    "ask",
    [
        tn.ece_interval,
        tn.curve_band,
        tn.risk_coverage,
        lambda y, p, kind: tn.gate(y, p, max_ece=0.1, kind=kind),
    ],
)
def test_a_question_about_one_problem_refuses_several_labels(ask):
    with pytest.raises(
        tn.InputError, match=r"must not be 'multilabel' for .*each label is a problem of its own"
    ):
        ask(Y, P, kind="multilabel")


# ---- dense predictions

Z = RNG.normal(size=(12, 4, 5, 3)).astype(np.float32)
SCORES = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
LABELS = RNG.integers(0, 4, (12, 5, 3))
LABELS[0, :2] = 255
KEPT = LABELS.ravel() != 255
IMAGE = np.repeat(np.arange(12), 15)[KEPT]


def by_hand(scores):
    return LABELS.ravel()[KEPT], np.moveaxis(scores, 1, -1).reshape(-1, 4)[KEPT]


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@pytest.mark.parametrize("bins", [10, tn.EqualMass(4), [0, 0.3, 1]])
def test_dense_scores_equal_those_flattened_by_hand(kind, bins):
    asked = {"kind": kind, "bins": bins}
    assert tn.ece(LABELS, SCORES, ignore_index=255, **asked) == tn.ece(*by_hand(SCORES), **asked)
    assert tn.ece(LABELS, Z, ignore_index=255, from_logits=True, **asked) == tn.ece(
        *by_hand(Z), from_logits=True, **asked
    )


@pytest.mark.parametrize("name", ["brier", "log_loss", "auc", "smooth_ece", "tce", "squared_ece"])
def test_every_measure_takes_dense_scores(name):
    measure = getattr(tn.measure, name)
    assert measure(LABELS, SCORES, ignore_index=255) == measure(*by_hand(SCORES))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_memory_order_and_type_do_not_matter(order, dtype):
    scores = np.asarray(SCORES, dtype=dtype, order=order)
    assert tn.tally(LABELS, scores, ignore_index=255) == tn.tally(*by_hand(scores))
    last = np.moveaxis(
        np.ascontiguousarray(np.moveaxis(scores, 1, -1)), -1, 1
    )  # channels last in memory
    assert tn.tally(LABELS, last, ignore_index=255) == tn.tally(*by_hand(scores))


def test_one_channel_is_the_probability_of_the_event():
    y, p = RNG.integers(0, 2, (3, 4, 5)), RNG.random((3, 1, 4, 5))
    expected = tn.tally(y.ravel(), p.ravel())
    assert tn.tally(y, p) == tn.tally(y[:, None], p) == expected


@pytest.mark.parametrize("ask", [tn.calibration_test, tn.ece_interval])
def test_each_image_is_a_cluster_unless_others_are_named(ask):
    dense = ask(LABELS, SCORES, ignore_index=255, seed=3)
    flat = ask(*by_hand(SCORES), cluster=IMAGE, seed=3)
    assert dense.to_dict() | {"assumptions": "", "note": ""} == flat.to_dict() | {
        "assumptions": "",
        "note": "",
    }
    patients = np.arange(12) // 2
    by_patient = ask(LABELS, SCORES, ignore_index=255, seed=3, cluster=patients)
    assert (
        by_patient.to_dict()
        == ask(
            LABELS,
            SCORES,
            ignore_index=255,
            seed=3,
            cluster=np.repeat(patients, 15).reshape(LABELS.shape),
        ).to_dict()
    )
    assert "images" not in str(by_patient.to_dict())


@pytest.mark.parametrize("as_names", [np.ma.array, lambda names: pd.Series(names, dtype="Int64")])
def test_names_of_images_in_a_masked_array_are_those_of_their_pixels(as_names):
    patients = np.arange(12) // 2
    named = tn.calibration_test(
        LABELS, SCORES, ignore_index=255, seed=3, cluster=as_names(patients)
    )
    plain = tn.calibration_test(LABELS, SCORES, ignore_index=255, seed=3, cluster=patients)
    assert named.to_dict() == plain.to_dict()


@pytest.mark.parametrize(
    "names",
    [
        np.ma.array(np.arange(12), mask=np.arange(12) == 1),
        pd.Series([0, None, *range(2, 12)], dtype="Int64"),
        [0, None, *range(2, 12)],
    ],
)
def test_a_missing_name_of_an_image_is_missing_for_its_pixels(names):
    demand = r"`cluster` must not have missing values; 15 of 180 rows have one, the first at row 15"
    with pytest.raises(InputError, match=demand):
        tn.calibration_test(np.where(LABELS == 255, 0, LABELS), SCORES, cluster=names)


def test_ignore_index_drops_no_row_for_a_missing_cluster():
    y, p = np.array([0, 1, 0, 1, 255, 0]), np.full((6, 2), 0.5)
    demand = r"`cluster` must not have missing values; 1 of 6 rows has one, the first at row 3"
    with pytest.raises(InputError, match=demand):
        tn.estimate("brier", y, p, ignore_index=255, cluster=[1, 2, 3, None, 4, 5])
    ignored = tn.estimate("brier", y, p, ignore_index=255, cluster=[1, 2, 3, 4, None, 5])
    assert ignored.n == 5


pytestmark = pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")


def test_the_note_counts_images_and_ignored_pixels():
    note = tn.estimate("brier", LABELS, SCORES, ignore_index=255).note
    assert (
        note
        == "Each of 12 images is a cluster of 15 pixels. 6 labels 255 (`ignore_index`) were left out."
    )


def test_the_mean_over_classes_of_images_has_limits():
    found = tn.estimate("ece", LABELS, SCORES, ignore_index=255, seed=0)
    assert found.value == tn.ece(*by_hand(SCORES))
    assert found.low <= found.value <= found.high
    y, p = by_hand(SCORES)
    one = tn.estimate("observed_expected", LABELS, SCORES, ignore_index=255, seed=0)
    alone = tn.estimate("observed_expected", y == 2, p[:, 2], cluster=IMAGE, level=1 - 0.05 / 4)
    assert (one.each["2"].low, one.each["2"].high) == (alone.low, alone.high)
    joint = tn.calibration_test(LABELS, SCORES, ignore_index=255, kind="classwise", seed=0)
    assert joint.pvalue == min(joint.adjusted.values())


def test_weights_of_pixels_have_the_shape_of_the_labels():
    w = RNG.integers(0, 3, LABELS.shape)
    found = tn.ece(LABELS, SCORES, ignore_index=255, sample_weight=w)
    assert found == tn.ece(*by_hand(SCORES), sample_weight=w.ravel()[KEPT])


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_images_that_are_summed_in_pieces_equal_those_summed_at_once(kind):
    z = RNG.normal(size=(5, 3, 70, 60))
    y = RNG.integers(0, 4, (5, 70, 60))
    flat = np.moveaxis(z, 1, -1).reshape(-1, 3)
    asked = {"kind": kind, "from_logits": True, "ignore_index": 3}
    assert tn.binned(y, z, **asked) == tn.binned(y.ravel(), flat, **asked)
    z[4, 1, 69, 59] = np.nan
    y[4, 69, 59] = 0
    with pytest.raises(tn.InputError, match=r"Image 4: .* is nan, the first at row 4199, column 1"):
        tn.binned(y, z, **asked)


def test_an_error_names_the_image():
    bad = SCORES.copy()
    bad[7, 2, 1, 1] = -1
    with pytest.raises(
        tn.InputError, match=r"Image 7: `y_prob` must lie in \[0, 1\].* at row 4, column 2"
    ):
        tn.ece(LABELS, bad, ignore_index=255)
    bad[7, 2, 1, 1] = 0
    with pytest.raises(tn.InputError, match=r"Image 7: Rows of `y_prob` must sum to 1 .* at row 4"):
        tn.ece(LABELS, bad, ignore_index=255)
    infinite = Z.copy()
    infinite[3, :, 0, 0] = np.inf
    with pytest.raises(tn.InputError, match="Image 3: `y_prob` as logits must be below"):
        tn.ece(LABELS, infinite, ignore_index=255, from_logits=True)


def test_functions_for_independent_rows_refuse_images():
    for method in ("monotone", "bins"):
        with pytest.raises(tn.InputError, match="pixels of an image depend on each other"):
            tn.curve_band(LABELS, SCORES, method=method, ignore_index=255)


def test_a_picture_of_images_warns_that_pixels_are_taken_as_independent():
    plot = pytest.importorskip(
        "trueness.plot", reason="matplotlib is not installed", exc_type=ImportError
    )
    with pytest.warns(tn.TruenessWarning, match="take pixels as independent"):
        plot.BinsDisplay.from_predictions(LABELS, SCORES, kind="confidence", ignore_index=255)


def test_rows_with_the_ignored_label_are_left_out_of_a_vector_too():
    y, p = np.array([0, 1, -100, 1]), np.array([0.2, 0.7, 0.5, 0.4])
    assert tn.ece(y, p, bins=2, ignore_index=-100) == tn.ece(y[y >= 0], p[y >= 0], bins=2)


@pytest.mark.slow
def test_dense_scores_are_not_copied():
    scores = np.full((16, 16, 128, 128), 1 / 16, dtype=np.float32)
    labels = np.arange(16 * 128 * 128).reshape(16, 128, 128) % 16
    tn.ece(labels[:1], scores[:1])  # what a first call loads is not counted
    for kind in ("classwise", "confidence"):
        for from_logits in (False, True):
            tracemalloc.start()
            tn.ece(labels, scores, kind=kind, from_logits=from_logits)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 0.6 * scores.nbytes, (kind, from_logits, peak / scores.nbytes)


# ---- one column


def test_a_single_column_is_the_binary_problem_and_the_record_says_so():
    y, p = label(0)
    assert (
        tn.ece(y, p[:, None])
        == tn.ece(y[:, None], p[:, None])
        == tn.ece(y, pd.DataFrame({"p": p}))
        == tn.ece(y, p)
    )
    assert (
        tn.estimate("brier", y, p[:, None]).note
        == "The only column of scores is P(positive) of a binary problem."
    )
    with pytest.raises(tn.InputError, match="must be 0 or 1"):
        tn.ece(np.arange(400) % 3, p[:, None])


# ---- coverage with correlated pixels


def _images(rng, n):
    """Scores and labels of images of 8 × 8 pixels whose scores and noise are alike nearby; the truth is known."""

    def field(share):
        coarse = rng.normal(size=(n, 2, 2)).repeat(4, axis=1).repeat(4, axis=2)
        return np.sqrt(share) * coarse + np.sqrt(1 - share) * rng.normal(size=(n, 8, 8))

    truth = 1 / (1 + np.exp(-1.5 * field(0.7) - 0.3))
    y = (ndtr(field(0.6)) < truth).astype(int)
    scores = 1 / (1 + np.exp(-1.5 * np.log(truth / (1 - truth)) + 0.2))
    return y, scores, truth


@pytest.mark.slow
def test_limits_by_image_cover_where_limits_by_pixel_do_not():
    """300 runs: at a coverage of 0.95, 0.92 is 2.4 standard errors away."""
    rng, runs = np.random.default_rng(20), 300
    y, p, truth = _images(rng, 20_000)
    true = {"l2": np.sqrt(np.mean((p - truth) ** 2)), "observed_expected": truth.mean() / p.mean()}
    true["brier"] = np.mean((p - truth) ** 2 + truth * (1 - truth))
    covered = {(name, how): 0 for name in true for how in ("images", "pixels")}
    for seed in range(runs):
        y, p, _ = _images(rng, 60)
        for how, rows in {"images": (y, p[:, None]), "pixels": (y.ravel(), p.ravel())}.items():
            for name in true:
                covered[name, how] += true[name] in tn.estimate(name, *rows, seed=seed)
    share = {key: count / runs for key, count in covered.items()}
    for name in true:
        assert share[name, "images"] >= 0.92, share
        assert share[name, "pixels"] < share[name, "images"] - 0.1, share
    assert share["observed_expected", "pixels"] < 0.7, share


@pytest.mark.slow
@pytest.mark.parametrize("dependence", [0.0, 0.9, 1.0])
def test_the_joint_test_and_the_limits_of_all_labels_hold_whatever_their_dependence(dependence):
    """400 runs: at a level of 0.05, 0.083 is 3 standard errors away; at a coverage of 0.95, 0.917."""
    rng, runs, rejected, covered = np.random.default_rng(6), 400, 0, 0
    for seed in range(runs):
        z = np.sqrt(dependence) * rng.normal(size=(150, 1)) + np.sqrt(1 - dependence) * rng.normal(
            size=(150, 6)
        )
        p = np.repeat(rng.beta(2, 2, (150, 1)), 6, axis=1)
        y = (ndtr(z) < p).astype(int)
        rejected += (
            tn.calibration_test(y, p, kind="multilabel", resamples=199, seed=seed).pvalue <= 0.05
        )
        each = tn.estimate("observed_expected", y, p, kind="multilabel").each.values()
        covered += all(1.0 in one for one in each)
    assert rejected / runs <= 0.083, rejected / runs
    assert covered / runs >= 0.917, covered / runs


def test_no_rows_of_several_labels_are_refused():
    with pytest.raises(tn.InputError, match="must have at least one row"):
        tn.ece(np.empty((0, 2)), np.empty((0, 2)), kind="multilabel")
