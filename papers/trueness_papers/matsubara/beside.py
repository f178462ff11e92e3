"""Our numbers beside those of Matsubara et al., once by the procedure of their code and once by that of their text."""

from collections.abc import Iterable, Mapping, Sequence

from trueness_papers.record import Row, Table

__all__ = ["ROUNDING", "beside", "by_both", "percent"]

# Half a unit of the fourth digit, and a little for the rounding of binary numbers.
ROUNDING = 5.01e-5
# Sums in another order differ by less.
_SAME = 1e-9

_PROCEDURES = {"code": "by the procedure of the authors' code", "text": "by the procedure of the text (this library)"}
_ALIKE = "by the procedures of the authors' code and of the text alike"

Numbers = Mapping[str, float]


Line = tuple[tuple[str, ...], Mapping[str, Numbers], Numbers]


def by_both(title: str, source: str, headings: Sequence[str], lines: Sequence[Line], *, note: str = "") -> list[Table]:
    """A table for each procedure, or one where they give the same; a line is labels, ours by procedure, published."""
    alike = all(
        abs(value - ours["text"][measure]) < _SAME for _, ours, _ in lines for measure, value in ours["code"].items()
    )
    asked = {"code": _ALIKE} if alike else _PROCEDURES
    tables = []
    for key, words in asked.items():
        chosen = [(labels, ours[key], published) for labels, ours, published in lines]
        tables.append(beside(f"{title}, {words}", source, headings, chosen, note=note))
    return tables


def beside(
    title: str,
    source: str,
    headings: Sequence[str],
    lines: Iterable[tuple[tuple[str, ...], Numbers, Numbers]],
    *,
    note: str = "",
    counted: bool = True,
) -> Table:
    """A line for each setting (labels, ours, published), a column for each measure.

    Numbers that are not `counted` stand beside the published ones without a claim that they should agree.
    """
    rows = [
        Row(
            (*labels, measure),
            value,
            published=published.get(measure) if counted else None,
            printed="" if counted or measure not in published else f"{published[measure]:.4f}",
        )
        for labels, ours, published in lines
        for measure, value in ours.items()
    ]
    return Table(title, source, (*headings, "measure"), tuple(rows), within=ROUNDING, note=note, across="measure")


def percent(share: float) -> str:
    """0.5 as "50 %"."""
    return f"{100 * share:g} %"
