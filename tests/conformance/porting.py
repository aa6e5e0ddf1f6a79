"""Porting a PyFlink program: the package is replaced in its imports, and nothing else."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import ModuleType
from unittest import mock

_IMPORT = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)


def ported(program: str) -> str:
    """Return the text of a PyFlink program with `penstock` for `pyflink` in its imports."""
    return _IMPORT.sub(r"\1penstock", program)


def run_program(program: str, name: str, arguments: Sequence[str] = ()) -> ModuleType:
    """Run the text of a program as `python NAME ARGUMENTS` would; return its names."""
    module = ModuleType("__main__")
    module.__file__ = name
    with mock.patch.object(sys, "argv", [name, *arguments]):
        code = compile(program, name, "exec", dont_inherit=True)  # it evaluates its annotations
        exec(code, module.__dict__)  # noqa: S102 - what it is for
    return module
