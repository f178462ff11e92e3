"""How pages are executed: pictures are SVG, and `%%bash` is that of `shell.py`."""

import os
from pathlib import Path

c = get_config()  # noqa: F821  # given by IPython
c.InlineBackend.figure_formats = {"svg"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"  # a note about sockets on every page
c.InteractiveShellApp.exec_files = [str(Path(os.environ["IPYTHONDIR"]) / "shell.py")]
