"""The classes and functions that a program can reach, and what their docstrings lack."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

import penstock

ROOT = Path(penstock.__file__).parent

FACADES = ("common", "datastream", "testing")
"""Packages whose `__all__`, and that of their sub-modules, is public."""

DESCRIBED = ("penstock.api.", "penstock.connectors.", "penstock.testing.")
"""Packages whose classes have examples and whose parameters are described."""

WITH_EXAMPLES = (
    "penstock.api.environment.environment.",
    "penstock.api.streams.",
    "penstock.api.windows.window_rules.",
    "penstock.api.windows.windowed_stream.",
    "penstock.testing.",
)
"""Modules of the environment, of stream handles and of testing: each method has an example."""

_GETTER = re.compile(r"(get|is|has|can)_")
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Method:
    """A public method or property, where it is defined."""

    owner: type
    name: str
    function: FunctionType
    is_property: bool

    def __str__(self) -> str:
        return f"{self.owner.__module__}.{self.owner.__qualname__}.{self.name}"

    @property
    def text(self) -> str:
        """Its docstring, and those of the methods it overrides."""
        found = [vars(base).get(self.name) for base in self.owner.__mro__ if _is_ours(base)]
        return "\n".join(text for text in (inspect.getdoc(_plain(each)) for each in found) if text)

    @property
    def returned(self) -> str:
        return str(self.function.__annotations__.get("return"))

    @property
    def is_refused(self) -> bool:
        """Whether it only raises, as `rebalance` of a keyed stream."""
        return self.returned == "NoReturn"


def public_objects() -> dict[str, Any]:
    """Return the public classes and functions by dotted name.

    Classes that methods of public ones return are public as well: `Where` of `join(…)`.
    """
    found: dict[str, Any] = {}
    todo: list[Any] = []
    for package in FACADES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if package == "testing" and path.name != "__init__.py":
                continue
            dotted = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
            module = importlib.import_module(dotted.removesuffix(".__init__"))
            todo += [getattr(module, name) for name in getattr(module, "__all__", ())]
    while todo:
        each = todo.pop()
        if isinstance(each, (type, FunctionType)) and _is_ours(each):
            name = f"{each.__module__}.{each.__qualname__}"
            if name not in found:
                found[name] = each
                todo += _returned_classes(each) if isinstance(each, type) else []
    return dict(sorted(found.items()))


def methods_of(cls: type) -> Iterator[Method]:
    """Yield the public methods and properties that a class defines itself."""
    for name, value in vars(cls).items():
        function = _plain(value)
        if isinstance(function, FunctionType) and not name.startswith("_"):
            yield Method(cls, name, function, isinstance(value, property))


def classes_of(objects: dict[str, Any]) -> list[type]:
    """Return the public classes and the classes of ours that they derive from."""
    found = {
        base: None
        for each in objects.values()
        if isinstance(each, type)
        for base in each.__mro__
        if _is_ours(base)
    }
    return sorted(found, key=lambda cls: f"{cls.__module__}.{cls.__qualname__}")


def undescribed(text: str, function: Callable[..., Any]) -> list[str]:
    """Return the parameters that a docstring names neither under `Args` nor in backticks."""
    return [
        name
        for name in inspect.signature(function).parameters
        if not name.startswith("_")
        and name not in {"self", "cls"}
        and not re.search(rf"^\s*{name}: |`[^`\n]*\b{name}\b[^`\n]*`", text, re.MULTILINE)
    ]


def needs_an_example(method: Method) -> bool:
    """Return whether the rule asks a method for an example of its own."""
    return (
        str(method).startswith(WITH_EXAMPLES)
        and not method.is_property
        and not method.is_refused
        and not _GETTER.match(method.name)
    )


def has_example(cls: type) -> bool:
    """Return whether the docstring of a class or of one of its methods shows how it is used."""
    texts = [inspect.getdoc(cls) or "", *(method.text for method in methods_of(cls))]
    return any(">>> " in text for text in texts)


def is_exempt_from_examples(cls: type) -> bool:
    """Return whether a class is a list of members, or never made or derived by a program."""
    return issubclass(cls, (Enum, BaseException)) or cls.__name__.startswith("_")


def _is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("penstock.")


def _plain(value: Any) -> Any:
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _returned_classes(cls: type) -> list[type]:
    """Return the classes that the annotations of a class's methods name, of its own package."""
    module = importlib.import_module(cls.__module__)
    names = {
        word
        for base in cls.__mro__
        if _is_ours(base)
        for method in methods_of(base)
        for word in _NAME.findall(method.returned)
    }
    found = [getattr(module, name, None) for name in names]
    return [each for each in found if isinstance(each, type) and _is_ours(each)]
