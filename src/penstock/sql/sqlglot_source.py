"""The used parts of sqlglot, as classes that can be derived from.

The compiled build of sqlglot (`sqlglot[c]`) puts extension modules beside the sources, and their classes refuse to be
derived from. Then the sources are imported once more under another name, where they find each other: the program may use the
compiled build beside them.

    sqlglot.parser           extension module, of the program
    _penstock_sqlglot.parser     source, whose `from sqlglot import exp` is `from _penstock_sqlglot import exp`

Rejected: to prefer sources for the whole process, which is too late if the program has imported sqlglot before, and slows its own use.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

_LIBRARY = "sqlglot"
_SOURCES = "_penstock_sqlglot"


def _source_name(name: str) -> str:
    return _SOURCES + name[len(_LIBRARY) :]


def _imported(
    name: str,
    globals: Mapping[str, Any] | None = None,  # noqa: A002 - those of `__import__`
    locals: Mapping[str, Any] | None = None,  # noqa: A002
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import as `__import__` does, and sources of sqlglot for modules of it."""
    is_library = level == 0 and (name == _LIBRARY or name.startswith(f"{_LIBRARY}."))
    full_name = _source_name(name) if is_library else name
    return builtins.__import__(full_name, globals, locals, fromlist or (), level)


class _Loader(SourceFileLoader):
    """Runs a source with imports that find sources."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _imported}
        super().exec_module(module)


class _Finder:
    """Finds the sources of sqlglot under their other name."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        first, *rest = name.split(".")
        if first != _SOURCES:
            return None
        folder = self._root.joinpath(*rest)
        is_package = folder.is_dir()
        file = folder / "__init__.py" if is_package else folder.with_suffix(".py")
        if not file.exists():
            return None
        return spec_from_file_location(
            name,
            file,
            loader=_Loader(name, str(file)),
            submodule_search_locations=[str(folder)] if is_package else None,
        )


def _name_of_library() -> str:
    """Return the name under which classes of sqlglot can be derived from."""
    spec = PathFinder.find_spec(_LIBRARY)
    if spec is None or spec.origin is None:
        return _LIBRARY  # its import reports that it is missing
    root = Path(spec.origin).parent
    if not any((root / f"parser{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
        return _LIBRARY
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # Before that of paths, which prefers extension modules.
        sys.meta_path.insert(0, _Finder(root))
    return _SOURCES


__all__ = (
    "ParseError",
    "Parser",
    "Presto",
    "PrestoParser",
    "Token",
    "TokenError",
    "TokenType",
    "exp",
)

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.presto import Presto
    from sqlglot.errors import ParseError, TokenError
    from sqlglot.parser import Parser
    from sqlglot.parsers.presto import PrestoParser
    from sqlglot.tokenizer_core import Token, TokenType
else:
    _name = _name_of_library()
    exp = importlib.import_module(f"{_name}.expressions")
    Presto = importlib.import_module(f"{_name}.dialects.presto").Presto
    _errors = importlib.import_module(f"{_name}.errors")
    ParseError, TokenError = _errors.ParseError, _errors.TokenError
    Parser = importlib.import_module(f"{_name}.parser").Parser
    PrestoParser = importlib.import_module(f"{_name}.parsers.presto").PrestoParser
    _tokens = importlib.import_module(f"{_name}.tokenizer_core")
    Token, TokenType = _tokens.Token, _tokens.TokenType
