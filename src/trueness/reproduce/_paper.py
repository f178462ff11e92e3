"""The papers whose experiments are run again."""

from typing import NamedTuple

__all__ = ["GUPTA", "MATSUBARA", "PAPERS", "SUN", "Paper"]


class Paper(NamedTuple):
    """A publication."""

    key: str
    authors: str
    title: str
    year: int

    @property
    def cited(self) -> str:
        """Authors, title and year."""
        return f"{self.authors}, *{self.title}* ({self.year})"


MATSUBARA = Paper(
    "matsubara", "Matsubara, Tax, Mudd, Guy", "TCE: a test-based approach to measuring calibration error", 2023
)
SUN = Paper(
    "sun", "Sun, Chaudhari, Barnett, Dobriban", "A confidence interval for the l2 expected calibration error", 2025
)
GUPTA = Paper(
    "gupta",
    "Gupta, Ramdas",
    "Distribution-free calibration guarantees for histogram binning without sample splitting",
    2021,
)
PAPERS = (MATSUBARA, SUN, GUPTA)
