"""Evidence against calibration that stays valid however often one looks."""
