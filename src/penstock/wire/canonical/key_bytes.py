"""Keys as bytes: equal keys have equal bytes, unequal keys unequal ones.

Equality is Python's, as in `penstock.wire.canonical.key_encodings`, which defines the classes of keys: 1, 1.0
and True are one key, and so are two rows with the same names in another order.

The first byte is the kind of the key. Equal numbers have equal bytes, whatever their type:

    int                   12  four bytes, 11 or 13  eight bytes, 10 or 14  length and the rest
    not whole             16  IEEE double if exact, else 17  numerator, denominator; 18  complex
    None, str, bytes      01, 20, 21
    tuple, Row, frozenset 30, 31 or 32 (with names), 33
    dataclass, enum       34, 35 with module and name of the class
    list                  36
    dates and times       40 to 45      UUID 46
    ambiguous or missing  47 with the zone: it equals a time of the same zone only
    time of a zone
    longer than 240       7f  BLAKE2b digest of the bytes

    1 = True = 1.0        12 80 00 00 01
    ("a", 1)              30 02 20 61 05 12 80 00 00 01

Ints, and numbers equal to them, sort like their bytes. `int`, `str`, `bytes`, None and tuples of
exactly these can be decoded from their bytes (`is_decodable`, `decode_key`); other keys are stored
beside their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from penstock.errors import DecodeError
from penstock.wire.canonical.key_encodings import (
    BIG_NEGATIVE,
    BIG_POSITIVE,
    BYTES,
    HALF_32,
    HALF_64,
    NAMES,
    NEGATIVE,
    NONE,
    POSITIVE,
    SMALL,
    STR,
    TUPLE,
    bytes_of,
    pack_small,
)

MAX_KEY_BYTES = 240
"""Greatest number of bytes of a key."""

_DIGEST = b"\x7f"
_DIGEST_BYTES = 32
_read_u32 = struct.Struct(">I").unpack_from
_read_u64 = struct.Struct(">Q").unpack_from


def encode_key(key: Any) -> bytes:
    """Return the bytes of `key`, `MAX_KEY_BYTES` at most.

    Examples:
        >>> encode_key(1) == encode_key(1.0) == encode_key(True)
        True
        >>> encode_key(("a", 1)).hex(" ")
        '30 02 20 61 05 12 80 00 00 01'
    """
    kind = type(key)
    # Nearly all keys have one of these two classes, and every address of state contains a key.
    if kind is int and -HALF_32 <= key < HALF_32:
        return pack_small(SMALL, key + HALF_32)
    encoded = STR + key.encode("utf-8", "surrogatepass") if kind is str else bytes_of(key)
    if len(encoded) <= MAX_KEY_BYTES:
        return encoded
    return _DIGEST + blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def kind_of_key(key: Any) -> str | None:
    """Return the kind of a key, which equal keys share; None for the key None.

    Examples:
        >>> kind_of_key(1), kind_of_key(1.0), kind_of_key(("a",))
        ('number', 'number', 'tuple')
    """
    return NAMES[bytes_of(key)[0]]


def is_decodable(key: Any, encoded: bytes) -> bool:
    """Return whether `decode_key(encoded)`, where `encoded` are the bytes of `key`, returns `key`.

    The types must be equal too: the bytes of True decode to 1.
    """
    return encoded[:1] != _DIGEST and _is_exact(key)


def decode_key(encoded: bytes) -> Any:
    """Return the decodable key with these bytes."""
    decoder = _DECODERS.get(encoded[:1])
    if decoder is None:
        raise _malformed(encoded)
    try:
        return decoder(encoded)
    except (struct.error, UnicodeDecodeError, IndexError) as cause:
        raise _malformed(encoded) from cause


def _is_exact(key: Any) -> bool:
    return type(key) in _EXACT or (type(key) is tuple and all(map(_is_exact, key)))


_EXACT = frozenset({int, str, bytes, type(None)})


def _decode_small(encoded: bytes) -> int:
    return int(_read_u32(encoded, 1)[0]) - HALF_32


def _decode_large(encoded: bytes) -> int:
    return int(_read_u64(encoded, 1)[0]) - HALF_64


def _decode_big(encoded: bytes) -> int:
    number = int.from_bytes(encoded[5:], "big")
    return number if encoded[0] == BIG_POSITIVE else number - (1 << 8 * (len(encoded) - 5))


def _decode_tuple(encoded: bytes) -> tuple[Any, ...]:
    parts: list[Any] = []
    offset = 1  # an item too long for a length of one byte only occurs in digests
    while offset < len(encoded):
        size = encoded[offset]
        offset += 1
        if offset + size > len(encoded):
            raise _malformed(encoded)
        parts.append(decode_key(encoded[offset : offset + size]))
        offset += size
    return tuple(parts)


_DECODERS: dict[bytes, Callable[[bytes], Any]] = {
    bytes((NONE,)): lambda _: None,
    bytes((SMALL,)): _decode_small,
    bytes((NEGATIVE,)): _decode_large,
    bytes((POSITIVE,)): _decode_large,
    bytes((BIG_NEGATIVE,)): _decode_big,
    bytes((BIG_POSITIVE,)): _decode_big,
    STR: lambda encoded: encoded[1:].decode("utf-8", "surrogatepass"),
    BYTES: lambda encoded: encoded[1:],
    TUPLE: _decode_tuple,
}


def _malformed(encoded: bytes) -> DecodeError:
    return DecodeError(
        f"the bytes {encoded.hex(' ')} are not those of a key",
        hint="Rebuild the state from its log: the bytes are damaged or of another version.",
    )
