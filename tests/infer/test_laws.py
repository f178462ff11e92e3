"""Laws of every function of rows: their order, weights that repeat them, sums, and two columns of scores."""

from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
RNG = np.random.default_rng(0)
P = RNG.choice([0.125, 0.25, 0.5, 0.75], 80)
Y = (RNG.random(80) < P).astype(int)
BOTH, GROUP, CLUSTER = np.column_stack([1 - P, P]), np.arange(80) % 2, np.arange(80) // 2


def compared(y, p, **o):
    return tn.compare(y, {"a": p, "b": (1 + p) / 2 if p.ndim == 1 else p / 2 + [0, 0.5]}, **o)


# Every function of rows with one answer, and what is compared.
ANSWERS = {
    "calibration_test": (
        lambda *r, **o: tn.calibration_test(*r, resamples=19, seed=0, **o),
        lambda f: f.pvalue,
    ),
    "analytic": (
        lambda *r, **o: tn.calibration_test(*r, method="analytic", **o),
        lambda f: f.pvalue,
    ),
    "cox": (lambda *r, **o: tn.calibration_test(*r, method="cox", seed=0, **o), lambda f: f.pvalue),
    "exact": (
        lambda *r, **o: tn.calibration_test(*r, method="exact", seed=0, **o),
        lambda f: f.pvalue,
    ),
    "ks": (lambda *r, **o: tn.calibration_test(*r, method="ks", **o), lambda f: f.statistic),
    "compare": (compared, lambda f: [f.pairs[0].pvalue, *f.estimates.values()]),
    "compare by the Brier score": (
        lambda *r, **o: compared(*r, measure="brier", **o),
        lambda f: f.pairs[0].high,
    ),
    "cumulative_walk": (
        tn.infer.cumulative_walk,
        lambda f: [*f.height, *f.half, *f.score[1:], f.ks.pvalue],
    ),
    "curve_band": (tn.curve_band, lambda f: f.high.tolist()),
    "ece_interval": (lambda *r, **o: tn.ece_interval(*r, seed=0, **o), lambda f: f.high),
    "published interval": (
        lambda *r, **o: tn.ece_interval(*r, method="analytic", **o),
        lambda f: f.high,
    ),
    "estimate of the ECE": (lambda *r, **o: tn.estimate("ece", *r, seed=0, **o), lambda f: f.high),
    "estimate of the slope": (
        lambda *r, **o: tn.estimate("slope", *r, seed=0, **o),
        lambda f: f.high,
    ),
    "gate": (
        lambda *r, **o: tn.gate(*r, max_ece=0.3, max_l2=0.3, oe_within=0.1, **o),
        lambda f: [one.high for one in f.findings],
    ),
    "grade_table": (tn.grade_table, lambda f: [one.pvalue for one in (*f, f.total)]),
    "monotone_band": (partial(tn.curve_band, method="monotone"), lambda f: [*f.low, *f.high]),
    "panel": (lambda *r, **o: tn.panel(*r, seed=0, floor=False, **o), lambda f: f["slope"].high),
    "prior_shift": (tn.prior_shift, lambda f: (f.weight, f.high)),
    "verdict": (tn.verdict, lambda f: f.test.pvalue),
} | {
    f"equivalence by {criterion}": (
        lambda *r, c=criterion, **o: tn.equivalence_test(*r, within=0.3, criterion=c, seed=0, **o),
        lambda f: f.pvalue,
    )
    for criterion in ("l2", "oe", "band", "ece")
}
# Those that take two columns for another question; and those of groups, whose own tests ask the other laws.
OTHER = {
    "risk_coverage": (tn.risk_coverage, lambda f: (f.aurc.value, f.aurc.high)),
    **{
        f"{band} bands": (
            lambda *r, b=band, **o: tn.curve_band(*r, bins=2, band=b, **o, method="bins"),
            lambda f: [*f.high],
        )
        for band in ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")
    },
}
GROUPED = {
    "slices": (
        lambda *r, **o: tn.worst_slices(*r, {"x": GROUP}, min_rows=5, resamples=19, seed=0, **o),
        lambda f: f.gap_high.tolist(),
    ),
    "segments": (
        lambda *r, **o: tn.segments(*r, GROUP, resamples=19, seed=0, **o),
        lambda f: f.gap_high.tolist(),
    ),
}


def every(answers):
    cases = [
        pytest.param(*how, id=name, marks=[pytest.mark.slow] * (name == "verdict"))
        for name, how in answers.items()
    ]
    return pytest.mark.parametrize(("ask", "answer"), cases)


