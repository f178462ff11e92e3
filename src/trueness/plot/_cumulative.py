"""Observed minus expected events, cumulated over the scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options
from trueness._tally.tally import Tally
from trueness._text.numbers import p_value, short_number
from trueness.errors import InputError, collected_warnings
from trueness.plot import _canvas as canvas
from trueness.plot._canvas import GREY, style_of
from trueness.plot._problems import FromEstimator, one_problem, tallies
from trueness.typing import Kind, Missing, WeightType

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trueness.plot._canvas import Panels
    from trueness.results import Significance, Walk
    from trueness.typing import ArrayLike

_CORNERS = ((0.03, 0.97), (0.03, 0.03), (0.93, 0.97), (0.93, 0.03))


class CumulativeDisplay(FromEstimator):
    """Observed minus expected events, cumulated over the rows in order of their scores.

    Where the line climbs, events are more frequent than predicted; its slope is the miscalibration
    there. If the scores were calibrated, each point would lie in the grey cone, and the whole line
    between the dashed lines, with the level of the band.

    Parameters
    ----------
    walks : mapping of names to Walk
        One line per model.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        The first walk, and all of them.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> from trueness.plot import CumulativeDisplay
    >>> display = CumulativeDisplay.from_predictions([0, 1, 1, 1], [0.25, 0.5, 0.5, 1.0], name="a")
    >>> display.walks["a"].height.tolist(), display.walks["a"].ks.statistic
    ([0.0, -0.0625, 0.1875, 0.1875], 0.1875)
    """

    def __init__(self, walks: Mapping[str, Walk]) -> None:
        if not walks:
            raise InputError("walks", "must hold at least one walk", "got none")
        self.walks = dict(walks)

    @classmethod
    @suggests_keywords
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        level: float = 0.95,
        classes: Sequence[Any] | None = None,
        name: str | None = None,
        ax: Panels | None = None,
        kind: Kind | None = None,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
        sample_weight: ArrayLike | None = None,
        weight_type: WeightType = "auto",
        missing: Missing = "raise",
        clip_tolerance: float = 0.0,
        sum_tolerance: float | None = None,
        from_logits: bool = False,
        percent: bool = False,
        ignore_index: int | None = None,
    ) -> Self:
        """Cumulate the differences between labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n,), (n, L) or (B, …)
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second. A mapping of names to scores holds one set of scores per model.
        level : float, default 0.95
            Level of the bands.
        classes : sequence, optional
            The class of a matrix to show: exactly one.
        name : str, optional
            Name of the model.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
            How a matrix is compared with the labels. 'classwise': each column against the rest,
            averaged over classes. 'confidence': the largest probability of each row (the first, if
            tied) against whether that class is the label. 'top-label': the same for each predicted
            class, weighted by how often it is predicted. 'multilabel': each column is a binary
            problem of its own, averaged over labels; never guessed. By default 'classwise'.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1; for a vector of scores, two
            classes with the positive one last. By default, columns whose names are the classes are
            matched by name. Otherwise the columns are in the order of the categories (of a pandas
            Categorical, Polars Enum or ordered Arrow dictionary, unused categories included) or,
            without categories, in the order of the sorted labels.
        pos_label : optional
            The label that a vector of scores predicts, if labels are not 0/1.
        sample_weight : array-like of shape (n,), optional
            Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
        weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
            What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
            rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes
            whole numbers as frequencies, with a warning in functions that infer, and other weights
            as importance.
        missing : {'raise', 'drop'}, default 'raise'
            What to do with rows that have a missing value: raise an error, or drop them with a
            warning.
        clip_tolerance : float, default 0
            Scores outside [0, 1] by at most this much are set to 0 or 1.
        sum_tolerance : float, optional
            How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
        from_logits : bool, default False
            Whether the scores are logits; the logistic function (softmax for a matrix) is applied
            first.
        percent : bool, default False
            Whether the scores are percentages, from 0 to 100.
        ignore_index : int, optional
            The label of rows that are left out, such as 255 for pixels without a class.
        """
        rows = row_options(
            kind,
            labels,
            pos_label,
            sample_weight,
            weight_type,
            missing,
            clip_tolerance,
            sum_tolerance,
            from_logits,
            percent,
            ignore_index,
        )
        from trueness._input.arguments import checked_fraction
        from trueness.infer.test._cumulative import walk_of_cells

        level = checked_fraction(level, "level")
        data = one_problem(tallies(y_true, y_prob, name, rows), classes, cls.__name__)
        with collected_warnings():
            walks = {problem.name: walk_of_cells(problem.cells, level) for problem in data}
        return cls(walks)._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the walks on `ax` or on a new figure, and return the display."""
        texts = [
            f"{canvas.wrap_name(name, 60)}: KS {_test_text(walk.ks)}"
            for name, walk in self.walks.items()
        ]
        is_new = self._take_axes(ax, size=(6.4, 4.6 + canvas.legend_height(texts)))
        panel = self.ax_
        alone = len(self.walks) == 1
        walks = list(self.walks.values())
        reach = walks[0].reach if alone else 0.0
        if alone:
            self._draw_band(panel, walks[0])
        for i, (name, walk) in enumerate(self.walks.items()):
            look: dict[str, Any] = {
                "color": style_of(i).colour,
                "linestyle": style_of(i).dashes,
                "label": name,
            }
            self.lines_ += panel.plot(walk.share, walk.height, linewidth=1.5, zorder=3, **look)
        self.line_ = self.lines_[0]
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.set(
            xlabel="share of rows, by increasing score", ylabel="cumulated (label − score) / n"
        )
        canvas.draw_grid(panel)
        high = max(reach, *(float(walk.height.max()) for walk in walks))
        low = min(-reach, *(float(walk.height.min()) for walk in walks))
        room = 0.08 * (high - low) or 1e-3
        panel.set(xlim=(0, 1.06 if alone else 1), ylim=(low - room, high + room))
        if alone:
            self._write_numbers(panel, name, walk)
        else:
            canvas.draw_legend(panel, self.lines_, texts, outside=is_new)
        return self

    def _draw_band(self, ax: Axes, walk: Walk) -> None:
        ax.fill_between(
            walk.share, -walk.half, walk.half, color=GREY, alpha=0.25, linewidth=0, zorder=1
        )
        for end in (-walk.reach, walk.reach):
            ax.axhline(end, color=GREY, linewidth=1, linestyle=(0, (4, 3)))

    def _write_numbers(self, ax: Axes, name: str, walk: Walk) -> None:
        """The range of the walk, the scores on a second axis, and the tests."""
        low = float(walk.height.min())
        high = float(walk.height.max())
        look = {
            "arrowstyle": "<->",
            "color": style_of(0).colour,
            "linewidth": 1,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", xy=(1.025, low), xytext=(1.025, high), arrowprops=look)
        far = int(np.abs(walk.height).argmax())
        ax.plot(
            walk.share[far],
            walk.height[far],
            marker="o",
            color=style_of(0).colour,
            markersize=5,
            zorder=4,
        )
        top = ax.secondary_xaxis("top")
        shares = np.linspace(0, 1, 6)
        place = np.clip(np.searchsorted(walk.share, shares), 0, walk.share.size - 1)
        top.set_xticks(
            list(shares), [canvas.probability(float(score)) for score in walk.score[place]]
        )
        top.tick_params(labelsize=8)
        top.set_xlabel("score", fontsize=9)
        tests = [
            f"KS {_test_text(walk.ks)}",
            f"Kuiper {_test_text(walk.kuiper)}",
            f"n = {walk.n:,}",
        ]
        lines = [*([canvas.wrap_name(name, 40, 2)] if name else []), *tests]
        points = [(walk.share, h) for h in (walk.height, walk.half, -walk.half)]
        canvas.write_in_corner(ax, ["\n".join(lines), tests[0]], points, 9, _CORNERS)


def _test_text(test: Significance) -> str:
    return f"{short_number(test.statistic)}, {p_value(test.pvalue)}"
