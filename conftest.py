"""Modules that need a library which is not installed hold no examples that could run."""

from importlib.util import find_spec

collect_ignore_glob = []
if find_spec("torch") is None:
    collect_ignore_glob.append("src/trueness/torch/*")
if find_spec("torchmetrics") is None:
    collect_ignore_glob.append("src/trueness/torch/_torchmetrics.py")
if find_spec("triton") is None:
    collect_ignore_glob.append("src/trueness/torch/*_kernel.py")
