"""Builds the compiled kernels: a plain shared library that ctypes loads, with no Python in it.

It depends on no Python version, so neither its name nor the wheel carries one: `py3-none-<platform>` serves them all.
The build is optional: without a compiler the package installs all the same and its NumPy kernels serve. A wheel built
twice from the same sources, with the same compiler, has the same bytes, wherever it is built.
"""

import gzip
import os
import sys
import tarfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

CSRC = Path("src", "trueness", "_kernels", "csrc")
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

# Sums must not depend on the compiler's mood: no fused multiply-add unless written, no fast-math.
GNU_FLAGS = ["-O3", "-std=gnu11", "-ffp-contract=off", "-fvisibility=hidden", "-g0"]
MSVC_FLAGS = ["/O2", "/std:c11", "/fp:precise"]


# The date of every file in the wheel, unless the builder has set one.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")


class PlainLibrary(build_ext):
    def get_ext_filename(self, fullname):
        return str(Path(*fullname.split(".")).with_suffix(SUFFIX))

    def get_export_symbols(self, ext):  # noqa: ARG002  # setuptools' signature
        return []  # there is no PyInit__loops to export

    def build_extension(self, ext):
        msvc = self.compiler.compiler_type == "msvc"
        ext.extra_compile_args = MSVC_FLAGS if msvc else GNU_FLAGS
        if not msvc:
            # Python's own library is not linked, so its folder must not be named in ours.
            self.compiler.linker_so = [
                flag
                for flag in self.compiler.linker_so
                if not flag.startswith(("-L", "-Wl,-rpath"))
            ]
        super().build_extension(ext)


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]

    def write_wheelfile(self, wheelfile_base, **options):
        super().write_wheelfile(wheelfile_base, **options)
        for path in Path(self.bdist_dir).rglob(
            "*"
        ):  # the builder's umask must not show in the archive
            path.chmod(0o755 if path.is_dir() or path.suffix == SUFFIX else 0o644)


class SameSdist(sdist):
    """An archive with the same bytes wherever it is built: files in order, of one date, of nobody."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **_):  # noqa: ARG002
        date = int(os.environ["SOURCE_DATE_EPOCH"])

        def anonymous(entry):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = date
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = gzip.GzipFile(path, "wb", mtime=date)
        with packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for file in sorted(Path(base_dir).rglob("*")):
                archive.add(file, recursive=False, filter=anonymous)
        return str(path)


setup(
    ext_modules=[
        Extension(
            "trueness._kernels._loops",
            sources=sorted(path.as_posix() for path in CSRC.glob("*.c")),
            depends=sorted(path.as_posix() for path in CSRC.glob("*.h")),
            optional=True,
        )
    ],
    exclude_package_data={
        "trueness._kernels.csrc": ["*"]
    },  # sources go into the sdist, not into wheels
    cmdclass={"build_ext": PlainLibrary, "bdist_wheel": PlatformWheel, "sdist": SameSdist},
)
