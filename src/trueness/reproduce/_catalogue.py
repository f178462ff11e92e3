"""Every experiment by name, in the order of the papers."""

from trueness.reproduce._experiment import Experiment
from trueness.reproduce._sample_size import SAMPLE_SIZE

__all__ = ["EXPERIMENTS"]

_ALL: tuple[Experiment, ...] = (SAMPLE_SIZE,)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
