"""A program in a file, run in this process as Python would run it."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock.errors import EnvironmentSetupError

_ENVIRONMENT = ("PYTHONPATH", "PYSPARK_PYTHON")
"""Variables that are restored after a program has ended."""


@contextlib.contextmanager
def importable(directory: Path) -> Iterator[None]:
    """Let this process and Spark's Python workers import modules of a directory inside the context.

    The workers run the interpreter of this process, also in a session that the program makes itself,
    unless PYSPARK_PYTHON names another.

    Raises:
        EnvironmentSetupError: The program failed because a file of the directory was imported in place of a standard
            module.
    """
    path, variables = list(sys.path), {name: os.environ.get(name) for name in _ENVIRONMENT}
    sys.path.insert(0, str(directory))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(directory), before]))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        yield
    except Exception as error:
        _check_standard_modules(error, directory)
        raise
    finally:
        sys.path[:] = path
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _check_standard_modules(error: BaseException, directory: Path) -> None:
    """Refuse a file of the program's that hides a standard module, if an error or a cause of it is about that module."""
    seen: dict[int, BaseException] = {}  # a chain may be cyclic
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen[id(cause)] = cause
        name, file = _module_of(cause)
        if name in sys.stdlib_module_names and file and Path(file).is_relative_to(directory):
            raise EnvironmentSetupError(
                f"{file} takes the place of the standard module {name!r}: {cause}",
                hint="Rename the file.",
            ) from error
        cause = cause.__cause__ or cause.__context__


def _module_of(error: BaseException) -> tuple[str, str | None]:
    """Return name and file of the module that lacks what an import or a function looked for."""
    if isinstance(error, AttributeError):
        return str(getattr(error.obj, "__name__", "")), getattr(error.obj, "__file__", None)
    if isinstance(error, ImportError):
        name = (error.name or "").partition(".")[0]
        return name, error.path or getattr(sys.modules.get(name), "__file__", None)
    return "", None


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
