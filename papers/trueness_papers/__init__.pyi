from trueness_papers.catalogue import EXPERIMENTS as EXPERIMENTS
from trueness_papers.experiment import Experiment as Experiment
from trueness_papers.experiment import Outcome as Outcome
from trueness_papers.experiment import Picture as Picture
from trueness_papers.experiment import Piece as Piece
from trueness_papers.page import results_page as results_page
from trueness_papers.page import timings_page as timings_page
from trueness_papers.record import Estimate as Estimate
from trueness_papers.record import Record as Record
from trueness_papers.record import Row as Row
from trueness_papers.record import Table as Table
from trueness_papers.record import Timing as Timing
from trueness_papers.run import run_experiment as run_experiment

__all__: list[str]
