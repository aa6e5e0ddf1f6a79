"""`TypeSerializer`: values of a type to bytes and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic

from penstock.errors import StateMigrationError
from penstock.types.type_parameters import T


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type, and reads them back.

    A type of the program returns one from `TypeInformation.create_serializer`. State of that type, also inside
    rows, tuples, lists and maps, is then stored as these bytes, and records of that type are sent as them. Each call gets a stream of its own, which
    holds one value and nothing else; None is stored without a call.

    Snapshots record `version`. When a program whose serializer has another version starts from a snapshot,
    `restore` returns the serializer of the stored bytes, and values are written again in the version of the program.

    A window assigner may return one too, as in PyFlink; windows have a format of their own and do not call it.

    Attributes:
        version: Version of the bytes, 1 or more.

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

    version: int = 1

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write `element`."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Return the next element of `stream`."""

    def restore(self, version: int) -> TypeSerializer[T]:
        """Return the serializer of bytes that an older or newer version wrote.

        Args:
            version: Their version, never that of this serializer.

        Raises:
            StateMigrationError: Such bytes cannot be read; by default no other version can.
        """
        raise StateMigrationError(
            f"{type(self).__name__} of version {self.version} does not read version {version}",
            hint="Override `restore`, or keep the new type in a state with a new name.",
        )
