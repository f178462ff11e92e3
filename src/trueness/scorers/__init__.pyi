from trueness.scorers._scorers import Scorer as Scorer
from trueness.scorers._scorers import ace as ace
from trueness.scorers._scorers import auc as auc
from trueness.scorers._scorers import brier as brier
from trueness.scorers._scorers import e50 as e50
from trueness.scorers._scorers import e90 as e90
from trueness.scorers._scorers import ece as ece
from trueness.scorers._scorers import emax as emax
from trueness.scorers._scorers import gce as gce
from trueness.scorers._scorers import ici as ici
from trueness.scorers._scorers import log_loss as log_loss
from trueness.scorers._scorers import mce as mce
from trueness.scorers._scorers import scaled_brier as scaled_brier
from trueness.scorers._scorers import scorer as scorer
from trueness.scorers._scorers import smooth_ece as smooth_ece
from trueness.scorers._scorers import squared_ece as squared_ece
from trueness.scorers._scorers import tce as tce

__all__: list[str]
