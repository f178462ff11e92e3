"""The section on decisions: numbers of the public functions, sentences, and when it is left out."""

import re

import numpy as np
import pytest
from _report.conftest import charts, entry

import trueness as tn

HEAD = "What does it mean for decisions?"


def test_a_score_has_net_benefit_a_certificate_and_a_threshold(off, demo):
    found, rows = entry(off)["decisions"], (demo.y_true, demo.y_prob)
    benefit = tn.net_benefit(*rows)
    assert found["benefit"]["value"] == pytest.approx(benefit.value)
    assert found["benefit"]["high"] == pytest.approx(benefit.high)
    kappa = tn.decision_certificate(*rows)
    assert found["certificate"]["high"] == kappa.high
    assert found["accept"]["n"] == 2_000
    text, useful = off.to_markdown(), benefit.useful()
    assert (
        f"with a threshold between {100 * useful[0]:g} % and {100 * useful[-1]:g} % beats" in text
    )
    share, most = re.search(r"net benefit at ([\d.]+) % by at most ([\d.]+) \(", text).groups()
    assert float(most) == pytest.approx(kappa.high / (1 - float(share) / 100), abs=5e-5)
    assert str(tn.accept_threshold(*rows, criterion="precision")) in text
    (svg,) = charts(off, "decisions")
    assert [one.get("class") for one in svg.iter("polygon")] == [
        "confidence",
        "confidence",
        "confidence inner",
    ]
    assert f"## {HEAD}" in text
    assert f">{HEAD}</a>" in off.page()


@pytest.mark.slow
def test_no_map_gains_more_net_benefit_than_perfect_decisions():
    """The limit of the certificate with 30 clusters was 0.5 where 0.18 is possible."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 300)
    y = (rng.random(300) < p).astype(int)
    text = tn.report(y, p, cluster=np.arange(300) // 10).to_markdown()
    share, most = re.search(r"net benefit at (\d+) % by at most ([\d.]+) on these", text).groups()
    now = tn.net_benefit(y, p, thresholds=[int(share) / 100]).value[0]
    assert float(most) == pytest.approx(y.mean() - now, abs=5e-5)


def test_a_matrix_has_risk_against_coverage_and_a_confidence(multiclass, classes):
    found, (y, P) = entry(multiclass)["decisions"], classes
    assert found["benefit"] is None
    risk = tn.risk_coverage(y, P)
    assert found["risk"]["aurc"]["value"] == risk.aurc.value
    assert len(found["risk"]["coverage"]) <= 100
    at = np.searchsorted(risk.coverage, found["risk"]["coverage"])
    assert found["risk"]["risk"] == pytest.approx(risk.risk[at])
    assert (
        str(tn.accept_threshold(P.argmax(axis=1) == y, P.max(axis=1))) in multiclass.to_markdown()
    )
    assert len(charts(multiclass, "decisions")) == 1


@pytest.mark.slow
def test_certain_answers_may_be_accepted_unseen():
    rng = np.random.default_rng(0)
    p = np.repeat([0.99, 0.6], 400)
    y = np.where(rng.uniform(size=800) < p, 0, 1 + rng.integers(0, 2, 800))
    text = tn.report(y, np.column_stack([p, (1 - p) / 2, (1 - p) / 2])).to_text().replace("\n", " ")
    assert "Accept from 0.9900 on: 50.0 % of rows (" in text
    assert "), accuracy at least 95 %, certified at 95 %." in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("no skill", "these rows do not show that scores help to decide"),
        ("inverted", "these rows do not show that scores help to decide"),
        ("intervals", "it needs intervals"),
        ("bins", "bins do not keep every score"),
        ("weights", "weights do not count rows"),
    ],
)
def test_it_is_left_out_and_the_page_says_why(why, said):
    rng = np.random.default_rng(1)
    p = rng.uniform(size=300).round(2)
    y = rng.uniform(size=300) < p
    y = {"no skill": rng.permutation(y), "inverted": ~y}.get(why, y)
    options = {"intervals": {"intervals": False}, "weights": {"sample_weight": p + 0.5}}.get(
        why, {}
    )
    found = tn.report(tn.binned(y, p)) if why == "bins" else tn.report(y, p, **options)
    assert entry(found)["decisions"] is None
    assert HEAD not in found.page()
    assert f"There is no section on decisions: {said}." in found.page()


@pytest.mark.slow
def test_rare_events_have_thresholds_near_their_rate():
    rng = np.random.default_rng(2)
    p = 1 / (1 + np.exp(-rng.normal(-5, 1.2, 3_000)))
    found = entry(tn.report(rng.uniform(size=3_000) < p, p))["decisions"]
    assert max(found["benefit"]["threshold"]) == pytest.approx(10 * found["benefit"]["prevalence"])


@pytest.mark.slow
def test_the_example_is_a_threshold_at_which_the_score_is_useful():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.5, 1, 2_000)
    y = rng.uniform(size=p.size) < p
    first = tn.net_benefit(y, p).useful()[0]
    text = tn.report(y, p).to_markdown()
    assert first > 0.5
    assert (
        f"At a threshold of {100 * first:g} %, one event found is worth {1 / first - 1:.2g} false alarms"
        in text
    )
    assert f"the net benefit at {100 * first:g} % by at most" in text
