"""Each source of the confidences in logs: how many answers may be accepted."""

from typing import Any

from trueness.infer.decision._accept import accept_threshold
from trueness.infer.decision._risk_coverage import risk_coverage
from trueness.results._answers import Answers
from trueness.results._decisions import single


def accepted(answers: Answers) -> list[dict[str, Any]]:
    """Each source of confidences, with its risk-coverage and a certified threshold."""
    lines = []
    for line in answers.origins():
        place = (
            (answers.source == line["source"])
            & (answers.model == line["model"])
            & (answers.task == line["task"])
        )
        y = answers.label[place]
        p = answers.confidence[place]
        cluster = answers.cluster[place]
        certified = accept_threshold(y, p, cluster=cluster)
        curve = risk_coverage(y, p, kind="correct", cluster=cluster)
        acceptance = {
            "aurc": single(curve.aurc).value,
            "accept_from": certified.threshold,
            "accepted": certified.coverage,
        }
        lines.append(line | acceptance)
    return lines
