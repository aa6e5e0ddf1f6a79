"""A program in a file, run in this process as Python would run it."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_ENVIRONMENT = ("PYTHONPATH", "PYSPARK_PYTHON")
"""Variables that are restored after a program has ended."""


@contextlib.contextmanager
def importable(directory: Path) -> Iterator[None]:
    """Let this process and Spark's Python workers import modules of a directory inside the context.

    The workers run the interpreter of this process, also in a session that the program makes itself,
    unless PYSPARK_PYTHON names another.
    """
    path, variables = list(sys.path), {name: os.environ.get(name) for name in _ENVIRONMENT}
    sys.path.insert(0, str(directory))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(directory), before]))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run_program(path: Path, arguments: Sequence[str]) -> None:
    """Run a program as `python path arguments...` would, in this process.

    `sys.argv` and the import paths are the program's while it runs. Spark's Python workers get
    the program's directory too, so a program may consist of several modules; see `importable`.
    """
    kept = sys.argv
    sys.argv = [str(path), *arguments]
    try:
        with importable(path.resolve().parent):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = kept
