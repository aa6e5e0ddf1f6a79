"""The classes of sources there are, found by walking subclasses."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import penstock.connectors
import penstock.graph
from penstock.graph.endpoints import Source
from penstock.program.traverse import reachable

OURS = {"connectors", "graph"}
"""Packages with sources that users are given; `testing` has one for itself."""


def source_classes() -> list[type]:
    """Return all that can be made, of Penstock's own."""
    for package in (penstock.connectors, penstock.graph):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    base: type = Source  # abstract, which `type[Source]` may not be
    classes = reachable([base], type.__subclasses__)
    return [cls for cls in classes if _is_ours(cls) and not inspect.isabstract(cls)]


def _is_ours(cls: type) -> bool:
    package, _, member = cls.__module__.partition(".")
    if package != "penstock" or member.partition(".")[0] not in OURS:
        return False
    # A dataclass with slots is made twice, and the module has the second one.
    return getattr(importlib.import_module(cls.__module__), cls.__name__) is cls
