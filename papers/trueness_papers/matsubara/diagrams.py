"""The diagrams of Matsubara et al. 2023: test-based ones, and reliability diagrams by both kinds of bins."""

from typing import Any

__all__ = ["rejection_diagram", "reliability_diagrams"]


def rejection_diagram(y: Any, p: Any, name: str) -> Any:
    """The test-based reliability diagram of Figure 1, where every block of Algorithm 2 is a bin."""
    from trueness import BlockIsotonic
    from trueness.plot import TestReliabilityDisplay

    return (
        TestReliabilityDisplay.from_predictions(y, p, bins=BlockIsotonic(fuse=False), name=name)
        .plot()
        .figure_
    )


def reliability_diagrams(y: Any, p: Any) -> Any:
    """Reliability diagrams with ten bins of equal width (ECE) and of equal mass (ACE)."""
    from matplotlib.figure import Figure

    from trueness import EqualMass, EqualWidth
    from trueness.plot import ReliabilityDisplay

    figure = Figure(figsize=(9.2, 4.8))
    panels = figure.subplots(
        1, 2, gridspec_kw={"left": 0.08, "right": 0.98, "bottom": 0.12, "top": 0.97}
    )
    for ax, (name, bins) in zip(
        panels, {"ECE": EqualWidth(10), "ACE": EqualMass(10)}.items(), strict=True
    ):
        display = ReliabilityDisplay.from_predictions(
            y, p, bins=bins, band=None, scale="linear", name=name
        )
        display.plot(ax)
    return figure
