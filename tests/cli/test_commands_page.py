"""What docs/reference/commands.md shows is what one gets."""

import json
import re
import shlex
from pathlib import Path

import pytest
from grids import slow
from tables_on_disk import write_columns

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
KEYS = PAGE.with_name("json.md")


def sections():
    """The blocks of commands below each heading."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    found = zip(parts[::2], parts[1::2], strict=True)
    return {
        title: re.findall(r"^```text\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
        for title, body in found
    }


SECTIONS = sections()
(FILE,) = SECTIONS.pop("Files and columns")
del SECTIONS["Time, shells, exit codes"]


def steps(blocks):
    """Each command with what is shown below it."""
    lines = "".join(blocks).splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start][2:].rstrip("\n"), "".join(lines[start + 1 : end])


def to_ten_digits(text):
    """Linear algebra libraries differ in the last bits of a fitted map."""
    return re.sub(r"\d\.\d{13,}", lambda found: f"{float(found[0]):.10g}", text)


@pytest.mark.parametrize(
    "title", [*slow("report"), *(title for title in SECTIONS if title != "report")]
)
def test_commands_print_what_the_page_shows(call, tmp_path, title):
    code = None
    verbs = set()
    for command, shown in steps([FILE, *SECTIONS[title]]):
        program, *words = shlex.split(command)
        if program == "cat":
            (tmp_path / words[0]).write_text(shown, encoding="utf-8")
        elif program == "echo":
            assert shown == f"{code}\n"
        else:
            result = call(*words)
            code = result.exit_code
            verbs.add(words[0])
            assert to_ten_digits(result.stdout) == to_ten_digits(shown), command
            assert code in (0, 1, 3)
    assert set(title.split(" and ")) <= verbs


def test_every_verb_has_a_section_and_options_that_the_page_names_exist(call):
    verbs = re.findall(r"^  (\w+)  ", call("--help").stdout.partition("Judge:")[2], re.MULTILINE)
    assert {verb for title in SECTIONS for verb in title.split(" and ")} == set(verbs)
    commands = [*([verb] for verb in verbs), ["plan", "validation"]]
    known = {
        word
        for words in commands
        for word in re.findall(r"--[a-z-]+", call(*words, "--help", "--all").stdout)
    }
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE.read_text(encoding="utf-8"))) <= known


@pytest.mark.slow
def test_json_has_the_keys_that_the_page_names(call, grouped, tmp_path):
    write_columns(tmp_path / "x.npz", {name: values[:90] for name, values in grouped.items()})
    named = re.findall(
        r"^\| `([a-z]+)( --by)?` \| (`.*`) \|$", KEYS.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(named) == 8
    for verb, by, keys in named:
        options = {
            "plan": ["--n", "500", "--bins", "2"],
            "gate": ["--max-ece", "0.9"],
            "grades": ["--bins", "a=0.5,b=1"],
            "segments": ["--by", "region"],
        }
        given = options.get(verb, [])
        given += [] if verb == "plan" else ["x.npz", "--prob", "p", "--prob", "q"]
        given += ["--by", "region"] if by else []
        given += ["--no-intervals"] if verb == "compare" else []
        found = json.loads(call(verb, *given, "--format", "json").stdout)
        assert list(found) == ["schema", "version", *re.findall(r"`(\w+)`", keys)]
        if "data" in found:
            more = ["grades"] if verb == "grades" else []
            assert list(found["data"]) == ["source", "label", "weight", "cluster", "by", *more]
