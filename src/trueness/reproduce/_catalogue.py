"""Every experiment by name, in the order of the papers."""

from trueness.reproduce._experiment import Experiment
from trueness.reproduce._gupta_credit import FIGURE_1, FIGURES_3_4, FIGURES_5_6
from trueness.reproduce._gupta_planning import EXAMPLE_1, FIGURE_2, SAMPLE_SIZE
from trueness.reproduce._matsubara_bins import BINS, TABLE_ONE
from trueness.reproduce._matsubara_fit import FIT
from trueness.reproduce._matsubara_imagenet import TABLE_FIVE
from trueness.reproduce._matsubara_scale import SCALE
from trueness.reproduce._matsubara_supplement import EXPERIMENTS as TABLES_SIX_TO_THIRTEEN
from trueness.reproduce._matsubara_synthetic import TABLE_TWO
from trueness.reproduce._matsubara_uci import UCI_EXPERIMENTS
from trueness.reproduce._sun_bias import REMARK_B8
from trueness.reproduce._sun_bins import BIN_COUNT
from trueness.reproduce._sun_coverage import FIGURES_3_4_5, FIGURES_8_9_10
from trueness.reproduce._sun_models import TABLES_1_2
from trueness.reproduce._sun_stored import STORED_CODE
from trueness.reproduce._sun_zero import ZERO_RULE

__all__ = ["EXPERIMENTS"]

_MATSUBARA = (TABLE_ONE, BINS, TABLE_TWO, *UCI_EXPERIMENTS, TABLE_FIVE, *TABLES_SIX_TO_THIRTEEN, FIT, SCALE)
_SUN = (FIGURES_3_4_5, FIGURES_8_9_10, TABLES_1_2, ZERO_RULE, REMARK_B8, BIN_COUNT, STORED_CODE)
_GUPTA: tuple[Experiment, ...] = (EXAMPLE_1, FIGURE_1, FIGURE_2, SAMPLE_SIZE, FIGURES_3_4, FIGURES_5_6)
_ALL: tuple[Experiment, ...] = (*_MATSUBARA, *_SUN, *_GUPTA)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
