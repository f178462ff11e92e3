"""Every experiment by name, in the order of the papers."""

from trueness.reproduce._experiment import Experiment
from trueness.reproduce._matsubara_bins import BINS, TABLE_ONE
from trueness.reproduce._matsubara_fit import FIT
from trueness.reproduce._matsubara_imagenet import TABLE_FIVE
from trueness.reproduce._matsubara_scale import SCALE
from trueness.reproduce._matsubara_supplement import EXPERIMENTS as TABLES_SIX_TO_THIRTEEN
from trueness.reproduce._matsubara_synthetic import TABLE_TWO
from trueness.reproduce._matsubara_uci import UCI_EXPERIMENTS
from trueness.reproduce._sample_size import SAMPLE_SIZE

__all__ = ["EXPERIMENTS"]

_MATSUBARA = (TABLE_ONE, BINS, TABLE_TWO, *UCI_EXPERIMENTS, TABLE_FIVE, *TABLES_SIX_TO_THIRTEEN, FIT, SCALE)

_ALL: tuple[Experiment, ...] = (*_MATSUBARA, SAMPLE_SIZE)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
