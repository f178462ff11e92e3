"""What the library returns when one number is not enough: frozen records with named fields."""

from trueness.results._bin import Bin
from trueness.results._bin_table import BinTable
from trueness.results._decomposition import Decomposition
from trueness.results._estimation_error import EstimationError

__all__ = ["Bin", "BinTable", "Decomposition", "EstimationError"]
