"""Which rows people should label next."""

from dataclasses import dataclass

from trueness._text.numbers import count, number, span
from trueness._text.strings import align
from trueness.results._record import Record
from trueness.typing import Floats, Ints

# A design that is expected to shorten limits by less gains nothing that one would notice.
_NO_GAIN = 0.97


@dataclass(frozen=True)
class NextLabels(Record):
    """Rows to label, drawn with known probabilities, and the strata they were drawn from."""

    _columns = ("low_score", "high_score", "judge", "size", "chosen")

    index: Ints
    """The rows to label, ascending."""
    human_prob: Floats
    """The probability with which each row was chosen; their sum is the number of rows chosen."""
    stratum: Ints
    """The stratum of each row."""
    low_score: Floats
    """Smallest score of each stratum."""
    high_score: Floats
    """Largest score."""
    judge: Floats
    """The judge's label; nan if a stratum holds both, or there is no judge."""
    size: Ints
    """Rows."""
    chosen: Ints
    """Rows chosen."""
    relative_length: float
    """Expected length of the limits of the event rate, divided by that of as many labels drawn at
    random, if the scores and the judge are about right."""
    n: int
    """Rows."""

    @property
    def sentence(self) -> str:
        """What the design is expected to gain, in words."""
        first = f"{count(int(self.chosen.sum()), 'row')} of {self.n:,} to label"
        if self.relative_length > _NO_GAIN:
            return f"{first}: hardly any gain over random labels is expected."
        times = number(self.relative_length, 2)
        return (
            f"{first}: limits of the event rate are expected to be {times} times as long as with "
            "random labels, if scores and judge are about right."
        )

    def __str__(self) -> str:
        """How the budget was spent, and a table with a line for each stratum."""
        table = [["scores", "judge", "rows", "chosen"]]
        lines = zip(
            self.low_score, self.high_score, self.judge, self.size, self.chosen, strict=True
        )
        for low, high, judge, size, chosen in lines:
            verdict = "–" if judge != judge else f"{judge:.0f}"
            table.append([span(low, high), verdict, f"{size:,}", f"{chosen:,}"])
        return "\n".join([self.sentence, align(table, [False, False, True, True])])
