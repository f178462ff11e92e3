"""Names and modules that are loaded when they are first used."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

__all__ = ["deferred", "lazily"]


def lazily(
    package: str, homes: Mapping[str, tuple[str, ...] | str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in other modules.

    `homes` has the names of each module, as a tuple or in one string; those of "" are modules of the package.
    """
    module_of = {
        name: module for module, names in homes.items() for name in (names.split() if isinstance(names, str) else names)
    }

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        value = import_module(f"{package}.{module or name}")
        if module:
            value = getattr(value, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, names


@contextmanager
def deferred(*modules: str) -> Iterator[None]:
    """Let ``import`` of these modules load them when they are first used, as long as the context lasts.

    For programs, not for libraries: scikit-learn's base class imports all of SciPy's statistics and pandas, which takes
    longer than a report of ten thousand rows, and does not use them.
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

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self.modules:
            return None
        from importlib.util import LazyLoader  # not needed by `import trueness`

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
