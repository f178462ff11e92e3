"""uncertainty-calibration."""

import calibration
from adapter import Adapter
from calibration.utils import get_equal_bins, get_equal_prob_bins


class Library(Adapter):
    name = "uncertainty-calibration"
    packages = ("uncertainty-calibration",)
    notes = "Over classes it takes the root of the mean p-th power; the debiased error is returned as a root, cut at 0."

    def calibration_error(self, c):
        self.offers(c.w is None, c.pos_label is None, c.classes != "top-label", c.norm != "max")
        scheme = get_equal_bins if c.rule == "equal-mass" else get_equal_prob_bins
        mode = "top-label" if c.classes == "confidence" else "marginal"
        power = {"l1": 1, "l2": 2}[c.norm]
        return calibration.lower_bound_scaling_ce(
            c.p, c.y, p=power, debias=False, num_bins=c.bins, binning_scheme=scheme, mode=mode
        )

    def squared_ece(self, c):
        return calibration.lower_bound_scaling_ce(
            c.p,
            c.y,
            p=2,
            debias=True,
            num_bins=c.bins,
            binning_scheme=get_equal_prob_bins,
            mode="marginal",
        )
