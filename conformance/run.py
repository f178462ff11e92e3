"""Ask a library every case, and write what it answered.

python conformance/run.py --adapter conformance/adapters/trueness_adapter.py
python conformance/run.py --adapter my_adapter.py --python /path/to/its/environment/bin/python --json results/mine.json
python conformance/run.py --table results/*.json     the Markdown table of stored results

The library runs in a process of its own. A case that crashes it or takes longer than `--timeout` is one result; the
process is started again for the next case. Needs only the standard library here; adapters need NumPy.
"""

import argparse
import collections
import contextlib
import importlib.util
import json
import math
import os
import queue
import subprocess
import sys
import threading
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERDICTS = {
    "right": "right",
    "convention": "other convention",
    "wrong": "wrong number",
    "crash": "no answer",
    "accepted": "invalid: number",
    "refused": "invalid: refused",
    "absent": "not offered",
}
# Awkward inputs, and the words in a case's name that tell them.
TOPICS = {
    "0 and 1": ("zero-and-one", "at-zero", "at-one", "certain"),
    "on an edge": ("edge", "half-in"),
    "ties": ("tie",),
    "constant": ("constant",),
    "one row": ("one-row",),
    "one class": ("one-class", "only-events", "no-events"),
    "missing": ("nan",),
    "outside [0, 1]": ("score-inf", "above-one", "score-negative", "percent", "logits"),
    "labels 1/2 or −1/1": ("labels-1-2", "labels-minus-one"),
    "other labels": ("labels-text", "label-half", "three-labels", "label-b"),
    "swapped": ("swapped",),
    "empty or unequal": (
        "ece-empty",
        "brier-empty",
        "log_loss-empty",
        "isotonic-empty",
        "mismatch",
        "weights-short",
    ),
    "rows not summing to 1": ("rows-not-one",),
    "weights": ("weight-negative", "weights-all-zero"),
}
SINGLE = 2e-6  # relative error that single precision can explain


def load_cases(folder=HERE / "cases"):
    """Every case of every file, in order of the files' names."""
    return [
        case
        for path in sorted(folder.glob("*.json"))
        for case in json.loads(path.read_text("utf-8"))["cases"]
    ]


# ----------------------------------------------------------------------------------------------- judging


def judge(case, answer, documented=()):
    """(verdict, remark) of one answer: {'value': …}, {'error': …}, {'absent': True}, {'crash': …}.

    `documented`: what the library says it does with invalid input, by the end of the case's name.
    """
    expect = case["expect"]
    if "absent" in answer:
        return "absent", ""
    if "crash" in answer:
        return "crash", answer["crash"]
    missing = "value" in answer and _is_nan(answer["value"])
    if "error" in expect:
        if "error" in answer:
            return "refused", answer["error"]
        said = next(
            (text for end, text in dict(documented).items() if case["id"].endswith(end)), None
        )
        if said:
            return "convention", said
        return ("refused", "nan") if missing else ("accepted", _shown(answer["value"]))
    if "undefined" in expect:
        if "error" in answer or missing or _is_infinite(answer["value"]):
            return "right", "error" if "error" in answer else _shown(answer["value"])
        return "wrong", "a number where none exists"
    if "error" in answer:
        return "crash", answer["error"]
    return _judge_number(case, answer["value"])


def _judge_number(case, value):
    tolerance = case["tolerance"]
    if _near(value, case["expect"]["value"], tolerance):
        return "right", ""
    if _near(value, case["expect"]["value"], SINGLE):
        return "right", "to single precision"
    for other in case.get("others", []):
        if _near(value, other["value"], max(tolerance, SINGLE)):
            return "explained", {
                **dict.fromkeys(other["names"], "convention"),
                **dict.fromkeys(other["defects"], "wrong"),
            }
    return "wrong", _shown(value)


