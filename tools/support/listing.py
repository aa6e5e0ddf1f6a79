"""The support table as values, and its comparison with the classes there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from operator import attrgetter
from typing import Any

from tools.support.names import NAMES


class Status(Enum):
    """What becomes of a name of PyFlink."""

    WORKS = "works"
    """It does what it does in PyFlink."""

    ACCEPTED = "accepted"
    """It is kept and given back, and changes nothing."""

    ABSENT = "absent"
    """There is no such name: it is for Java alone."""


@dataclass(frozen=True, slots=True)
class ListedClass:
    """One class of PyFlink.

    Attributes:
        section: Of the page.
        module: Where it is here: PyFlink's module with another first name.
        name: Its name, dotted if it is inside another class.
        status: Of the class.
        methods: Name to status.
    """

    section: str
    module: str
    name: str
    status: Status
    methods: dict[str, Status] = field(default_factory=dict)

    def found(self) -> Any | None:
        """Return the class, None if there is none."""
        try:
            return attrgetter(self.name)(import_module(self.module))
        except (ImportError, AttributeError):
            return None

    def differences(self) -> list[str]:
        """Return what the table says and is not so; empty if it is right."""
        made = self.found()
        where = f"{self.module}.{self.name}"
        if (made is None) != (self.status is Status.ABSENT):
            return [f"{where} is {'missing' if made is None else 'there'}"]
        return [
            f"{where}.{method} is {'there' if status is Status.ABSENT else 'missing'}"
            for method, status in self.methods.items()
            if made is not None and hasattr(made, method) == (status is Status.ABSENT)
        ]


def listed_classes() -> list[ListedClass]:
    """Return the whole table, in order of the page."""
    return list(_read(NAMES))


def _read(text: str) -> Iterator[ListedClass]:
    section = ""
    current: ListedClass | None = None
    status = Status.WORKS
    for line in filter(None, text.splitlines()):
        if line.startswith("# "):
            section = line.removeprefix("# ")
        elif not line.startswith(" "):
            if current is not None:
                yield current
            place, _, word = line.partition(" ")
            module, _, name = place.partition(":")
            current = ListedClass(section, module, name, Status(word))
        else:
            word, colon, names = line.strip().rpartition(":")
            status = Status(word) if colon else status
            assert current is not None, "a class comes before its methods"
            current.methods.update(dict.fromkeys(names.split(), status))
    if current is not None:
        yield current
