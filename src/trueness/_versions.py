"""What is installed, for bug reports."""

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["show_versions"]

_LIBRARIES = (
    "numpy",
    "scipy",
    "narwhals",
    "click",
    "rich",
    "pandas",
    "polars",
    "pyarrow",
    "scikit-learn",
    "torch",
)


def show_versions() -> None:
    """Print the versions of trueness, Python and the libraries it can use, and which kernels serve."""
    from trueness import __version__, _kernels

    print(f"trueness      {__version__}")  # noqa: T201  # printing is what this is for
    print(f"kernels       {_kernels.implementation()}")  # noqa: T201
    print(f"python        {platform.python_version()} on {platform.system()} {platform.machine()}")  # noqa: T201
    for name in _LIBRARIES:
        print(f"{name:13} {_version(name)}")  # noqa: T201


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "–"
