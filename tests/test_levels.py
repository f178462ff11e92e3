"""Confidence levels are 95 % unless the caller asks for another; guarantees keep alpha = 0.1."""

import inspect

import click
import pytest

import trueness as tn
from trueness import plot, recalibrate
from trueness.cli._main import main

INTERVALS = [
    tn.ece_interval,
    tn.compare,
    tn.noise_floor,
    tn.reliability_bands,
    tn.monotone_band,
    tn.bin_table,
    tn.grade_table,
    tn.report,
    tn.cumulative_walk,
    recalibrate.validity_band,
    plot.IntervalDisplay.from_predictions,
    plot.ReliabilityDisplay.from_predictions,
    plot.CumulativeDisplay.from_predictions,
]


@pytest.mark.parametrize("function", INTERVALS, ids=lambda f: f.__qualname__)
def test_every_interval_has_level_95_percent_by_default(function):
    assert inspect.signature(function).parameters["level"].default == 0.95


def test_every_command_has_level_95_percent_by_default():
    with click.Context(main) as ctx:
        commands = {name: main.get_command(ctx, name) for name in main.list_commands(ctx)}
    levels = {
        name: option.default
        for name, command in commands.items()
        for option in command.params
        if option.name == "level" and option.default is not None
    }
    assert {"gate", "compare", "report"} <= levels.keys()
    assert set(levels.values()) == {0.95}


@pytest.mark.parametrize("function", [tn.epsilon, tn.sample_size, tn.max_bins, tn.HistogramBinning.guarantee])
def test_guarantees_keep_their_alpha(function):
    assert inspect.signature(function).parameters["alpha"].default == 0.1
