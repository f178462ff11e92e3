"""relplot."""

import relplot
from adapter import Adapter


class Library(Adapter):
    name = "relplot"
    packages = ("relplot",)
    notes = "Its subject is the smooth ECE, which has no exact value to compare with; asked here is `metrics.binnedECE`."

    def calibration_error(self, c):
        self.offers(c.w is None, c.pos_label is None, c.rule == "equal-width", c.norm == "l1")
        self.offers(c.classes in ("binary", "confidence"))
        p, y = c.p, c.y
        if c.classes == "confidence":
            p, y = relplot.multiclass_logits_to_confidences(p, y, probs=True)
        return relplot.metrics.binnedECE(p, y, nbins=c.bins)
