"""Types from annotations, so that annotated functions need no declared type.

They are not enforced.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation
from penstock.types.scalars import PickledBytesTypeInfo


@dataclass(frozen=True, slots=True, repr=False)
class InferredTypeInfo(PickledBytesTypeInfo):
    """Any Python object; an annotation describes its type.

    Values are pickled, neither coerced nor checked: a program with a wrong annotation works, and an
    object of the user's class keeps its class. A reader that needs a type, such as a file sink with
    columns, coerces values to `described`; a value that does not fit is an error there.

    Attributes:
        described: The type that the annotation describes.
    """

    described: TypeInformation

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ArgumentError: `described` is no type.
        """
        if not isinstance(self.described, TypeInformation):
            raise ArgumentError(
                f"an inferred type got {self.described!r}, which is no type",
                hint="Call the factory, e.g. Types.LONG().",
            )

    def __repr__(self) -> str:
        return f"Inferred({self.described!r})"


def described(type_info: TypeInformation) -> TypeInformation:
    """Return the described type of an inferred type, else the type itself."""
    return type_info.described if isinstance(type_info, InferredTypeInfo) else type_info


def enforced(type_info: TypeInformation) -> TypeInformation:
    """Return the type that values certainly have: any object for an inferred type, else itself."""
    return PickledBytesTypeInfo() if isinstance(type_info, InferredTypeInfo) else type_info


def common_type(types: list[TypeInformation]) -> TypeInformation | None:
    """Return the type of a union of streams of `types`, None if they have none in common.

    Inferred types always have a common type; it is inferred too if they agree.
    """
    first = types[0]
    if all(other == first for other in types):
        return first
    held = enforced(first)
    return held if all(enforced(other) == held for other in types) else None
