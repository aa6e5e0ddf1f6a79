"""Sums of surveys and counts of state: all states, and the requested one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.inspect.state_columns import newest_schema, type_of_kinds
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation

Names = Collection[str]
Row = Iterable[Any]


@dataclass(slots=True)
class StateSurvey:
    """The schemas and kinds of keys in the blobs of one state.

    Attributes:
        schemas: Texts of its schemas.
        keys: Kinds of its keys.
        subkeys: Kinds of its subkeys.
    """

    schemas: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    subkeys: set[str] = field(default_factory=set)

    def schema(self, uid: str, name: str) -> StateSchema:
        """Return the schema with which entries of all others can be read.

        Raises:
            StateMigrationError: There is none.
        """
        return newest_schema(self.schemas, f"state {name!r} of operator {uid!r}")


def surveyed(rows: Iterable[Row]) -> dict[tuple[str, str], StateSurvey]:
    """Return (uid, name) to survey of all states."""
    found: dict[tuple[str, str], StateSurvey] = {}
    for operator, state, text, part, kind in rows:
        of_state = found.setdefault((operator, state), StateSurvey())
        of_state.schemas.add(text)
        if part != "schema":
            (of_state.keys if part == "key" else of_state.subkeys).add(kind)
    return found


def chosen_state(
    found: dict[tuple[str, str], StateSurvey],
    directory: JobPath,
    uid: str,
    name: str,
    uids: Callable[[], Names],
) -> StateSurvey:
    """Return the survey of one state.

    Raises:
        StateError: There is no such operator or state; the error names the existing ones.
    """
    if not found:
        raise StateError(
            f"{directory} has no state of an operator {uid!r}",
            hint=_known("the uids", uids()),
        )
    if (uid, name) not in found:
        raise StateError(
            f"operator {uid!r} has no state {name!r} in {directory}",
            hint=_known("its states", (state for _, state in found)),
        )
    return found[uid, name]


def key_types(found: StateSurvey) -> tuple[TypeInformation | None, TypeInformation | None]:
    """Return the types of the columns of keys and subkeys; None means text."""
    return type_of_kinds(found.keys), type_of_kinds(found.subkeys)


def name_rows(counted: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return rows of `NAMES_DDL`, sorted.

    Raises:
        StateMigrationError: The schemas of a state do not fit together.
    """
    texts: dict[tuple[str, str], set[str]] = {}
    totals: dict[tuple[str, str], list[int]] = {}
    for uid, name, text, *counts in counted:
        texts.setdefault((uid, name), set()).add(text)
        sums = totals.setdefault((uid, name), [0, 0, 0])
        for index, count in enumerate(counts):
            sums[index] += count
    rows = []
    for (uid, name), sums in sorted(totals.items()):
        schema = newest_schema(texts[uid, name], f"state {name!r} of operator {uid!r}")
        rows.append((uid, name, schema.kind.value, type_text(schema), schema.has_ttl, *sums))
    return rows


def type_text(schema: StateSchema) -> str:
    """Return the types of a state for people."""
    if schema.kind is StateKind.TIMERS:
        return repr(schema.subkey_type)
    value = repr(schema.value_type)
    return value if schema.subkey_type is None else f"{schema.subkey_type!r} -> {value}"


def _known(what: str, names: Iterable[str]) -> str:
    known = ", ".join(sorted(set(names)))
    return f"Use one of {what} there are: {known}." if known else "There is no state at all."
