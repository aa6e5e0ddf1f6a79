"""Serializers of the types that `Types` makes, and the forms in which they store values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import Any, Generic

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


class StoredForm(Enum):
    """The format of stored values."""

    PLAIN = "plain"
    """Values in a pickle: rows as tuples, every other value unchanged."""

    CODED = "coded"
    """Coded rows: a tag before each field, numbers of variable length (CodedRowData 4.2)."""


Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]
"""(value in the declared form to bytes, the inverse)."""

_CODECS: dict[StoredForm, Callable[[Any], Codec]] = {}


def provide_codec(form: StoredForm, make: Callable[[Any], Codec]) -> None:
    """Provide the codec of a form; the modules that have it stand above the types."""
    _CODECS[form] = make


def codec_of(type_info: Any, form: StoredForm) -> Codec:
    """Return the codec of a type in a form."""
    return _CODECS[form](type_info)


@dataclass(frozen=True, slots=True)
class ValueSerializer(TypeSerializer[Any]):
    """Writes and reads values of a type of `Types` as state backends store them.

    Attributes:
        form: Format of its values in snapshots and in the change log.

    Example:
        >>> from penstock.common import Types
        >>> stream = BytesIO()
        >>> Types.TUPLE([Types.LONG()]).create_var_len_serializer().serialize([-1], stream)
        >>> stream.getvalue().hex(" ")
        '08 01'
        >>> Types.TUPLE([Types.LONG()]).create_var_len_serializer().deserialize(BytesIO(stream.getvalue()))
        (-1,)
    """

    type_info: Any
    form: StoredForm

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Write the declared form of `element`."""
        encode, _ = codec_of(self.type_info, self.form)
        stream.write(encode(self.type_info.coerce(element)))

    def deserialize(self, stream: BytesIO) -> Any:
        """Return the value whose bytes are the rest of `stream`."""
        _, decode = codec_of(self.type_info, self.form)
        return decode(stream.read())


def stored_form(serializer: TypeSerializer[Any]) -> StoredForm:
    """Return the form of a serializer's values inside other values; bytes of a program's own serializer are plain."""
    return serializer.form if isinstance(serializer, ValueSerializer) else StoredForm.PLAIN
