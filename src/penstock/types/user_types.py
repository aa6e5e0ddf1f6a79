"""Types that a program declares: their name in snapshots, and the codec that their serializer makes."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from penstock.errors import ArgumentError, StateError
from penstock.types.base import TypeInformation
from penstock.types.value_serializer import TypeSerializer, ValueSerializer
from penstock.user_failure import raise_interrupt, words_of


@dataclass(frozen=True, slots=True)
class StoredUserType(TypeInformation[bytes]):
    """A program's type as a snapshot names it; the class may be gone. Its values are the stored bytes.

    Attributes:
        name: `repr` of the type, or its class's name if that has no `repr` of its own.
    """

    name: str
    version: int

    def coerce(self, value: Any) -> Any:
        """Return `value`, which is bytes."""
        return value


@dataclass(frozen=True, slots=True)
class ByteCodec:
    """Values of a program's type to bytes and back."""

    name: str
    serializer: TypeSerializer[Any]

    def encode(self, value: Any) -> bytes | None:
        """Return the bytes of a value; None stays None."""
        if value is None:
            return None
        stream = BytesIO()
        try:
            self.serializer.serialize(value, stream)
        except BaseException as cause:
            raise_interrupt(cause)
            raise _failed(
                f"{value!r:.200} of type {self.name} was not serialized", cause
            ) from cause
        return stream.getvalue()

    def decode(self, stored: bytes | None) -> Any:
        """Return the value of some bytes; None stays None."""
        if stored is None:
            return None
        try:
            return self.serializer.deserialize(BytesIO(stored))
        except BaseException as cause:
            raise_interrupt(cause)
            what = f"{len(stored)} bytes of type {self.name} were not deserialized"
            raise _failed(what, cause) from cause


def user_type_of(type_info: TypeInformation) -> StoredUserType:
    """Return the stored form of a program's type."""
    if isinstance(type_info, StoredUserType):
        return type_info
    version = user_codec(type_info).serializer.version
    return StoredUserType(_name_of(type_info), version)


def user_codec(type_info: TypeInformation) -> ByteCodec:
    """Return the codec of a program's type."""
    serializer = type_info.create_serializer()
    if isinstance(serializer, ValueSerializer):
        raise ArgumentError(
            f"values of {type_info!r} have no stored form",
            hint="Use one of the types that `Types` makes, or override `create_serializer`.",
        )
    return ByteCodec(_name_of(type_info), serializer)


def _name_of(type_info: TypeInformation) -> str:
    has_repr = type(type_info).__repr__ is not object.__repr__
    return repr(type_info) if has_repr else type(type_info).__qualname__


def _failed(what: str, cause: BaseException) -> StateError:
    return StateError(
        f"{what}: {words_of(cause)}",
        hint="Correct the `TypeSerializer` that `create_serializer` of the type returns.",
    )
