"""Names and modules that are loaded when they are first used."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_IMPORT = re.compile(r"^from (\S+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
# Not in `__all__`, since a star import must not need their libraries.
_UNLISTED = {"torch", "CalibrationErrorMetric"}


def lazily(
    package: str, file: str
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose names live in other modules.

    The stub beside `file`, which type checkers read, lists the names: one import for each module.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    module_of = {
        entry.split(" as ")[-1].strip(): module
        for module, several, one in _IMPORT.findall(stub)
        for entry in (several or one).split(",")
        if entry.strip()
    }
    names = sorted(module_of.keys() - _UNLISTED)

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        if module == package:
            value = import_module(f"{package}.{name}")
        else:
            value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return names, load, names.copy


@contextmanager
def deferred(*modules: str) -> Iterator[None]:
    """Let ``import`` of these modules load them on first use, as long as the context lasts.

    For programs, not for libraries: scikit-learn's base class imports all of SciPy's statistics and
    pandas, which takes longer than a report of ten thousand rows, and does not use them.
    """
    finder = _Deferred(modules)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Deferred:
    def __init__(self, modules: tuple[str, ...]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.modules:
            return None
        from importlib.util import LazyLoader  # not needed by `import trueness`

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
