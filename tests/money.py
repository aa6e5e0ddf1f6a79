"""A type of a program: amounts that pickle refuses, with serializers in two versions."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from penstock.common import TypeInformation, TypeSerializer


class Money:
    """An amount that pickle refuses, so that only its serializer can have stored it."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and other.cents == self.cents

    def __hash__(self) -> int:
        return hash(self.cents)

    def __reduce__(self) -> Any:
        raise TypeError("money is not pickled")

    def __repr__(self) -> str:
        return f"Money({self.cents})"

    def __deepcopy__(self, memo: Any) -> Money:
        return Money(self.cents)


class Cents(TypeSerializer[Money]):
    """Version 1: four bytes."""

    def serialize(self, element: Money, stream: BytesIO) -> None:
        stream.write(struct.pack("<i", element.cents))

    def deserialize(self, stream: BytesIO) -> Money:
        return Money(struct.unpack("<i", stream.read())[0])


class WideCents(TypeSerializer[Money]):
    """Version 2: eight bytes; it reads version 1."""

    version = 2

    def serialize(self, element: Money, stream: BytesIO) -> None:
        stream.write(struct.pack("<q", element.cents))

    def deserialize(self, stream: BytesIO) -> Money:
        return Money(struct.unpack("<q", stream.read())[0])

    def restore(self, version: int) -> TypeSerializer[Money]:
        return Cents() if version == 1 else super().restore(version)


@dataclass(frozen=True)
class MoneyType(TypeInformation[Money]):
    """The type of amounts; only its name and currency are part of its `repr`."""

    currency: str
    wide: bool = False

    def __repr__(self) -> str:
        return f"MoneyType({self.currency})"

    def coerce(self, value: Any) -> Money:
        if not isinstance(value, Money):
            raise ValueError(f"{value!r} is no amount")
        return value

    def create_serializer(self, config: Any = None) -> TypeSerializer[Money]:
        return WideCents() if self.wide else Cents()
