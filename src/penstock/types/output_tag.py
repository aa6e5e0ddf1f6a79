"""`OutputTag`: the name and type of a side output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation
from penstock.types.type_parameters import T
from penstock.types.types import Types


# Without slots: `OutputTag[int](…)` stores its parameters in the instance.
@dataclass(frozen=True)
class OutputTag(Generic[T]):
    """Names a side output. A process function yields `(tag, value)` to emit to it.

    Tags with equal ids are equal; the type is that of the side stream.

    Attributes:
        tag_id: Not blank; unique in the operator.
        type_info: Type of the values; any object if not given.
    """

    tag_id: str
    type_info: TypeInformation[T] = field(default_factory=Types.PICKLED_BYTE_ARRAY, compare=False)

    def __post_init__(self) -> None:
        """Check."""
        if not isinstance(self.tag_id, str) or not self.tag_id.strip():
            raise ArgumentError.here(
                f"an OutputTag cannot be called {self.tag_id!r}",
                hint="Pass a string that is not blank.",
            )
        if self.type_info is None:
            object.__setattr__(self, "type_info", Types.PICKLED_BYTE_ARRAY())
        if not isinstance(self.type_info, TypeInformation):
            raise ArgumentError.here(
                f"OutputTag {self.tag_id!r} got {self.type_info!r} as a type",
                hint="Call a factory of Types, with its parentheses: Types.INT().",
            )
