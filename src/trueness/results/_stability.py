"""How far the scores of two samples are apart."""

from dataclasses import dataclass

from trueness._text.numbers import bin_name, level_percent, number, p_value, percent, rule_in_words
from trueness._text.strings import align
from trueness.results._record import Table
from trueness.typing import Floats, Ints


@dataclass(frozen=True)
class Stability(Table):
    """The population stability index of two samples of scores, and its noise floor.

    The columns are the bins; the other fields describe both samples.
    """

    _columns = ("low_edge", "high_edge", "first", "second", "parts")
    _also = ("shifted",)

    value: float
    """The population stability index."""
    floor: float
    """Its mean for two samples of these sizes whose scores have the same distribution."""
    floor_high: float
    """What such samples do not exceed with probability `level`."""
    pvalue: float
    """The probability of an index at least as large if both distributions are the same."""
    level: float
    """The level of `floor_high`, one-sided."""
    low_edge: Floats
    """Lower edges of the bins, which belong to them."""
    high_edge: Floats
    """Upper edges; the last one belongs to its bin."""
    first: Ints
    """Rows of the first sample in each bin."""
    second: Ints
    """Rows of the second sample."""
    parts: Floats
    """What each bin adds to the index; never negative."""
    n_first: int
    """Rows of the first sample."""
    n_second: int
    """Rows of the second sample."""
    bins: str
    """The rule of the bins."""
    method: str
    """How the floor was found, in words."""

    @property
    def shifted(self) -> bool:
        """Whether the index is above `floor_high`, so that chance does not explain it."""
        return self.value > self.floor_high

    @property
    def sentence(self) -> str:
        """The finding in words."""
        floor = (
            f"two samples of these sizes from one distribution show {number(self.floor)} on "
            f"average and at most {number(self.floor_high)} in {level_percent(self.level)}"
        )
        if self.shifted:
            return (
                f"The scores have shifted: PSI {number(self.value)}, while {floor} "
                f"({p_value(self.pvalue)})."
            )
        return (
            f"No shift beyond chance: PSI {number(self.value)}; {floor} ({p_value(self.pvalue)})."
        )

    def _caption(self) -> str:
        return self.sentence

    def __str__(self) -> str:
        """A table with a line for each bin, and the conclusion."""
        lines = [["bin", "first", "%", "second", "%", "part"]]
        last = len(self) - 1
        rows = zip(self.low_edge, self.high_edge, self.first, self.second, self.parts, strict=True)
        for i, (low, high, first, second, part) in enumerate(rows):
            lines.append(
                [
                    bin_name(float(low), float(high), last=i == last),
                    f"{first:,}",
                    percent(float(first) / self.n_first),
                    f"{second:,}",
                    percent(float(second) / self.n_second),
                    number(float(part)),
                ]
            )
        table = align(lines, [False, True, True, True, True, True])
        sizes = f"{self.n_first:,} and {self.n_second:,} rows, {rule_in_words(self.bins)}"
        return "\n".join([f"Population stability index ({sizes})", table, self.sentence])
