"""How the values of a type are stored: the results of `create_serializer` and its sibling."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class StoredForm(Enum):
    """The format of stored values."""

    PLAIN = "plain"
    """Values in a pickle: rows as tuples, every other value unchanged."""

    CODED = "coded"
    """Coded rows: a tag before each field, numbers of variable length (CodedRowData 4.2)."""


@dataclass(frozen=True, slots=True)
class ValueSerializer:
    """Names the format in which state backends store values of a type.

    Attributes:
        type_info: The type.
        form: Format of its values in snapshots and in the change log.
    """

    type_info: Any
    form: StoredForm
