"""The guarantee of histogram binning as a function of the number of bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from trueness._text.numbers import short_number
from trueness.errors import InputError
from trueness.plot._canvas import Display, axes_for, draw_grid, style_of
from trueness.results import GuaranteePlan

if TYPE_CHECKING:
    from trueness.typing import Ints

_AXES = {
    "conditional": "ε: every bin is this near its rate",
    "marginal": "ε: the bin of a new row is this near its rate",
    "expected-ece": "bound on the expected calibration error",
}

_MOST_POINTS = 10_000


class GuaranteeDisplay(Display):
    """ε of histogram binning against the number of bins, one line per number of rows, with the chosen bins marked.

    Parameters
    ----------
    plan : GuaranteePlan
        The numbers.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        A line per number of rows.
    marks_ : list of matplotlib Line2D
        The chosen bins, of the numbers of rows that have some.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting", ICML,
    2021, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.plot import GuaranteeDisplay
    >>> from trueness.results import GuaranteePlan
    >>> n, bins, epsilon = np.array([2900]), np.array([5, 10]), np.array([[0.0632, 0.0957]])
    >>> plan = GuaranteePlan(n, bins, epsilon, np.array([10]), 0.1, "conditional", "umd", "hoeffding")
    >>> GuaranteeDisplay(plan).plan.chosen_epsilon(0)
    0.0957
    """

    def __init__(self, plan: GuaranteePlan) -> None:
        self.plan = plan

    @classmethod
    def from_sizes(
        cls,
        n: int | Iterable[int],
        n_bins: Iterable[int] = range(2, 51),
        *,
        chosen: int | Mapping[int, int] | None = None,
        wanted: float | None = None,
        alpha: float = 0.1,
        kind: Literal["conditional", "marginal", "expected-ece"] = "conditional",
        scheme: str = "umd",
        bound: str = "hoeffding",
    ) -> Self:
        """Compute the guarantees for the given numbers of rows.

        Parameters
        ----------
        n : int or sequence of int
            Rows to fit on.
        n_bins : sequence of int, default 2 to 50
            Bins.
        chosen : int, or mapping of rows to bins, optional
            The bins to mark.
        wanted : float, optional
            Instead of `chosen`: mark the largest number of bins with ε at most this.
        alpha : float, default 0.1
            Probability with which the guarantee may fail.
        kind : {'conditional', 'marginal', 'expected-ece'}, default 'conditional'
            What is bounded: the error of every bin at once, that of the bin of a new row, or the expected calibration
            error.
        scheme : str, default 'umd'
            How histogram binning chooses and fills its bins: 'umd', 'randomized', 'original', 'split' or 'fixed-width'.
        bound : {'hoeffding', 'exact'}, default 'hoeffding'
            Hoeffding's inequality, as published, or the binomial distribution: smaller and equally valid.
        """
        from trueness import recalibrate

        lower: Any = recalibrate
        options = {"alpha": alpha, "kind": kind, "scheme": scheme, "bound": bound}
        rows, bins = _checked_sizes(n, "n", 4), _checked_sizes(n_bins, "n_bins", 1)
        if rows.size * bins.size > _MOST_POINTS:
            demand = f"must have at most {_MOST_POINTS // rows.size:,} values for {rows.size:,} numbers of rows"
            raise InputError("n_bins", demand, f"got {bins.size:,}")
        if chosen is not None and wanted is not None:
            raise InputError("", "`chosen` and `wanted` both choose the bins to mark", remedy="Leave one out.")
        epsilon = np.array(
            [[lower.epsilon(int(r), int(b), **options) if r >= 2 * b else np.nan for b in bins] for r in rows]
        )
        marked = _marked_bins(rows, bins, epsilon, chosen, wanted)
        return cls(GuaranteePlan(rows, bins, epsilon, marked, alpha, kind, scheme, bound))

    def plot(self, ax: Any = None) -> Self:
        """Draw the lines on `ax` or on a new figure, and return the display."""
        (panel,), _ = axes_for(type(self).__name__, ax, size=(6.2, 4.4))
        plan = self.plan
        self.ax_, self.figure_ = panel, panel.figure
        self.lines_, self.marks_ = [], list[Any]()
        for i, n in enumerate(plan.n):
            style, mark = style_of(i), plan.chosen_epsilon(i)
            label = f"n = {n:,}"
            if np.isfinite(mark):
                label += f": B = {plan.chosen[i]}, ε = {short_number(mark)}"
            (line,) = panel.plot(plan.n_bins, plan.epsilon[i], color=style.colour, linestyle=style.dashes, label=label)
            self.lines_.append(line)
            if np.isfinite(mark):
                self.marks_ += panel.plot(
                    plan.chosen[i], mark, marker=style.marker, color=style.colour, markersize=8, zorder=4, clip_on=False
                )
        self.line_ = self.lines_[0]
        most = float(np.nanmax(np.minimum(plan.epsilon, 1.0), initial=0.0)) or 1.0
        panel.set(xlabel="bins B", ylabel=_AXES[plan.kind], ylim=(0, 1.05 * most))
        draw_grid(panel)
        confidence = "" if plan.kind == "expected-ece" else f", with probability {100 * (1 - plan.alpha):g} %"
        panel.set_title(
            f"scheme {plan.scheme}, bound {plan.bound}{confidence}", fontsize=10, loc="left", parse_math=False
        )
        panel.legend(fontsize=9, handlelength=3, framealpha=0.6)
        return self


def _checked_sizes(values: Any, name: str, least: int) -> Ints:
    if isinstance(values, Iterable):
        values = list(islice(values, _MOST_POINTS + 1))
        if len(values) > _MOST_POINTS:
            raise InputError(name, f"must have at most {_MOST_POINTS:,} values", "got more")
    sizes = np.atleast_1d(np.asarray(values))
    if sizes.size == 0 or sizes.dtype.kind not in "iu" or sizes.min() < least:
        raise InputError(name, f"must be whole numbers ≥ {least}", f"got {values!r}")
    return np.unique(sizes.astype(np.int64))


def _marked_bins(rows: Ints, bins: Ints, epsilon: Any, chosen: Any, wanted: float | None) -> Ints:
    if wanted is not None:
        meets = [bins[np.flatnonzero(line <= wanted)] for line in epsilon]
        return np.array([one[-1] if one.size else 0 for one in meets])
    if chosen is None:
        return np.zeros(rows.size, dtype=np.int64)
    of_rows = {int(n): chosen for n in rows} if not isinstance(chosen, Mapping) else dict(chosen)
    for n, b in of_rows.items():
        if n not in rows or b not in bins:
            raise InputError("chosen", "must be among `n_bins`, for rows among `n`", f"got {b!r} bins for {n!r} rows")
    return np.array([of_rows.get(int(n), 0) for n in rows], dtype=np.int64)
