"""Matsubara, Tax, Mudd and Guy 2023: the test-based calibration error."""

from trueness_papers.matsubara.simulation import normal_feature

__all__ = ["normal_feature"]
