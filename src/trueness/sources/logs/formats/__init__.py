"""Evaluation logs as samples, one at a time: a file for each format."""
