"""Builds the package: CMake makes the extension and lays out the files, setuptools packs them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
# An sdist carries the C++ library in a folder of its own; a clone has it one level up.
LIBRARY = HERE / "library" if (HERE / "library").exists() else HERE.parent
# The rooms of the library alone stand at the beginning of a line there; those of the program are in an if.
ROOMS = re.findall(r"^add_subdirectory\((\w+)\)", (LIBRARY / "src/CMakeLists.txt").read_text(), re.MULTILINE)
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake", "include", "src/CMakeLists.txt", *(f"src/{room}" for room in ROOMS)]


def version():
    text = (LIBRARY / "include/sadam/version.h").read_text()
    return re.search(r'SADAM_VERSION "(.*)"', text).group(1)


class Build(build_py):
    """The environment: SADAM_BUILD names a build of the whole repository, whose extension is taken instead of made;
    CMAKE_ARGS are further arguments for CMake."""

    def run(self):
        build = os.environ.get("SADAM_BUILD")
        if not build:
            build = str(HERE / "build" / "cmake")
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            arguments = os.environ.get("CMAKE_ARGS", "").split()
            python = f"-DPython3_EXECUTABLE={sys.executable}"
            self.cmake("-S", str(HERE), "-B", build, *generator, python, *arguments)
        self.cmake("--build", build, "--target", "sadam_python_engine", "--parallel", str(os.cpu_count()))
        self.cmake("--install", build, "--component", "python", "--prefix", str(Path(self.build_lib).resolve()))

    def cmake(self, *arguments):
        try:
            subprocess.run(["cmake", *arguments], check=True)
        except FileNotFoundError:
            sys.exit("sadam: cmake was not found: install it (apt-get install cmake, or pip install cmake).")
        except subprocess.CalledProcessError:
            sys.exit("sadam: the extension could not be built: CMake says why above.")

    def get_outputs(self, include_bytecode=True):
        return [str(path) for path in Path(self.build_lib).rglob("*") if path.is_file()]


class SourceDistribution(sdist):
    """With the C++ library, so that it can be built elsewhere."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = Path(base_dir)
        for name in ["CMakeLists.txt", "engine"]:
            copy(HERE / name, target / name)
        for name in SOURCES:
            copy(LIBRARY / name, target / "library" / name)


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


class WithExtension(Distribution):
    """So that the wheel is one for this platform."""

    def has_ext_modules(self):
        return True


setup(
    version=version(),
    packages=["sadam"],
    package_data={"sadam": ["*.pyi", "py.typed"]},
    cmdclass={"build_py": Build, "sdist": SourceDistribution},
    distclass=WithExtension,
)