def settle(entries, cases):
    """Choose one explanation for each answer that has several, by what else the library answered.

    A name is supported where it gives the answer and contradicted where it gives another number. Conventions with more
    for than against are preferred to mistakes.
    """
    speaks = collections.Counter()
    for entry, case in zip(entries, cases, strict=True):
        if entry["verdict"] not in ("right", "explained"):
            continue
        for other in case.get("others", []):
            for name in other["names"] + other["defects"]:
                speaks[name] += (
                    1 if entry["verdict"] == "explained" and name in entry["remark"] else -1
                )
    for entry in entries:
        if entry["verdict"] == "explained":
            names = entry["remark"]
            best = max(
                names,
                key=lambda name: (names[name] == "convention" and speaks[name] > 0, speaks[name]),
            )
            entry["verdict"], entry["remark"] = names[best], best


def _near(a, b, tolerance):
    if isinstance(b, list):
        return (
            isinstance(a, list)
            and len(a) == len(b)
            and all(_near(x, y, tolerance) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, list):
        return False
    a, b = float(a), float(b)
    return a == b or (math.isfinite(b) and abs(a - b) <= tolerance * max(1.0, abs(b)))


def _is_nan(value):
    return any(math.isnan(float(v)) for v in (value if isinstance(value, list) else [value]))


def _is_infinite(value):
    return not isinstance(value, list) and math.isinf(float(value))


def _shown(value):
    return (
        "[" + ", ".join(_shown(v) for v in value) + "]"
        if isinstance(value, list)
        else f"{float(value):.6g}"
    )


# ------------------------------------------------------------------------------------------------ asking


class Worker:
    """A process that answers one case per line."""

    def __init__(self, adapter, python, timeout):
        self.command = [python, str(HERE / "run.py"), "--answer", "--adapter", str(adapter)]
        self.timeout, self.process = timeout, None

    def start(self, patience=300.0):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines, self.errors = queue.Queue(), collections.deque(maxlen=20)
        pairs = ((self.process.stdout, self.lines.put), (self.process.stderr, self.errors.append))
        self.pumps = [threading.Thread(target=_pump, args=pair, daemon=True) for pair in pairs]
        for pump in self.pumps:
            pump.start()
        answer = self._line(patience)
        if "versions" not in answer:
            raise SystemExit(
                f"the adapter did not start: {answer}\n{''.join(filter(None, self.errors))}"
            )
        return answer

    def ask(self, case):
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return self._line(self.timeout)

    def _line(self, seconds):
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            return {"crash": f"no answer in {seconds:g} s"}
        if line is None:
            code = self.process.wait()
            self.stop()
            return {"crash": f"the process ended with code {code}"}
        return json.loads(line)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pump in self.pumps:
                pump.join()
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process = None


def _pump(stream, put):
    with stream:
        for line in stream:
            put(line)
    put(None)


def answers(path):
    """The worker's side: one JSON line for each case on standard input."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE))
    importlib.import_module("adapter")  # before the clock starts
    library = load_adapter(path)
    about = {
        "name": library.name,
        "versions": library.versions(),
        "notes": library.notes,
        "documented": library.documented,
    }
    print(json.dumps(about), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(library, json.loads(line))), file=out, flush=True)


def load_adapter(path):
    spec = importlib.util.spec_from_file_location("library_adapter", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Library()


def answer(library, case):
    """One answer; nan and infinity as text."""
    from adapter import NotOfferedError

    try:
        value = library.answer(case)
    except NotOfferedError:
        return {"absent": True}
    except Exception as error:  # whatever a library raises is its answer
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    return {"value": [_text(v) for v in value] if isinstance(value, list) else _text(value)}


def _text(value):
    return value if math.isfinite(value) else str(value)


# ----------------------------------------------------------------------------------------------- results


def run(adapter, python, timeout):
    worker = Worker(adapter, python, timeout)
    record = worker.start()
    record["answers"] = {case["id"]: worker.ask(case) for case in load_cases()}
    worker.stop()
    return record


def verdicts(record):
    """The judged answers of one library, in the order of the cases."""
    cases = load_cases()
    entries = []
    for case in cases:
        verdict, remark = judge(case, record["answers"][case["id"]], record["documented"])
        entries.append({"id": case["id"], "verdict": verdict, "remark": remark})
    settle(entries, cases)
    return entries


def table(records):
    """Markdown: one library per row."""
    lines = [
        "| library | " + " | ".join(VERDICTS.values()) + " |",
        "|---|" + "---:|" * len(VERDICTS),
    ]
    for record in records:
        found = collections.Counter(entry["verdict"] for entry in verdicts(record))
        version = next(iter(record["versions"].values()))
        cells = [f"{record['name']} {version}", *(str(found[verdict]) for verdict in VERDICTS)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def topics(records):
    """Markdown: how many of the awkward cases each library answers well (right, by a convention, refused)."""
    lines = ["| library | " + " | ".join(TOPICS) + " |", "|---|" + "---:|" * len(TOPICS)]
    for record in records:
        cells = [record["name"]]
        for words in TOPICS.values():
            found = [
                e["verdict"] for e in verdicts(record) if any(word in e["id"] for word in words)
            ]
            asked = [verdict for verdict in found if verdict != "absent"]
            well = sum(verdict in ("right", "convention", "refused") for verdict in asked)
            cells.append(f"{well}/{len(asked)}" if asked else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(records):
    """Markdown: both tables, and the cases behind the counts."""
    head = "# What the libraries answered\n\nWritten by `python conformance/run.py --table conformance/results/*.json`."
    marked = [
        "<!-- counts -->",
        table(records),
        "<!-- awkward -->",
        topics(records),
        "<!-- details -->",
    ]
    return "\n\n".join([head, *marked, *(details(record) for record in records)]) + "\n"


def details(record):
    """Markdown: what is behind the counts of one library."""
    lines = [f"### {record['name']} {next(iter(record['versions'].values()))}", ""]
    if record["notes"]:
        lines += [record["notes"], ""]
    entries = verdicts(record)
    for verdict in ("convention", "wrong", "crash", "accepted"):
        groups = {}
        for entry in entries:
            if entry["verdict"] == verdict:
                remark = entry.get("remark", "")
                key = (
                    remark
                    if verdict == "convention" or not _is_number(remark)
                    else "a number that no convention here explains"
                )
                key = "" if verdict == "accepted" else key
                groups.setdefault(key, []).append(entry)
        if groups:
            lines.append(f"- {VERDICTS[verdict]}:")
            for key, group in sorted(groups.items(), key=lambda item: -len(item[1])):
                cases = ", ".join(_mention(entry, verdict, key) for entry in group)
                lines.append(f"  - {key + ': ' if key else ''}{cases}")
    return "\n".join(lines).rstrip()


def _mention(entry, verdict, key):
    value = verdict == "accepted" or key.startswith("a number")
    return f"`{entry['id']}`" + (f" ({entry['remark']})" if value else "")


def _is_number(text):
    try:
        float(text.strip("[]").split(",")[0])
    except ValueError:
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adapter", type=Path, help="a Python file with a class `Library`")
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter that has the library"
    )
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one case")
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument(
        "--table", type=Path, nargs="+", help="stored results to print as Markdown tables"
    )
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.table:
        records = [json.loads(path.read_text("utf-8")) for path in options.table]
        sys.stdout.write(page(records))
        return 0
    if not options.adapter:
        parser.error("give --adapter or --table")
    if options.answer:
        answers(options.adapter)
        return 0
    record = run(options.adapter, options.python, options.timeout)
    print(table([record]), details(record), sep="\n\n")
    if options.json:
        answers_ = record.pop("answers").items()
        rows = ",\n".join(
            f"  {json.dumps(id)}: {json.dumps(answer, ensure_ascii=False)}"
            for id, answer in answers_
        )
        head = json.dumps(record, ensure_ascii=False, indent=1)[:-2]
        options.json.write_text(f'{head},\n "answers": {{\n{rows}\n }}\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
