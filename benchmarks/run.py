"""Run benchmarks: speed against other libraries, simulations of coverage and power, engines, GPU.

python benchmarks/run.py --list
python benchmarks/run.py --out benchmarks/results.md
python benchmarks/run.py coverage --quick
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

# Idle OpenMP threads (torch's) would otherwise spin, and their CPU time be charged to whoever runs next.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The papers' settings, which some cases simulate; the package need not be installed.
sys.path.append(str(Path(__file__).resolve().parents[1] / "papers"))

from benchmark import Case, load_cases
from processes import machine

_THREADS = "OPENBLAS_NUM_THREADS"


def main() -> int:
    cases = load_cases()
    parser = _parser(cases)
    given = vars(parser.parse_args())
    names, quick = given.pop("names"), given.pop("quick")
    out, kept, strict = (given.pop(name) for name in ("out", "json", "strict"))
    if given.pop("list"):
        _list(cases)
        return 0
    if unknown := [name for name in names if name not in cases]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; --list shows the names")
    chosen = [cases[name] for name in names] or [case for case in cases.values() if case.default]
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if not any(name in case.options for case in chosen):
            parser.error(
                f"--{name.replace('_', '-')} is not an option of {', '.join(case.name for case in chosen)}"
            )
    results = _run(chosen, quick, options)
    if out:
        head = "\n".join(f"- {name}: {text}" for name, text in machine().items())
        note = "\n\nA quick run: smaller sizes, so bars are only indicated." if quick else ""
        pages = "\n".join(result["text"] for result in results.values())
        out.write_text(f"# Benchmarks\n\n{head}{note}\n\n{pages}", encoding="utf-8")
    if kept:
        kept.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    failed = [bar for result in results.values() for bar in result["bars"] if bar["kept"] is False]
    return int(strict and bool(failed))


def _run(chosen: list[Case], quick: bool, options: dict[str, Any]) -> dict[str, Any]:
    """One case in this process if its environment is right; several, each in a process of its own."""
    if len(chosen) == 1 and (not chosen[0].one_thread or os.environ.get(_THREADS) == "1"):
        (only,) = chosen
        warnings.simplefilter(
            "ignore"
        )  # of peers about their own future, and of ours about few rows
        start = time.perf_counter()
        page = only.run(
            quick=quick, **{name: value for name, value in options.items() if name in only.options}
        )
        print(f"{only.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        return {only.name: page.to_dict()}
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen:
            path = Path(folder) / f"{one.name}.json"
            command = [
                sys.executable,
                __file__,
                one.name,
                "--json",
                str(path),
                *(["--quick"] if quick else []),
            ]
            for name, value in options.items():
                if name in one.options:
                    flag = f"--{name.replace('_', '-')}"
                    command += [flag] if value is True else [flag, str(value)]
            environment = os.environ | ({_THREADS: "1"} if one.one_thread else {})
            subprocess.run(command, env=environment, check=True)
            results |= json.loads(path.read_text(encoding="utf-8"))
            print()
    return results


def _parser(cases: dict[str, Case]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="benchmarks; by default the comparison with peers"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the benchmarks, their times and options"
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes: seconds to a minute each"
    )
    parser.add_argument("--out", type=Path, help="write the tables to this Markdown file")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar fails")
    kinds = {name: p.annotation for case in cases.values() for name, p in case.options.items()}
    for name, kind in sorted(kinds.items()):
        users = ", ".join(case.name for case in cases.values() if name in case.options)
        flag = f"--{name.replace('_', '-')}"
        if kind is bool:
            parser.add_argument(flag, action="store_true", default=None, help=f"for {users}")
        else:
            parser.add_argument(
                flag,
                type=str if kind is str else lambda text: int(float(text)),
                help=f"for {users}",
            )
    return parser


def _list(cases: dict[str, Case]) -> None:
    width = max(map(len, cases))
    for name, case in cases.items():
        options = "".join(f" --{option.replace('_', '-')}" for option in case.options)
        print(f"{name:{width}}  {case.title}; {case.time}{';' if options else ''}{options}")


if __name__ == "__main__":
    sys.exit(main())
