"""Coverage, length and power of interval methods in simulations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from trueness.errors import InputError
from trueness.plot._canvas import GREY, axes_for, draw_grid, draw_legend, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["Behaviour", "CoverageDisplay"]

_LABELS = {
    "coverage": "coverage",
    "length": "mean length (squared error)",
    "power": "share without zero",
}


class Behaviour(NamedTuple):
    """Results of one method in one setting."""

    method: str
    """The method."""
    n: int
    """Rows of each simulated data set."""
    error: float
    """The true l2 calibration error."""
    coverage: float
    """Share of sets that contain the truth."""
    length: float
    """Mean length."""
    power: float
    """Share of sets without zero."""
    runs: int
    """Simulated data sets."""


class CoverageDisplay:
    """Coverage, length and power of interval methods against the true calibration error, one column per number of rows.

    Parameters
    ----------
    results : sequence of Behaviour
        One for each method, number of rows and true error.
    level : float, default 0.9
        The nominal coverage; the grey band is ± two standard errors of the simulation.
    title : str, default ''
        The setting.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        Panel by panel, method by method.
    ax_, axes_ : matplotlib Axes, list of them
        The panels, row by row.
    figure_ : matplotlib Figure
        The figure.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration error", 2025, Figures 3 to
    5 and 8 to 10.

    Examples
    --------
    >>> from trueness_papers.coverage_display import Behaviour, CoverageDisplay
    >>> results = [Behaviour("score", 500, e, 0.9, 0.01 + e, min(1, 20 * e), 1000) for e in (0, 0.02, 0.05)]
    >>> [row.error for row in CoverageDisplay(results).results]
    [0, 0.02, 0.05]
    """

    line_: Line2D
    lines_: list[Line2D]
    ax_: Axes
    axes_: list[Axes]
    figure_: Any

    def __init__(
        self, results: Iterable[Behaviour], *, level: float = 0.9, title: str = ""
    ) -> None:
        self.results = tuple(results)
        if not self.results:
            raise InputError("results", "must hold at least one row", "got none")
        self.level = level
        self.title = title

    @classmethod
    def from_rows(
        cls, rows: Iterable[Mapping[str, Any]], *, level: float = 0.9, title: str = ""
    ) -> Self:
        """Read the results of a simulation, such as those of ``benchmarks/cases/coverage.py``.

        Parameters
        ----------
        rows : sequence of dict
            With 'n', 'truth' (the squared error), 'runs' and 'found': coverage, length and power of each method.
        level : float, default 0.9
            The nominal coverage.
        title : str, default ''
            The setting.
        """
        return cls(
            [
                Behaviour(
                    name,
                    row["n"],
                    row["truth"] ** 0.5,
                    one["coverage"],
                    one["length"],
                    one["power"],
                    row["runs"],
                )
                for row in rows
                for name, one in row["found"].items()
            ],
            level=level,
            title=title,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw three rows of panels, a column per number of rows.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            Three for each number of rows: coverages first, then lengths, then powers. Without it a new figure is made.
        """
        sizes = sorted({row.n for row in self.results})
        count = len(_LABELS) * len(sizes)
        self.axes_, own = axes_for(
            "CoverageDisplay", ax, count, size=(3.7, 2.5), columns=len(sizes)
        )
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_ = []
        for i, panel in enumerate(self.axes_):
            row, column = divmod(i, len(sizes))
            self._draw_panel(panel, list(_LABELS)[row], sizes[column])
            if column == 0:
                panel.set_ylabel(list(_LABELS.values())[row])
            if row == 0:
                head = f"{self.title}, " if self.title else ""
                runs = next(r.runs for r in self.results if r.n == sizes[column])
                panel.set_title(
                    f"{head}n = {sizes[column]:,}, {runs:,} runs", fontsize=10, parse_math=False
                )
            if row == len(_LABELS) - 1:
                panel.set_xlabel("l2 calibration error")
        self.line_ = self.lines_[0]
        handles = [line for line in self.lines_ if line.axes is self.ax_]
        names = [str(line.get_label()) for line in handles]
        draw_legend(self.ax_, handles, names, outside=own, columns=4)
        return self

    def _draw_panel(self, ax: Axes, what: str, n: int) -> None:
        methods = list(dict.fromkeys(row.method for row in self.results))
        for i, method in enumerate(methods):
            points = sorted(
                (row.error, getattr(row, what))
                for row in self.results
                if (row.method, row.n) == (method, n)
            )
            if not points:
                continue
            style = style_of(i)
            x, y = zip(*points, strict=True)
            (line,) = ax.plot(
                x,
                y,
                color=style.colour,
                marker=style.marker,
                linestyle=style.dashes,
                markersize=4,
                linewidth=1.2,
                label=method,
            )
            self.lines_.append(line)
        if what == "coverage":
            runs = next(row.runs for row in self.results if row.n == n)
            deviation = (self.level * (1 - self.level) / runs) ** 0.5
            ax.axhspan(
                self.level - 2 * deviation,
                self.level + 2 * deviation,
                color=GREY,
                alpha=0.25,
                linewidth=0,
            )
        if what == "length":
            ax.set_yscale("log")
        else:
            ax.set_ylim(-0.03, 1.03)
        draw_grid(ax)
        ax.set_axisbelow(True)
