"""The directory of blobs: what is written comes out, equal names make equal bytes, and bytes that are
none are refused. Can find: a name or number lost between sections, bytes that depend on which objects
the names are, damage that escapes as another error than ours."""

from __future__ import annotations

from contextlib import suppress
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DecodeError, StateError
from penstock.state.log.blob import (
    Section,
    decode_blob,
    decode_directory,
    directory_of,
    encode_blob,
    encode_directory,
)

LONG = '{"kind":"value","subkey":null,"ttl":false,"value":"Long"}'
_NAMES = st.text(st.characters(), max_size=200)
_STATES = st.lists(st.tuples(_NAMES, st.sampled_from([LONG, "{}", "ß" * 90])))


def test_golden_bytes_of_a_directory():
    directory = ("count", LONG), ("sum", LONG)
    written = b"\x01\x39" + LONG.encode() + b"\x02\x05count\x00\x03sum\x00"
    assert encode_directory(directory) == written
    assert decode_directory(written) == directory


@given(_STATES)
def test_directories_come_back(states):
    encoded = encode_directory(tuple(states))
    again = tuple(("".join(list(state)), "".join(list(schema))) for state, schema in states)
    assert encode_directory.__wrapped__(again) == encoded
    assert decode_directory.__wrapped__(encoded) == again


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_a_directory_or_refused(data):
    with suppress(DecodeError):
        decode_directory(data)


def test_a_directory_cut_short_or_with_something_behind_is_refused():
    whole = encode_directory((("count", LONG), ("größe", "{}")))
    for wrong in (whole + b"\0", *(whole[:cut] for cut in range(len(whole)))):
        with pytest.raises(DecodeError):
            decode_directory(wrong)


class Unreadable:
    """What only decoding it finds out about."""

    def __reduce__(self):
        return int, ("none",)


def test_a_directory_is_read_without_the_entries():
    removed = Section("gone", "{}", [], None, [], ["a", "b"])
    blob = encode_blob("op", 1, [Section("s", LONG, [1, 2], None, [Unreadable()] * 2), removed])
    assert directory_of(blob) == (("s", LONG), ("gone", "{}"))
    with pytest.raises(StateError, match="cannot be read"):
        decode_blob(blob)


def test_a_blob_with_another_directory_is_damaged():
    whole = encode_blob("op", 1, [Section("s", LONG, [1, 2], None, [3, 4])])
    directory = encode_directory((("s", LONG),))
    for other in (encode_directory(()), directory[:-1], directory + b"\0"):
        size, new = (len(each).to_bytes(4, "little") for each in (directory, other))
        covered = whole[8:].replace(size + directory, new + other)
        assert covered != whole[8:]
        checksum = crc32(covered, crc32(b"PSS3")).to_bytes(4, "little")
        with pytest.raises(StateError, match="directory"):
            decode_blob(b"PSS3" + checksum + covered)
