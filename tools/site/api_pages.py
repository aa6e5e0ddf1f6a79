"""The reference of the Python API, made from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from tools.public_api import public_modules
from tools.site.engine_methods import NOT_FOR_PROGRAMS

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
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_DOCS = Path(__file__).parents[2] / "docs"
_WIDTH = 70
"""A longer signature has a line for each parameter, or it would be cut at 400 pixels and more."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Public:
    """A public class or function, and the shortest module that a program imports it from."""

    name: str
    module: str
    value: Any


@cache
def public() -> tuple[Public, ...]:
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
    return tuple(sorted(found.values(), key=lambda each: (each.name.lower(), each.module)))


def page_of(each: Public) -> str:
    """Return the key in `PAGES` of the page that a class is on."""
    defined = f"{each.value.__module__}."
    return next(key for key, (_, places) in PAGES.items() if defined.startswith(places))


@cache
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
        yield from _inherited(each.value)
        for name, function in members(each.value).items():
            yield f"\n### {name} {{ #{each.module}.{each.name}.{name} }}\n"
            if not isinstance(function, property):
                yield f"```python\n{each.name}.{name}{signature(_plain(function))}\n```\n"
            text = inspect.getdoc(getattr(each.value, name)) or ""
            yield document(text)
            if ">>> " not in text and not isinstance(function, property):
                yield from example_elsewhere(each.value, name)


def example_elsewhere(cls: type, name: str) -> Iterator[str]:
    """Yield a line that says where a method without an example of its own is used, if it is somewhere.

    Args:
        cls: The class.
        name: Of the method.
    """
    used = re.compile(rf"(?:\.|\bdef ){name}\(")
    if used.search(_examples_of(cls)):
        yield "*Used in the example of the class.*\n"
        return
    for each in public():
        is_derived = isinstance(each.value, type) and cls in each.value.__mro__
        if is_derived and used.search(_examples_of(each.value)):
            yield f"*Used in the example of {_link(each)}.*\n"
            return
    # Programs name what a builder builds. A long name that one class alone has needs no class beside it.
    is_only = "_" in name and _owners()[name] == 1
    named = re.compile("" if is_only else rf"\b{cls.__name__.removesuffix('Builder')}")
    for page, title, block in _blocks():
        if used.search(block) and named.search(block):
            yield f"*Used in [{title}](../../{page}).*\n"
            return
    for each in public():
        if (is_only or each.value is cls) and any(
            used.search(_examples_of(value)) for value in _documented(each.value)
        ):
            yield f"*Used in an example of {_link(each)}.*\n"
            return


def _link(each: Public) -> str:
    return f"[{each.name}]({page_of(each)}.md#{each.module}.{each.name})"


@cache
def _documented(value: Any) -> list[Any]:
    """Return a class and its methods, or a function alone."""
    own = members(value) if isinstance(value, type) else {}
    return [value, *(getattr(value, name) for name in own)]


@cache
def _owners() -> Counter[str]:
    """Return how many public classes have a method, by its name."""
    classes = {each.value for each in public() if isinstance(each.value, type)}
    return Counter(name for cls in classes for name in members(cls))


def without_example() -> list[str]:
    """Return the methods on the pages that no example shows: neither one of their own, nor of their class, nor of a page."""
    found = []
    for each in public():
        if isinstance(each.value, type) and each.name == each.value.__name__:
            if issubclass(each.value, Enum):
                continue
            for name, function in members(each.value).items():
                text = inspect.getdoc(getattr(each.value, name)) or ""
                plain = _plain(function)
                if isinstance(plain, property) or ">>> " in text:
                    continue
                refused = str(plain.__annotations__.get("return")) == "NoReturn"
                if not refused and not list(example_elsewhere(each.value, name)):
                    found.append(f"{each.name}.{name}")
    return found


@cache
def _examples_of(cls: Any) -> str:
    lines = (inspect.getdoc(cls) or "").splitlines()
    return "\n".join(line for line in lines if line.lstrip().startswith((">>> ", "...")))


