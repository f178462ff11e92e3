"""The lowest versions that pyproject.toml allows, as requirements: `python .ci/lowest.py cli plot` for some extras."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(
    (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
)["project"]
needs = project["dependencies"] + [
    one for extra in sys.argv[1:] for one in project["optional-dependencies"][extra]
]
for name, version in re.findall(r"^([\w.-]+)>=([\d.]+)$", "\n".join(needs), re.MULTILINE):
    print(f"{name}=={version}")  # noqa: T201  # what pip reads
