"""Why some answers are None."""

from collections.abc import Iterator

from trueness._assess.asked import INTERVAL, TEST, Asked
from trueness._assess.held_out import FOLDS, LEAST_ROWS, has_scores, is_splittable
from trueness._tally.evidence import Evidence


def absent_answers(a: Asked) -> Iterator[str]:
    """Why some answers are None."""
    evidence = a.view("confidence")
    if a.rows.groups is None and not a.rows.columns:
        if evidence.has_rows:
            why = "no column was passed as `by`"
        else:
            why = "these are sums without groups"
        yield f"There are no segments: {why}."
    elif evidence.has_labels:
        yield "There are no segments: each label has its own, in `classes`."
    if not a.rows.slice_columns:
        if not evidence.has_rows:
            why = "slices need labels and scores"
        else:
            why = "slices need two columns in `by`"
        yield f"There are no slices: {why}."
    if not is_splittable(evidence):
        yield f"There are no remedies: {_why_not_split(evidence)}."
    if evidence.is_binary:
        yield "There are no classes: this is one problem."
    if evidence.is_binned:
        yield (
            "Sums of bins do not keep the scores: there is no test, no confidence set and no panel."
        )
        return
    for question, name in ((TEST, "The test"), (INTERVAL, "The confidence set")):
        reason = a.reason_against(question)
        if reason:
            yield f"{name} could not be computed: {reason}"


def _why_not_split(evidence: Evidence) -> str:
    """Why calibrators cannot be tried on held-out rows of this evidence, in words."""
    if not evidence.has_rows:
        return "calibrators need labels and scores"
    if evidence.has_labels:
        return "each label has its own"
    if not has_scores(evidence):
        return "a map of their probabilities leaves intervals and quantiles as they are"
    return f"{LEAST_ROWS} rows and {FOLDS} clusters are the fewest that can be split"
