"""How records of one key are combined before they are exchanged, as a frozen value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import CallSite
from penstock.types.information import TypeInformation


@dataclass(frozen=True, slots=True)
class ColumnCombine:
    """How the records of a key are combined where they are still columns.

    Attributes:
        key: Name of the column of keys.
        field: Name of the column that is aggregated.
        how: `sum`, `min` or `max`.
        names: Of all columns: these two, in order.
    """

    key: str
    field: str
    how: str
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class CombineSpec:
    """What the sender of a channel does with records that its reader would reduce.

    Attributes:
        function: (value, value) to value: the reader's own.
        result_type: Type its results are brought to; None leaves them as they are.
        name: Of the reader, for messages.
        uid: Of the reader, for metrics.
        origin: The user's line that created the reader.
        memory_bytes: What combined records may take in a task before they are sent.
        regroups: The function may be called for other groups of records than the program says.
            Else records leave one by one, with their keys.
        columns: Sources whose columns may be combined before records are made of them, and how.
    """

    function: Callable[[Any, Any], Any]
    result_type: TypeInformation | None
    name: str
    uid: str
    origin: CallSite | None
    memory_bytes: int = 256 << 20
    regroups: bool = True
    columns: tuple[tuple[int, ColumnCombine], ...] = ()
