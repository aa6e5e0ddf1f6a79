"""Serializers of the types that `Types` makes, and the forms in which they store values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import Any

from penstock.types.type_serializer import TypeSerializer


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
