"""The type a function's annotation describes, without enforcing it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation
from penstock.types.scalars import PickledBytesTypeInfo


@dataclass(frozen=True, slots=True, repr=False)
class InferredTypeInfo(PickledBytesTypeInfo):
    """Any Python object, moved by pickle, that is said to fit a type.

    Annotations may be wrong, and the program works all the same, so values are neither changed
    nor checked: an object of the user's class stays one. Only what cannot do without a type, such
    as a file with columns, brings values to `described`; a value that does not fit is an error
    there.

    Attributes:
        described: What the annotation says.
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
    """Return what is known of values: the described type if it is inferred, else itself."""
    return type_info.described if isinstance(type_info, InferredTypeInfo) else type_info


def enforced(type_info: TypeInformation) -> TypeInformation:
    """Return what holds for values: any object if the type is inferred, else itself."""
    return PickledBytesTypeInfo() if isinstance(type_info, InferredTypeInfo) else type_info


def common_type(types: list[TypeInformation]) -> TypeInformation | None:
    """Return the type of records that come from streams of `types`, None if there is none.

    Streams of inferred types may always come together; what was inferred is kept if they agree.
    """
    first = types[0]
    if all(other == first for other in types):
        return first
    held = enforced(first)
    return held if all(enforced(other) == held for other in types) else None
