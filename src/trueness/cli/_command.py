"""Commands whose help has the options below headings."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import click

from trueness.cli._options import check_only_demo

_HEADINGS = {
    "Columns": (
        "label prob probs matrices weight weight_type by model_column pair time cluster judge"
        " grades"
    ),
    "Intervals, quantiles, risks": (
        "outcome lower lower_end upper upper_end coverage quantiles followup event horizon"
    ),
    "Analysis": "",
    "Labels and scores": (
        "pos_label labels missing gaps from_logits percent clip_tolerance sum_tolerance rounded_to"
    ),
    "Files": "demo rows input_format separator decimal stream each groups",
    "Evaluation logs": (
        "scorer confidence label_field confidence_field rows_field text_field answer_field"
        " target_field id_field targets"
    ),
    "Output": "form output title name page debug help",
}
"""Headings of help, and the options below each; the others are the analysis."""
_EVERYDAY = ("label", "prob", "probs", "by", "cluster", "demo", "output", "help")
_OWN = {
    "compare": ("measure",),
    "gate": ("max_ece", "max_l2", "oe_within", "require"),
    "decide": ("cost_fp", "cost_fn", "accept_accuracy"),
    "fit": ("calibrator",),
    "apply": ("calibrator",),
    "measure": ("measures", "bins"),
    "test": ("method",),
    "watch": ("time", "every", "page"),
    "tally": ("total",),
}
"""What help shows of each command besides the everyday options."""
_FEW = 12
"""Options that help shows all at once."""
_ALL = "trueness.all"


class Command(click.Command):
    """A command whose help has the options below headings.

    It refuses an option of one value that has two; both or neither of FILE and --demo, if it takes
    them; and --rows without a demo.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line; an option that takes one value may be given once.

        `--all` beside `--help` is taken out and kept: the help then lists all options.
        """
        if "--all" in args and any(word in args for word in ("-h", "--help")):
            ctx.meta[_ALL] = True
            args = [word for word in args if word != "--all"]
        _, _, typed = self.make_parser(ctx).parse_args(args=list(args))
        for i, parameter in enumerate(typed):
            if not isinstance(parameter, click.Option) or parameter.multiple or parameter.is_flag:
                continue
            if parameter in typed[:i]:
                raise click.UsageError(
                    f"{parameter.opts[0]} takes one value, and is given more than once.", ctx
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; one that has `--demo` needs files or the demo, and not both."""
        if "demo" in ctx.params:
            if ctx.params["demo"] and ctx.params["files"]:
                raise click.UsageError("Give a FILE or --demo, not both.", ctx)
            if not ctx.params["demo"] and not ctx.params["files"]:
                raise click.UsageError(f"Give a FILE to {ctx.info_name}, or --demo.", ctx)
            check_only_demo("rows")
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the help under their headings.

        If there are many, only those of everyday use are listed, and a line says how to see the
        others.
        """
        records = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record:
                name = "help" if "--help" in parameter.opts else str(parameter.name)
                records[name] = record
        shown = list(records)
        if len(records) > _FEW and not ctx.meta.get(_ALL):
            everyday = (*_OWN.get(str(self.name), ()), *_EVERYDAY)
            shown = [name for name in records if name in everyday]
        headings = {heading: words.split() for heading, words in _HEADINGS.items()}
        placed = set(chain.from_iterable(headings.values()))
        headings["Analysis"] = [name for name in shown if name not in placed]
        for heading, names in headings.items():
            below = [records[name] for name in shown if name in names]
            if below:
                with formatter.section(heading):
                    formatter.write_dl(below)
        hidden = len(records) - len(shown)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"{hidden} more options: {ctx.command_path} --help --all")


class CommandGroup(Command, click.Group):
    """A command that has commands of its own; its help lists them below the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def command(name: str) -> Callable[[Any], Command]:
    """A command that shows its help if it is called without anything."""
    return click.command(name, cls=Command, no_args_is_help=True)
