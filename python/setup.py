"""Puts the shared libraries into the package, when they are there: in SOFTCON_LIBRARY (the library or its folder) or in
the tree's build/. Without them the installed package looks for them at import (softcon/_library.py)."""

import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

SUFFIXES = (".so.0", ".so", ".0.dylib", ".dylib", ".dll")


def libraries():
    """Paths of libsoftcon and libsoftcon_mujoco, as far as they are built."""
    given = os.environ.get("SOFTCON_LIBRARY")
    place = pathlib.Path(given) if given else pathlib.Path(__file__).resolve().parents[1] / "build"
    folder = place if place.is_dir() else place.parent
    for name in ("softcon", "softcon_mujoco"):
        prefix = "" if os.name == "nt" else "lib"
        files = (folder / f"{prefix}{name}{suffix}" for suffix in SUFFIXES)
        yield from list(filter(pathlib.Path.exists, files))[:1]


class BuildWithLibraries(build_py):
    def run(self):
        super().run()
        if not getattr(self, "editable_mode", False):
            for file in libraries():
                shutil.copy(file, pathlib.Path(self.build_lib) / "softcon" / file.name)


class DistributionWithLibraries(Distribution):
    def has_ext_modules(self):
        """The wheel is for this platform only when it holds libraries."""
        return any(libraries())


setup(cmdclass={"build_py": BuildWithLibraries}, distclass=DistributionWithLibraries)