@every(ANSWERS | OTHER)
def test_rows_in_any_order_repeated_summed_or_dropped(ask, answer):
    order, w = RNG.permutation(80), RNG.integers(0, 4, 80)
    assert answer(ask(Y[order], P[order])) == pytest.approx(answer(ask(Y, P)), rel=1e-9)
    with suppress(tn.InputError, TypeError):  # some have no clusters
        clustered = answer(ask(Y, P, cluster=CLUSTER))
        assert answer(ask(Y[order], P[order], cluster=CLUSTER[order])) == pytest.approx(
            clustered, rel=1e-9
        )
    kept, again = np.arange(80) % 7 > 0, np.repeat(np.arange(80), w)
    dropped = ask(Y, np.where(kept, P, np.nan), missing="drop", sample_weight=w)
    assert answer(dropped) == pytest.approx(
        answer(ask(Y[kept], P[kept], sample_weight=w[kept])), rel=1e-9
    )
    repeated = pytest.approx(answer(ask(Y[again], P[again])), rel=1e-9)
    assert answer(ask(Y, P, sample_weight=w)) == repeated
    if (
        ask is not compared and ask is not ANSWERS["compare by the Brier score"][0]
    ):  # which takes no sums
        assert answer(ask(tn.tally(Y, P, sample_weight=w))) == repeated


@every(ANSWERS | GROUPED)
def test_two_columns_have_the_answer_of_the_second_and_class_wise_is_no_other_question(ask, answer):
    answered = 0
    for more in ({}, {"sample_weight": 1 + GROUP}, {"cluster": CLUSTER}):
        try:
            plain = pytest.approx(answer(ask(Y, P, **more)), rel=1e-9)
        except (tn.InputError, TypeError):  # not for these rows
            continue
        answered += 1
        found = ask(Y, BOTH, **more)
        assert answer(found) == plain
        assert "the event is the second" in str(found.to_dict())
        assert answer(ask(Y, BOTH, kind="classwise", **more)) == plain
    assert answered >= 2


TAKES_A_LARGEST_SCORE = {
    "calibration_test": tn.calibration_test,
    "calibration_test of k = 1": partial(tn.calibration_test, k=1),
    "compare": compared,
    "cumulative_walk": tn.infer.cumulative_walk,
    "curve_band": tn.curve_band,
    "decision_certificate": tn.decision_certificate,
    "ece_interval": tn.ece_interval,
    "ece_interval of k = 1": partial(tn.ece_interval, k=1),
    "equivalence_test": partial(tn.equivalence_test, within=0.3),
    "estimate of the ECE": partial(tn.estimate, "ece"),
    "estimate of the squared ECE of k = 1": partial(tn.estimate, "squared_ece", k=1),
    "gate": partial(tn.gate, max_ece=0.3),
    "net_benefit": tn.net_benefit,
    "noise_floor": lambda y, p, **o: tn.noise_floor("ece", p, y_true=y, resamples=19, **o),
    "risk_coverage": tn.risk_coverage,
    "segments": lambda *r, **o: tn.segments(*r, GROUP, resamples=19, **o),
    "slices": lambda *r, **o: tn.worst_slices(*r, {"x": GROUP}, min_rows=5, resamples=19, **o),
    "verdict": tn.verdict,
}


@pytest.mark.parametrize("ask", TAKES_A_LARGEST_SCORE.values(), ids=TAKES_A_LARGEST_SCORE)
def test_the_text_of_a_result_says_what_two_columns_were_taken_for(ask):
    is_asked_by_k = isinstance(ask, partial) and "k" in ask.keywords
    answer = ask(Y, BOTH) if is_asked_by_k else ask(Y, BOTH, kind="confidence")
    top_label = " ".join(str(answer).split())
    assert top_label.count("The two columns of scores are read as the top label") == 1
    if not is_asked_by_k:
        binary = " ".join(str(ask(Y, BOTH)).split())
        assert binary.count("The two columns of scores are one binary problem") == 1


def test_the_estimate_of_the_squared_error_of_two_columns_has_the_value_of_the_function():
    for options in ({}, {"k": 1}, {"kind": "confidence"}):
        estimate = tn.estimate("squared_ece", Y, BOTH, **options)
        assert estimate.value == pytest.approx(tn.squared_ece(Y, BOTH, **options), rel=1e-12)
