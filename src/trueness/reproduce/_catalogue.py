"""Every experiment by name, in the order of the papers."""

from trueness.reproduce._experiment import Experiment
from trueness.reproduce._sample_size import SAMPLE_SIZE
from trueness.reproduce._sun_coverage import FIGURES_3_4_5, FIGURES_8_9_10

__all__ = ["EXPERIMENTS"]

_ALL: tuple[Experiment, ...] = (
    *(FIGURES_3_4_5, FIGURES_8_9_10),
    SAMPLE_SIZE,
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
