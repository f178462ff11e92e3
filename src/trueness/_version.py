"""The version of trueness, and a list of versions for bug reports."""

__all__ = ["__version__", "show_versions"]

__version__ = "0.1.0"

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
    """Print the versions of trueness, Python and usable libraries, and the kernels in use."""
    # Imported here: every package reads the version, few need these.
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from trueness import _kernels

    print(f"trueness      {__version__}")  # noqa: T201  # printing is what this is for
    print(f"kernels       {_kernels.implementation()}")  # noqa: T201
    machine = f"{platform.system()} {platform.machine()}"
    print(f"python        {platform.python_version()} on {machine}")  # noqa: T201
    for name in _LIBRARIES:
        try:
            found = version(name)
        except PackageNotFoundError:
            found = "–"
        print(f"{name:13} {found}")  # noqa: T201
