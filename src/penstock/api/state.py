"""State descriptors and state handles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.types import TypeInformation, Types


@dataclass(frozen=True, slots=True)
class ValueStateDescriptor:
    """Names one value per key.

    Attributes:
        name: Identity of the state within its operator.
        value_type_info: Type of the value.
    """

    name: str
    value_type_info: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)

    def get_name(self) -> str:
        """Return the name."""
        return self.name


class ValueState(Protocol):
    """One value per key; all methods are about the current key.

    What `value` returns is the stored object, not a copy: call `update` after changing it,
    or the change is lost at the next restart.
    """

    def value(self) -> Any:
        """Return the value, None if there is none."""

    def update(self, value: Any) -> None:
        """Set the value; None removes it."""

    def clear(self) -> None:
        """Remove the value."""
