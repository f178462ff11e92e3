"""Scores of 0 and 1: labels they rule out, and rounding that may have produced them."""

import numpy as np
import pytest

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def rounded_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 0.5, n).round(2)
    y = (rng.random(n) < p).astype(int)
    y[np.flatnonzero(p == 1)[0]] = 0
    return y, p


@pytest.mark.parametrize(
    ("y", "p", "words"),
    [
        ([1, 0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1, 0.5], "1 of 3 rows with score exactly 0 has label 1 and 2 of 3 rows "
         "with score exactly 1 have label 0"),
        ([1, 1, 0, 1], [0, 0, 0.5, 1], "2 of 2 rows with score exactly 0 have label 1"),
        ([0, 1, 0, 1], [0, 0.5, 1, 1], "1 of 2 rows with score exactly 1 has label 0"),
        ([0] + [1] * 90, [1] * 91, "1 of 91 rows with score exactly 1 has label 0"),
    ],
)  # fmt: skip
def test_labels_that_a_score_rules_out_are_counted_and_the_option_is_named(y, p, words):
    found = tn.calibration_test(y, np.asarray(p, float))
    wrong = sum(int((a == 0 and b) or (a == 1 and not b)) for a, b in zip(p, y, strict=True))
    assert (found.pvalue, found.statistic, found.contradicted, found.too_good) == (
        0,
        0,
        wrong,
        None,
    )
    assert found.assumptions.startswith(
        f"Labels are impossible under the scores: {words}. If scores were rounded, say"
    )
    assert "`rounded_to=0.01`" in found.assumptions
    assert "impossible" in found.strongest


@pytest.mark.parametrize(
    "more", [{}, {"sample_weight": 1.5}, {"cluster": 1}, {"kind": "classwise"}, {"k": 2}]
)
def test_a_few_errors_among_many_rounded_scores_do_not_refute_them(more):
    rng = np.random.default_rng(7)
    p = np.append(np.ones(1_000), rng.beta(5, 2, 100).round(2).clip(0.01, 0.99))
    y = (rng.random(p.size) < p).astype(int)
    y[:3] = 0
    options = {
        name: np.arange(p.size) // 2 if name == "cluster" else value for name, value in more.items()
    }
    if "sample_weight" in more:
        options["sample_weight"] = np.full(p.size, 1.5)
    scores = np.column_stack([1 - p, p]).round(2) if {"kind", "k"} & set(more) else p
    found = tn.calibration_test(y, scores, seed=0, rounded_to=0.01, resamples=199, **options)
    assert (found.contradicted, found.too_good) == (3, None)
    assert found.pvalue > 0.05
    assert "impossible under the scores as they stand (p = 0): 3 of 1," in found.assumptions
    assert tn.calibration_test(y, scores, **options).pvalue == 0


@pytest.mark.parametrize(
    ("y", "p", "moved"),
    [
        # Halfway to the nearest score, the share of the labels, or half a unit, whichever is nearest.
        ([1, 0, 1, 0], [0.5, 0.6, 0.998, 1.0], [0.5, 0.6, 0.998, 0.999]),
        ([1, 0, 0, *[1] * 399], [0.5, 0.9, *[1.0] * 400], [0.5, 0.9, *[1 - 1 / 400] * 400]),
        ([1, *[0] * 399, 1, 0], [*[0.0] * 400, 0.5, 0.9], [*[1 / 400] * 400, 0.5, 0.9]),
        ([1, 1, 0, 0], [0.0, 0.5, 0.9, 1.0], [0.01, 0.5, 0.9, 0.99]),
        ([1, 1, 0, 0], [0.0, 1e-3, 0.5, 1.0], [5e-4, 1e-3, 0.5, 0.99]),
        ([1, 0, 1, 0, 1, 1], [0.0, 0.0, 1.0, 1.0, 1.0, 1.0], [0.01, 0.01, 0.99, 0.99, 0.99, 0.99]),
    ],
)
def test_scores_of_0_and_1_move_no_farther_than_their_labels_and_neighbours_allow(y, p, moved):
    how = {"seed": 0, "resamples": 199}
    found, expected = (
        tn.calibration_test(y, p, rounded_to=0.02, **how),
        tn.calibration_test(y, moved, **how),
    )
    assert found.contradicted > 0
    assert (found.alone, found.pvalue) == (expected.alone, expected.pvalue)


def test_rounded_scores_that_no_label_contradicts_stay_where_they_are():
    y, p = rounded_rows()
    y[p == 1], y[p == 0] = 1, 0
    assert tn.calibration_test(y, p, seed=0, rounded_to=0.01) == tn.calibration_test(y, p, seed=0)


def test_very_many_contradictions_are_evidence_even_if_scores_were_rounded():
    y, p = rounded_rows()
    assert tn.calibration_test(y, p, seed=0, rounded_to=0.01).pvalue > 0.01
    y[np.flatnonzero(p == 1)[:15]] = 0
    found = tn.calibration_test(y, p, seed=0, rounded_to=0.01)
    assert 0 < found.pvalue < 1e-8
    assert "But scores were rounded to multiples of 0.01; with" in found.assumptions


def test_clusters_see_contradictions_too():
    y, p = rounded_rows(200, 1)
    cluster = np.arange(200) // 4
    found = tn.calibration_test(y, p, cluster=cluster, seed=0, rounded_to=0.01)
    moved = tn.calibration_test(y, np.clip(p, 0.005, 0.995), cluster=cluster, seed=0)
    assert found.pvalue == pytest.approx(
        moved.pvalue, abs=0.05
    )  # clusters are numbered by their content
    assert "impossible under the scores as they stand" in found.assumptions
    assert tn.calibration_test([0, 1, 0, 1], [1.0, 1.0, 0.5, 0.5], cluster=[0, 0, 1, 1]).pvalue == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounded_to": 1.5}, "`rounded_to` must lie strictly between 0 and 1; got 1.5"),
        ({"rounded_to": 0.1, "method": "cox"}, "`rounded_to` is not used by `method='cox'`"),
        (
            {"rounded_to": 0.1, "kind": "top-label"},
            "`rounded_to` is not used by `kind='top-label'`",
        ),
    ],
)
def test_messages(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.calibration_test([0, 1], [[0.5, 0.5], [0.2, 0.8]], **options)
