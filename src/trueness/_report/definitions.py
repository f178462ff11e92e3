"""What each number of a report means, in a sentence each."""

from trueness._report.records import Settings
from trueness._report.rows import ReportRows
from trueness._report.words import percent

__all__ = ["definitions"]


def definitions(settings: Settings, rows: ReportRows) -> dict[str, str]:
    """By name, in the order of the page."""
    level = percent(settings.level)
    events = "rows whose top label came" if rows.multiclass else "events"
    found = {
        "ECE": f"mean over rows of |rate of {events} − mean score| in {settings.bins_in_words}; bins are closed on the "
        "left, the last on both sides. Biased upwards: compare it with its noise floor.",
        "l2 calibration error": "root of the mean squared gap, estimated without bias in bins of equal mass, with a "
        f"{level} confidence set (method 'score'); zero is in the set unless an exact test refutes it.",
        "noise floor": "mean of the ECE over labels redrawn as if the scores were true, and where "
        f"{level} of such values lie.",
        "test": "whether the labels could have come from the scores. 'exact' redraws labels from the scores; 'ks' is "
        "the cumulative test, for many rows.",
        "TCE": "percentage of rows whose score an exact binomial test at 5 % refutes, in isotonic blocks of 5 to 20 % "
        "of the rows. It does not go to zero for a calibrated model: compare it with its noise floor.",
        "Brier score": "mean squared error = miscalibration (what recalibration would gain) − discrimination (gain "
        "over the base rate) + uncertainty (score of the base rate), by isotonic regression (CORP).",
        "slope, intercept": "of the logistic regression of labels on the logits of the scores; slope 1 and intercept 0 "
        "if calibrated, slope below 1 if scores are too extreme. The intercept is that with slope 1.",
        "observed/expected": "events that came over events that were predicted.",
        "flagged bins": f"the rate lies outside the band in which, with probability {level}, the rates of all bins lie "
        "together if the scores are true (exact, Poisson-binomial).",
        "flagged segments": f"p-value adjusted by Holm's method at most {percent(1 - settings.level)}: with that "
        "probability or less is any segment of a calibrated model flagged.",
        "cross-fitting": "each calibrator is fitted on four fifths of the rows and applied to the rest, five times; "
        "numbers are of the rows it was not fitted on.",
    }
    if rows.cluster is not None:
        found["clusters"] = (
            "rows of one cluster may depend on each other. Sets and tests then draw signs for whole clusters and leave "
            "out pairs of rows of one cluster; differences are judged by sums over clusters; folds keep them whole. "
            "What takes rows for independent shows too little chance: noise floors are too low, bands too narrow."
        )
    if rows.multiclass:
        found["class-wise ECE"] = "mean over classes of the ECE of each column against the rest."
        found["damage"] = "share of the class-wise ECE that the class makes."
        found["top 1 to k"] = "l2 error of the k largest scores of a row together, given all k of them."
    return found