@cache
def _blocks() -> list[tuple[str, str, str]]:
    """Return the blocks of Python of the pages: path of the page, its title, and the block."""
    found = []
    # Recipes first: they are the shortest programs.
    paths = sorted(_DOCS.rglob("*.md"), key=lambda path: (path.parent.name != "cookbook", path))
    for path in paths:
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].strip("# ")
        page = path.relative_to(_DOCS).as_posix()
        if not page.startswith("decisions/"):
            found += [(page, title, block) for block in _BLOCK.findall(text)]
    return found


def signature(function: Any) -> str:
    """Return how a function is called, with its annotations."""
    try:
        found = str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(…)"
    return _wrapped(_ADDRESS.sub("", found).replace("'", "").replace("typing.", ""))


def _wrapped(text: str) -> str:
    """Return a long signature with a line for each parameter.

    Examples:
        >>> _wrapped("(self, n: int) -> int")
        '(self, n: int) -> int'
    """
    if len(text) <= _WIDTH:
        return text
    lines, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if (depth == 1 and char == ",") or (depth == 1 and at == 0) or (depth == 0 and char == ")"):
            lines.append(text[start : at + (char != ")")].strip())
            start = at + (char != ")")
            if char == ")":
                break
    first, *parameters = lines
    return "\n".join([first, *(f"    {each}" for each in parameters if each), text[start:]])


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
            lines += _examples(inspect.cleandoc(shown))
        else:
            lines += [f"**{title}**", "", *_items(shown), ""]
        if after:
            lines += [after, ""]
    return "\n".join(lines)


def _examples(text: str) -> Iterator[str]:
    """Yield the examples as blocks, and what is said between them as it is."""
    code: list[str] = []
    for part in re.split(r"\n\n+", text):
        if part.startswith(">>> "):
            code.append(part)
            continue
        if code:
            yield from ("```pycon\n" + "\n\n".join(code) + "\n```", "")
        code = []
        yield from (part, "")
    if code:
        yield from ("```pycon\n" + "\n\n".join(code) + "\n```", "")


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


def members(cls: type) -> dict[str, Any]:
    """Return the public methods and properties that a class has beyond those of its public bases.

    What replaces a method of a public base is left out, too, unless it has an example of its own, and so is
    what only the engine calls.
    """
    bases = public_bases(cls)
    known = {name for base in bases for name in dir(base)}
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        is_covered = any(base in each.__mro__ for each in bases)
        if base.__module__.startswith("penstock") and not is_covered:
            found |= {
                name: each
                for name, each in vars(base).items()
                if not name.startswith("_")
                and isinstance(_plain(each), (FunctionType, property))
                and not _is_for_the_engine(cls, name, _plain(each))
                and (name not in known or ">>> " in (inspect.getdoc(_plain(each)) or ""))
            }
    return found


def _is_for_the_engine(cls: type, name: str, function: Any) -> bool:
    of_class = (f"{base.__name__}.{name}" for base in cls.__mro__)
    return getattr(function, "__final__", False) or not NOT_FOR_PROGRAMS.isdisjoint(of_class)


def public_bases(cls: type) -> list[type]:
    """Return the classes that a class derives from and that have an entry of their own."""
    entries = {each.value for each in public() if isinstance(each.value, type)}
    return [base for base in cls.__mro__[1:] if base in entries]


def _inherited(cls: type) -> Iterator[str]:
    places = {each.value: each for each in public() if each.name == each.value.__name__}
    links = [
        f"[{base.__name__}]({page_of(places[base])}.md#{places[base].module}.{base.__name__})"
        for base in public_bases(cls)
        if base in places
    ]
    if links:
        yield f"\nIt also has what {', '.join(links)} {'has' if len(links) == 1 else 'have'}.\n"


def _own_text(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return "" if text.startswith(f"{value.__name__}(") else text


def _plain(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
