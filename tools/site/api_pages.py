"""The reference of the Python API, made from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import FunctionType
from typing import Any

from tools.public_api import public_modules

PAGES = {
    "environment": ("The environment", ("penstock.api.environment.",)),
    "streams": ("Streams", ("penstock.api.streams.",)),
    "windows": ("Windows", ("penstock.api.windows.",)),
    "functions": ("Functions", ("penstock.api.functions.", "penstock.api.user_code")),
    "state": ("State", ("penstock.api.state.", "penstock.state.")),
    "connectors": ("Sources and sinks", ("penstock.connectors.", "penstock.graph.")),
    "types": ("Types and records", ("penstock.types.",)),
    "expressions": ("Expressions of columns", ("penstock.expressions.",)),
    "testing": ("Testing", ("penstock.testing.",)),
    "others": ("Configuration, time and the rest", ("penstock.",)),
}
"""Page to its title and the modules whose classes it has; the first page that fits counts."""

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Examples", "Example")
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):$", re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}\w[\w.*, ]*):[ \n]", re.MULTILINE)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Public:
    """A public class or function, and the shortest module that a program imports it from."""

    name: str
    module: str
    value: Any


def public() -> list[Public]:
    """Return the public classes and functions, in order of their names."""
    found: dict[tuple[int, str], Public] = {}
    for module in public_modules():
        imported = importlib.import_module(module)
        for name in getattr(imported, "__all__", ()):
            value = getattr(imported, name)
            if isinstance(value, (type, FunctionType)) and value.__module__.startswith("penstock"):
                known = found.get((id(value), name))
                if known is None or len(module) < len(known.module):
                    found[id(value), name] = Public(name, module, value)
    return sorted(found.values(), key=lambda each: (each.name.lower(), each.module))


def page_of(each: Public) -> str:
    """Return the key in `PAGES` of the page that a class is on."""
    defined = f"{each.value.__module__}."
    return next(key for key, (_, places) in PAGES.items() if defined.startswith(places))


def render_api() -> dict[str, str]:
    """Return the pages as markdown, by key."""
    parts: dict[str, list[str]] = {
        key: [f"# {title}\n", "Made from the source. A test runs every example.\n"]
        for key, (title, _) in PAGES.items()
    }
    for each in public():
        parts[page_of(each)] += _entry(each)
    return {key: "\n".join(lines) + "\n" for key, lines in parts.items()}


def _entry(each: Public) -> Iterator[str]:
    yield f"\n## {each.name} {{ #{each.module}.{each.name} }}\n"
    yield f"`from {each.module} import {each.name}`\n"
    if each.name != each.value.__name__:
        yield f"Another name of `{each.value.__name__}`.\n"
        return
    if isinstance(each.value, type) and issubclass(each.value, Enum):
        yield document(_own_text(each.value))
        yield from (f"* `{each.name}.{member}`" for member in each.value.__members__)
        return
    yield f"```python\n{each.name}{signature(each.value)}\n```\n"
    yield document(_own_text(each.value))
    if isinstance(each.value, type):
        for name, function in _members(each.value):
            yield f"\n### {name} {{ #{each.module}.{each.name}.{name} }}\n"
            if not isinstance(function, property):
                yield f"```python\n{each.name}.{name}{signature(_plain(function))}\n```\n"
            yield document(inspect.getdoc(getattr(each.value, name)) or "")


def signature(function: Any) -> str:
    """Return how a function is called, with its annotations."""
    try:
        found = str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(…)"
    return _ADDRESS.sub("", found).replace("'", "").replace("typing.", "")


def document(text: str) -> str:
    """Return a docstring of the Google style as markdown.

    Examples:
        >>> text = ["Add two.", "", "Args:", "    a: The first,", "        a number."]
        >>> print(document(chr(10).join(text)))
        Add two.
        <BLANKLINE>
        **Args**
        <BLANKLINE>
        * `a`: The first, a number.
        <BLANKLINE>
    """
    first, *rest = _SECTION.split(text)
    lines = [first.strip(), ""]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        shown, _, after = _split_body(body)
        if title.startswith("Example"):
            lines += [f"```pycon\n{inspect.cleandoc(shown)}\n```", ""]
        else:
            lines += [f"**{title}**", "", *_items(shown), ""]
        if after:
            lines += [after, ""]
    return "\n".join(lines)


def _split_body(body: str) -> tuple[str, str, str]:
    """Return the indented lines of a section, and what follows it."""
    lines = body.strip("\n").split("\n")
    end = next(
        (at for at, line in enumerate(lines) if line.strip() and not line.startswith(" ")),
        len(lines),
    )
    return "\n".join(lines[:end]), "", "\n".join(lines[end:]).strip()


def _items(body: str) -> Iterator[str]:
    text = inspect.cleandoc("\n" + body)
    starts = [found.start() for found in _ENTRY.finditer(text)]
    if not starts or starts[0] != 0:
        yield " ".join(text.split())
        return
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        name, _, meaning = text[start:end].partition(":")
        yield f"* `{name.strip()}`: {' '.join(meaning.split())}"


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("penstock"):
            found |= {
                name: each
                for name, each in vars(base).items()
                if not name.startswith("_") and isinstance(_plain(each), (FunctionType, property))
            }
    yield from found.items()


def _own_text(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return "" if text.startswith(f"{value.__name__}(") else text


def _plain(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
