"""Identity of a relation's state, as a text that is equal when it means the same.

State belongs to its relation and to all below it: the tables with their columns, conditions, groups, aggregates. So a query that changed
below an operator has other state than before, and the part above it may change. Names of columns, a time-to-live, and the code of
functions of the user do not count; functions of another name do.

The digests are in savepoints. They leave out fields with their default, so a relation may get further fields.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from penstock.expressions.functions import USER
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.relation.tree import Relation, Scan
from penstock.types import TypeInformation
from penstock.types.sql_types import NULL, SqlType

_DIGITS = 12
_NO_MEANING = frozenset({"columns", "keys", "changelog", "ttl_ms", "ttls_ms"})


def digest_of(relation: Relation) -> str:
    """Return the digest of a relation and of all below it."""
    text = json.dumps(_facts(relation))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _facts(value: Any) -> Any:  # noqa: PLR0911 - one per class
    if isinstance(value, SqlType | TypeInformation):
        return str(value)
    if isinstance(value, Field | Literal | Call):
        return _scalar_facts(value)
    if isinstance(value, Scan):
        return ["Scan", value.name, [[column.name, str(column.type)] for column in value.columns]]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return [_facts(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if is_dataclass(value):
        facts = (
            [field.name, _facts(getattr(value, field.name))]
            for field in fields(value)
            if field.compare and not (isinstance(value, Relation) and field.name in _NO_MEANING)
            if field.default is MISSING or getattr(value, field.name) != field.default
        )
        return [*_names_of(value), *facts]
    return repr(value)


def _scalar_facts(value: Expression) -> list[Any]:
    """Return the facts of a scalar, by tags that do not change with the classes."""
    if isinstance(value, Field):
        return ["InputColumn", value.position]
    if isinstance(value, Literal):
        kind = [] if value.type == NULL else [["type", str(value.type)]]
        return ["Constant", ["value", _facts(value.value)], *kind]
    arguments = _facts(value.arguments)
    if value.function.startswith(USER):
        return [value.function, arguments]
    parameters: Any = _facts(value.parameters)
    if value.function == "isin":
        parameters = [sorted(parameters)]
    typed = [["arguments", arguments], ["type", str(value.type)]]
    others = [["parameters", parameters]] if value.parameters else []
    return ["ScalarCall", ["function", repr(value.name)], *typed, *others]


def _names_of(value: Any) -> list[Any]:
    """Return the tag of a relation, with the form of its state if that has changed; the class of another value."""
    if not isinstance(value, Relation):
        return [type(value).__name__]
    return [value.tag] if value.form == 1 else [value.tag, ["form", value.form]]
