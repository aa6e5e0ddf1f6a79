"""How the values of a type are stored: what `create_serializer` and its sibling answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class StoredForm(Enum):
    """What stored values look like."""

    PLAIN = "plain"
    """Plain values in a pickle: rows as tuples, all else as it is."""

    CODED = "coded"
    """Coded rows: fields behind tags, numbers of variable length (CodedRowData 4.2)."""


@dataclass(frozen=True, slots=True)
class ValueSerializer:
    """Says how values of a type are stored; state backends do it.

    Attributes:
        type_info: The type.
        form: What its values look like in snapshots and in the change log.
    """

    type_info: Any
    form: StoredForm
