"""State blobs: what goes in comes out, in pieces of bounded size, and damage is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.log import blob as blob_module
from penstock.state.log.blob import (
    Section,
    decode_blob,
    encode_blob,
    encode_blobs,
    key_group_of,
    operator_of,
)

SCHEMA = '{"kind":"value","subkey":null,"ttl":false,"value":"Long"}'
EXAMPLE = Section("count", SCHEMA, ["a"], None, [3], ["b"])
nested_sections = st.builds(
    lambda puts, removed, cleared: Section(
        "m",
        SCHEMA,
        [k for k, _, _ in puts],
        [s for _, s, _ in puts],
        [v for _, _, v in puts],
        [k for k, _ in removed],
        [s for _, s in removed],
        cleared,
    ),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.text(max_size=40)), max_size=30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=10),
    st.lists(st.integers(0, 3), max_size=3),
)


def test_golden_bytes_of_a_blob():
    blob = encode_blob("agg", 7, [EXAMPLE])
    assert blob.hex() == (
        "50535333"
        "bed3403a"
        "07000000"
        "0300"
        "616767"
        "43000000"
        "01397b226b696e64223a2276616c7565222c227375626b6579223a6e756c6c2c2274746c223a66616c73652c"
        "2276616c7565223a224c6f6e67227d0105636f756e7400"
        "00"
        "8005951e000000000000005d94285d948c016194614e5d944b03615d948c016294614e5d947494612e"
    )
    assert decode_blob(blob) == [EXAMPLE]


def test_blobs_before_the_first_release_are_refused():
    for magic in (b"PSS1", b"PSS2"):
        with pytest.raises(StateError, match="does not start like one"):
            decode_blob(magic + encode_blob("agg", 7, [EXAMPLE])[4:])


def test_header_is_read_without_the_entries():
    blob = encode_blob("größe", 300, [])
    assert (operator_of(blob), key_group_of(blob)) == ("größe", 300)


def test_sections_come_back():
    nested = Section("m", SCHEMA, ["k", "k"], [1, 2], ["x", "y"], ["k"], [3], ["old"])
    assert decode_blob(encode_blob("agg", 7, [EXAMPLE, nested])) == [EXAMPLE, nested]


def test_equal_sections_make_equal_blobs():
    again = Section("".join("count"), "".join(SCHEMA), ["a"], None, [3], ["b"])
    assert encode_blob("agg", 7, [EXAMPLE]) == encode_blob("agg", 7, [again])


@given(st.data(), st.integers(1, 255))
def test_every_damaged_byte_is_noticed(data, flipped):
    blob = bytearray(encode_blob("agg", 7, [EXAMPLE]))
    blob[data.draw(st.integers(0, len(blob) - 1))] ^= flipped
    with pytest.raises(StateError) as caught:
        decode_blob(bytes(blob))
    assert caught.value.code == "STATE"


@pytest.mark.parametrize("size", range(20))
def test_a_blob_cut_short_is_noticed(size):
    with pytest.raises(StateError):
        decode_blob(encode_blob("agg", 7, [])[:size])


def apply(sections: list[Section], entries: dict[tuple[object, object], object]) -> None:
    """What applying means, by definition."""
    for section in sections:
        for key in section.cleared:
            for address in [a for a in entries if a[0] == key]:
                del entries[address]
        subkeys = section.subkeys or [None] * len(section.keys)
        entries.update(zip(zip(section.keys, subkeys, strict=True), section.values, strict=True))
        removed = section.removed_subkeys or [None] * len(section.removed)
        for address in zip(section.removed, removed, strict=True):
            entries.pop(address, None)


@given(
    section=nested_sections,
    before=nested_sections,
    max_bytes=st.integers(150, 900),
    max_entries=st.integers(1, 20),
)
def test_small_blobs_amount_to_the_large_one(section, before, max_bytes, max_entries):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blob_module, "BLOB_BYTES", max_bytes)
        patch.setattr(blob_module, "_ENTRIES_PER_BLOB", max_entries)
        blobs = list(encode_blobs("op", 1, [before, section]))
    small: dict[tuple[object, object], object] = {}
    for blob in blobs:
        found = decode_blob(blob)
        assert len(blob) <= max_bytes or (len(found) == 1 and len(found[0]) == 1)
        apply(found, small)
    whole: dict[tuple[object, object], object] = {}
    apply([before, section], whole)
    assert small == whole


def test_a_value_that_does_not_pickle_names_its_state():
    broken = Section("count", SCHEMA, ["a"], None, [lambda: 1])
    with pytest.raises(StateError, match="agg/count"):
        encode_blob("agg", 1, [broken])
