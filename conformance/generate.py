"""Write `cases/*.json`: inputs, conventions, expected values and the values of other conventions, all exact.

python conformance/generate.py            write the files
python conformance/generate.py --check    exit with 1 if a file would change
"""

import argparse
import json
import sys
from pathlib import Path

from definitions import errors, scores_and_maps
from definitions.invalid import invalid

CASES = Path(__file__).resolve().parent / "cases"
FILES = {
    "equal-width": errors.equal_width,
    "equal-mass": errors.equal_mass,
    "several-classes": errors.several_classes,
    "weights": errors.weighted,
    "proper-scores": scores_and_maps.proper_scores,
    "slope-intercept": scores_and_maps.slopes,
    "tested-and-debiased": scores_and_maps.tested_and_debiased,
    "maps": scores_and_maps.maps,
    "invalid": invalid,
}


def texts():
    """The text of each file of cases."""
    found, ids = {}, set()
    for name, make in FILES.items():
        cases = make().cases
        for entry in cases:
            assert entry["id"] not in ids, entry["id"]
            ids.add(entry["id"])
        lines = ",\n".join(
            "  " + json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in cases
        )
        found[name] = f'{{"file": "{name}", "cases": [\n{lines}\n]}}\n'
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    changed = []
    for name, text in texts().items():
        path = CASES / f"{name}.json"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    print(f"{'would change' if check else 'written'}: {', '.join(changed) or 'nothing'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
