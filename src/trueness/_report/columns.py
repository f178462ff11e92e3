"""The columns of all tables of a report: how their values are written, and their titles."""

from trueness._text.table import Column, Kind

# The columns of all tables, by how their values are written: key and title.
_COLUMNS: dict[Kind, str] = {
    "text": (
        "flag Flag, verdict Verdict, source Source, rule Slice, name Scores, note Note, bins "
        "Bins, result Result"
    ),
    "name": (
        "model Model, task Task, column Column, value Value, label Class, first First, second "
        "Second"
    ),
    "count": "n Rows, k k, questions Questions",
    "number": (
        "set Set, stated Stated, bin Bin, block Block, score Mean score, rate Rate, "
        "interval Interval, ratio Obs./exp., l2 Typical error, ece ECE, "
        "floor Noise floor, brier Brier score, log_loss "
        "Log loss, slope Slope, observed_expected Obs./exp., accuracy Accuracy, mean_confidence "
        "Confidence, aurc AURC, accept_from Accept from, accepted Accepted, scores Scores, "
        "median Median score, shrunk Shrunk gap, expected Expected, observed Observed, limits "
        "Limits, gain Gain, chance Chance, difference Difference"
    ),
    "signed": "gap Gap",
    "share": "share Share, cost Cost, damage Share of ECE, rejected Rejected",
    "p": "p p, adjusted Adjusted p, overall p against all rows",
}


def titles_of(text: str) -> dict[str, str]:
    """Titles by key, from a list of keys and titles as above."""
    titles = {}
    for entry in text.split(", "):
        key, _, title = entry.partition(" ")
        titles[key] = title
    return titles


_BY_KEY = {
    key: Column(key, title, kind)
    for kind, text in _COLUMNS.items()
    for key, title in titles_of(text).items()
}


def columns_of(keys: str, **titles: str) -> list[Column]:
    """Columns by their keys, some with a title of their own."""
    return [
        _BY_KEY[key]._replace(title=titles.get(key, _BY_KEY[key].title)) for key in keys.split()
    ]
