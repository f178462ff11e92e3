"""All experiments by name, in the order of the papers."""

from trueness_papers.experiment import Experiment
from trueness_papers.gupta.sample_size import EXAMPLE_1, FIGURE_2, SAMPLE_SIZE
from trueness_papers.gupta.splits import SPLITS
from trueness_papers.gupta.validity import FIGURE_1, FIGURE_3, FIGURE_6, FIGURES_4_5
from trueness_papers.matsubara.bins import BINS, TABLE_ONE
from trueness_papers.matsubara.imagenet import TABLE_FIVE
from trueness_papers.matsubara.prevalence import TABLE_TWO
from trueness_papers.matsubara.scale import SCALE
from trueness_papers.matsubara.supplement import FIT, TABLES_6_TO_13
from trueness_papers.matsubara.uci import UCI_EXPERIMENTS
from trueness_papers.sun.authors_code import STORED_CODE
from trueness_papers.sun.bias import REMARK_B8
from trueness_papers.sun.bin_count import BIN_COUNT
from trueness_papers.sun.coverage import FIGURES_3_4_5, FIGURES_8_9_10
from trueness_papers.sun.limit_laws import LIMIT_LAWS
from trueness_papers.sun.models import TABLES_1_2
from trueness_papers.sun.printed import PRINTED
from trueness_papers.sun.t_cal import T_CAL
from trueness_papers.sun.zero_rule import ZERO_RULE

__all__ = ["EXPERIMENTS"]

_MATSUBARA = (TABLE_ONE, BINS, TABLE_TWO, *UCI_EXPERIMENTS, TABLE_FIVE, *TABLES_6_TO_13, FIT, SCALE)
_SUN = (
    *(FIGURES_3_4_5, FIGURES_8_9_10, T_CAL, PRINTED, TABLES_1_2),
    *(LIMIT_LAWS, ZERO_RULE, REMARK_B8, BIN_COUNT, STORED_CODE),
)
_GUPTA = (EXAMPLE_1, FIGURE_1, SAMPLE_SIZE, FIGURE_2, FIGURE_3, FIGURES_4_5, FIGURE_6, SPLITS)
_ALL: tuple[Experiment, ...] = (*_MATSUBARA, *_SUN, *_GUPTA)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
