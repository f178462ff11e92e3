"""The panel: the numbers by which clinicians and credit analysts judge a model, each with its uncertainty."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.tally import Tally
from trueness.errors import quietly
from trueness.infer._estimate import estimates_of
from trueness.infer.limits._curve_errors import CURVE_ERRORS
from trueness.measure._flexible_curve import FlexibleMethod
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Panel, Significance

NAMES = (
    *(
        "observed_expected",
        "intercept",
        "slope",
        "free_intercept",
        "brier",
        "scaled_brier",
        "log_loss",
        "auc",
    ),
    *CURVE_ERRORS,
    "ece",
)
"""The keys of the estimates, in reading order."""


def panel_of_answers(
    found: Mapping[str, Estimate],
    tests: tuple[Significance, ...],
    cells: Cells,
    level: float,
    curve: FlexibleMethod = "spline",
    clusters: int | None = None,
    *,
    in_buckets: bool = False,
) -> Panel:
    """The panel of estimates and tests that are already known."""
    inside = inside_cells(cells)
    total = float(cells.totals.weight)
    events = cells.totals.events
    counts = (round(total) if cells.whole else cells.totals.rows, events, float(events) / total)
    answers = tuple(found[name] for name in NAMES)
    certain = (inside.certain, inside.wrong)
    in_buckets = in_buckets and clusters is not None
    return Panel(
        NAMES, answers, tests, *counts, level, curve, *certain, clusters, in_buckets=in_buckets
    )


def panel_values(tally: Tally, names: Sequence[str], curve: FlexibleMethod) -> dict[str, float]:
    """The values of estimates of a panel, without limits, floors and warnings."""
    settings: Any = {"limits": False, "floor": False, "seed": 0, "curve": curve}
    found = quietly(estimates_of, names, Evidence.of_sums(tally), **settings)
    return {name: one.value for name, one in found.items()}
