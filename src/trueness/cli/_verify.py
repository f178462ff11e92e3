"""``trueness verify``: repeat a gate from its receipt."""

from typing import Any

import click

import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._gate import asked_of, output_of
from trueness.cli._gate_judgement import Criteria, judge, judge_sums
from trueness.cli._printing import note
from trueness.cli._receipt import differences, read_receipt, receipt_of


@command("verify")
@click.argument("receipt", metavar="RECEIPT")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option("--debug", is_flag=True, hidden=True, expose_value=False)
def verify(receipt: str, files: tuple[str, ...]) -> None:
    """Repeat a gate from its receipt, and say what differs.

    By default the files are those that the receipt names. Rows are compared by a digest that does
    not depend on their order or on the format of the file.

    \b
      trueness gate rows.csv --label y --prob p --max-ece 0.03 --receipt receipt.json
      trueness verify receipt.json
      trueness verify receipt.json rows.parquet

    Exit code 0: everything is the same. 1: something differs. 2: the receipt or the data cannot be
    read.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    before = read_receipt(receipt)
    asked: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in before["asked"].items()
    }
    asked["files"] = files or asked["files"]
    criteria = Criteria(**{name: asked[name] for name in Criteria._fields})
    if any(name.endswith(".tally") for name in asked["files"]):
        again = judge_sums(asked["files"], criteria)
    else:
        again = judge(opt.request_of(dict(asked)), criteria)
    output = output_of(again, criteria)
    now = receipt_of(again.gate, asked_of(asked, criteria), again.digest(), output)
    if before["version"] != now["version"]:
        note(f"the receipt is of version {before['version']}, this is {now['version']}.")
    sentences = list(differences(before, now))
    for sentence in sentences:
        click.echo(sentence)
    if sentences:
        raise click.exceptions.Exit(1)
    click.echo(f"The same: {now['headline']}")
