"""Where the run stands: a bar with rich, lines without."""

import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """Counts steps; `tick` says what goes on within one."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps, self.done, self.begin = n_steps, 0, time.perf_counter()
        self.step_name = ""
        self.bar: Any = None
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress as Bar
            except ImportError:
                return
            self.bar = Bar(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("", total=n_steps)

    def __enter__(self) -> "Progress":
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def step(self, name: str) -> None:
        self.step_name = name
        self.done += 1
        if self.bar:
            self.bar.update(self.task, completed=self.done - 1, description=name)
        else:
            seconds = time.perf_counter() - self.begin
            print(f"[{self.done}/{self.n_steps}] {seconds:5.0f} s  {name}", file=sys.stderr, flush=True)

    def tick(self, text: str) -> None:
        if self.bar:
            self.bar.update(self.task, description=f"{self.step_name}: {text}")
