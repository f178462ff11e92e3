"""scoringrules."""

import numpy as np
import scoringrules
from adapter import Adapter


class Library(Adapter):
    name = "scoringrules"
    packages = ("scoringrules",)
    notes = "Scores per row; the adapter takes the mean."

    def brier(self, c):
        self.offers(c.w is None, c.p.ndim == 1)
        return np.mean(scoringrules.brier_score(c.y, c.p))

    def log_loss(self, c):
        self.offers(c.w is None, c.p.ndim == 1)
        return np.mean(scoringrules.log_score(c.y, c.p))
