"""`TypeSerializer`, which window assigners of PyFlink return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic

from penstock.types.type_parameters import T


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type, and reads them back.

    Penstock has its own formats of windows, state and records, and calls no `TypeSerializer`. The class
    exists so that assigners that return one, and annotations that name it, need no change.

    Example:
        >>> class Text(TypeSerializer):
        ...     def serialize(self, element, stream):
        ...         stream.write(element.encode())
        ...     def deserialize(self, stream):
        ...         return stream.read().decode()
        >>> stream = BytesIO()
        >>> Text().serialize("abc", stream)
        >>> Text().deserialize(BytesIO(stream.getvalue()))
        'abc'
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write `element`."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Return the next element of `stream`."""
