"""Two columns of scores are the binary problem of the second, wherever there is one answer."""

import numpy as np
import pytest

import trueness as tn

pytestmark = [pytest.mark.filterwarnings("ignore::trueness.TruenessWarning"), pytest.mark.all_cases]
RNG = np.random.default_rng(0)
P = RNG.choice([0.125, 0.25, 0.5, 0.75], 80)
Y = (RNG.random(80) < P).astype(int)
# Every function of rows with one answer, and what is compared.
ANSWERS = {
    "calibration_test": lambda p, **o: tn.calibration_test(Y, p, resamples=19, seed=0, **o).pvalue,
    "ks": lambda p, **o: tn.calibration_test(Y, p, method="ks", **o).statistic,
    "compare": lambda p, **o: tn.compare(Y, {"a": p, "b": p[::-1]}, **o).pairs[0].pvalue,
    "cumulative_walk": lambda p, **o: tn.cumulative_walk(Y, p, **o).height.tolist(),
    "curve_band": lambda p, **o: tn.curve_band(Y, p, **o).high.tolist(),
    "ece_interval": lambda p, **o: tn.ece_interval(Y, p, seed=0, **o).high,
    "published interval": lambda p, **o: tn.ece_interval(Y, p, method="analytic", **o).high,
    "equivalence_test": lambda p, **o: tn.equivalence_test(Y, p, within=0.3, **o).pvalue,
    "estimate of the ECE": lambda p, **o: tn.estimate("ece", Y, p, seed=0, **o).high,
    "estimate of the slope": lambda p, **o: tn.estimate("slope", Y, p, seed=0, **o).high,
    "gate": lambda p, **o: [one.high for one in tn.gate(Y, p, max_ece=0.3, max_l2=0.3, **o).findings],
    "grade_table": lambda p, **o: tn.grade_table(Y, p, **o).total.pvalue,
    "monotone_band": lambda p, **o: tn.monotone_band(Y, p, **o).high.tolist(),
    "panel": lambda p, **o: tn.panel(Y, p, seed=0, floor=False, **o)["slope"].high,
    "prior_shift": lambda p, **o: tn.prior_shift(Y, p, **o).high,
    "slices": lambda p, **o: tn.worst_slices(
        Y, p, {"x": np.arange(80) % 2}, min_rows=5, resamples=19, seed=0, **o
    ).gap_high.tolist(),
    "segments": lambda p, **o: tn.segments(Y, p, np.arange(80) % 2, resamples=19, seed=0, **o).gap_high.tolist(),
    "verdict": lambda p, **o: tn.verdict(Y, p, **o).test.pvalue,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_two_columns_have_the_answer_of_the_second_and_class_wise_is_no_other_question(name):
    answer, both = ANSWERS[name], np.column_stack([1 - P, P])
    plain = answer(P)
    assert answer(both) == pytest.approx(plain, rel=1e-9)
    assert answer(both, kind="classwise") == pytest.approx(plain, rel=1e-9)
