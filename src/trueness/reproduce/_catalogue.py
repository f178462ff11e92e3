"""Every experiment by name, in the order of the papers."""

from trueness.reproduce._experiment import Experiment
from trueness.reproduce._gupta_credit import FIGURE_1, FIGURES_3_4, FIGURES_5_6
from trueness.reproduce._gupta_planning import EXAMPLE_1, FIGURE_2, SAMPLE_SIZE

__all__ = ["EXPERIMENTS"]

_GUPTA: tuple[Experiment, ...] = (EXAMPLE_1, FIGURE_1, FIGURE_2, SAMPLE_SIZE, FIGURES_3_4, FIGURES_5_6)
_ALL: tuple[Experiment, ...] = (*_GUPTA,)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
