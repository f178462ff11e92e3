"""``trueness answers``."""

import click

import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._printing import check_table_file, check_writable, note, write
from trueness.cli._reading import read_logs
from trueness.sources._request import Request

_SUFFIXES = (".parquet", ".arrow", ".csv", ".jsonl")


@command("answers")
@click.argument("files", nargs=-1, metavar="LOG...")
@opt.logs
@opt.text("--by", "A further field to keep, such as metadata.topic. Repeatable.", multiple=True)
@opt.request
@opt.file_output
def answers(request: Request, output: str | None) -> None:
    """Write the answers in logs of evaluation harnesses as one table.

    Logs of evaluation harnesses and other tools, batches of requests, or any JSON whose fields are
    named; or folders of them. Each row is an answer: whether it is right (label), its confidence,
    the question, task, subject, model, epoch, and the source of the confidence. What does not count
    is printed by reason.

    \b
      trueness answers logs/* -o answers.parquet
      trueness answers run.eval --confidence metadata.confidence -o run.csv
      trueness answers my.jsonl --label-field ok --confidence-field p -o my.csv

    Exit code 0: written. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources.tables._files import expand_paths

    output, suffix = check_table_file(output, _SUFFIXES)
    names = expand_paths(request.files)
    check_writable(output, *names)
    table = read_logs(request, names)
    write(output, lambda file: table.save(file, suffix))
    note(
        table.note, f"the answers are in {output}; `--cluster question --by source` respects both."
    )
