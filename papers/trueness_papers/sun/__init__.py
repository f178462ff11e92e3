"""Sun, Chaudhari, Barnett and Dobriban 2025: a confidence interval for the l2 calibration error."""

from trueness_papers.sun.simulation import sun_setting

__all__ = ["sun_setting"]
