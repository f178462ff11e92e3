"""The benchmarks, a file per subject; files with an underscore hold what cases share."""
