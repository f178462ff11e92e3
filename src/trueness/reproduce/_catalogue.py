"""Every experiment by name, in the order of the papers."""

from trueness.reproduce._experiment import Experiment
from trueness.reproduce._sample_size import SAMPLE_SIZE
from trueness.reproduce._sun_bias import REMARK_B8
from trueness.reproduce._sun_bins import BIN_COUNT
from trueness.reproduce._sun_coverage import FIGURES_3_4_5, FIGURES_8_9_10
from trueness.reproduce._sun_models import TABLES_1_2
from trueness.reproduce._sun_stored import STORED_CODE
from trueness.reproduce._sun_zero import ZERO_RULE

__all__ = ["EXPERIMENTS"]

_SUN = (FIGURES_3_4_5, FIGURES_8_9_10, TABLES_1_2, ZERO_RULE, REMARK_B8, BIN_COUNT, STORED_CODE)

_ALL: tuple[Experiment, ...] = (*_SUN, SAMPLE_SIZE)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
