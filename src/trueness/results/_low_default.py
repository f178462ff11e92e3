"""Upper limits of default probabilities where hardly any default was seen."""

from dataclasses import dataclass

from trueness._text.numbers import level_percent, percent
from trueness._text.strings import align, visible, wrap
from trueness.results._record import Table

_WIDTH = 100


@dataclass(frozen=True)
class LowDefault(Table):
    """Upper limits of the default probability of each grade of a low-default portfolio, best first.

    Examples
    --------
    >>> table = LowDefault(("A", "B"), (300, 100), (0, 1), (400, 100), (1, 1), (0.0119, 0.0466),
    ...     0.95, 0.0)
    >>> table["B"]
    0.0466
    """

    _columns = ("grade", "n", "events", "pooled_n", "pooled_events", "upper")
    _also = ("assumptions",)

    grade: tuple[str, ...]
    """The grades, best first."""
    n: tuple[int, ...]
    """Rows of each grade."""
    events: tuple[int, ...]
    """Defaults of each grade."""
    pooled_n: tuple[int, ...]
    """Rows of the grade and of all worse ones."""
    pooled_events: tuple[int, ...]
    """Defaults of the grade and of all worse ones."""
    upper: tuple[float, ...]
    """Upper limit of the default probability of the grade."""
    level: float
    """One-sided confidence level of each limit."""
    correlation: float
    """Asset correlation; 0 if defaults are independent."""

    def __getitem__(self, grade: str) -> float:
        if grade not in self.grade:
            raise KeyError(f"{grade!r}; there are {', '.join(self.grade)}")
        return self.upper[self.grade.index(grade)]

    @property
    def inversions(self) -> tuple[tuple[str, str], ...]:
        """Neighbours of which the worse has the lower limit: their order is in doubt."""
        return tuple(
            (self.grade[i], self.grade[i + 1])
            for i in range(len(self) - 1)
            if self.upper[i + 1] < self.upper[i]
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the limits assume, in sentences."""
        order = (
            "No grade has a higher default probability than a worse one, so that each is pooled "
            "with all worse ones"
        )
        if self.correlation == 0:
            dependence = "Defaults are independent."
        else:
            dependence = (
                "Defaults of the period depend on one common factor, with asset correlation "
                f"{self.correlation:g}."
            )
        sentences = (
            f"{order}.",
            dependence,
            f"Each limit holds by itself with {level_percent(self.level)} confidence, one-sided.",
        )
        if not self.inversions:
            return sentences
        pairs = ", ".join(f"{worse} below {better}" for better, worse in self.inversions)
        return (*sentences, f"Limits fall from one grade to the next worse one: {pairs}.")

    def _caption(self) -> str:
        return f"Upper limits of default probabilities, {level_percent(self.level)} confidence"

    def __str__(self) -> str:
        """A table with a line for each grade, then the assumptions."""
        lines = [["grade", "n", "events", "pooled n", "pooled events", "upper"]]
        rows = zip(
            self.grade,
            self.n,
            self.events,
            self.pooled_n,
            self.pooled_events,
            self.upper,
            strict=True,
        )
        for grade, n, events, pooled_n, pooled_events, upper in rows:
            counts = [f"{number:,}" for number in (n, events, pooled_n, pooled_events)]
            lines.append([visible(grade), *counts, percent(upper, 2)])
        table = align(lines, [False, True, True, True, True, True])
        return "\n".join([self._caption(), table, "", wrap(" ".join(self.assumptions), _WIDTH)])
