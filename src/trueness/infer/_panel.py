"""The panel: the numbers by which clinicians and credit analysts judge a model.

Each comes with its uncertainty.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from trueness._tally.cells import Cells
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Tally
from trueness.errors import quietly
from trueness.infer._estimate import estimates_of
from trueness.infer.limits._curve_errors import CURVE_ERRORS
from trueness.measure._flexible_curve import FlexibleMethod
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Panel, Significance

NAMES = (
    "observed_expected",
    "intercept",
    "slope",
    "free_intercept",
    "brier",
    "scaled_brier",
    "log_loss",
    "auc",
    *CURVE_ERRORS,
    "ece",
)
"""The keys of the estimates, in reading order."""


def panel_of_answers(
    estimates: Mapping[str, Estimate],
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
    return Panel(
        names=NAMES,
        estimates=tuple(estimates[name] for name in NAMES),
        tests=tests,
        n=round(total) if cells.whole else cells.totals.rows,
        events=events,
        prevalence=float(events) / total,
        level=level,
        curve=curve,
        n_certain=inside.certain,
        n_certain_wrong=inside.wrong,
        clusters=clusters,
        in_buckets=in_buckets,
    )


def panel_values(tally: Tally, names: Sequence[str], curve: FlexibleMethod) -> dict[str, float]:
    """The values of estimates of a panel, without limits, floors and warnings."""
    values_only = partial(estimates_of, limits=False, floor=False, seed=0, curve=curve)
    estimates = quietly(values_only, names, Sums.read(tally))
    return {name: estimate.value for name, estimate in estimates.items()}
