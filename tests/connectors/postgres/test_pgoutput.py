"""The decoder of changes, on messages made by hand: no server is needed."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import RowKind
from penstock.connectors.postgres.changes import Decoder
from penstock.connectors.postgres.table_reader import (
    UNCHANGED,
    Malformed,
    RelationMessage,
    TableReader,
    relation_of,
    texts_of,
)
from penstock.connectors.postgres.values import Column, TableRows, lsn_of, milliseconds_of, text_of
from penstock.errors import SourceError

INT, TEXT = 23, 25
OID = 16_400


def name(text: str) -> bytes:
    return text.encode() + b"\0"


def relation(identity: str = "d", columns: Any = (("id", INT, 1), ("s", TEXT, 0))) -> bytes:
    head = b"R" + struct.pack(">I", OID) + name("public") + name("t") + identity.encode()
    fields = b"".join(
        bytes([key]) + name(each) + struct.pack(">Ii", kind, -1) for each, kind, key in columns
    )
    return head + struct.pack(">H", len(columns)) + fields


def row(*texts: str | bytes | None) -> bytes:
    parts = [struct.pack(">H", len(texts))]
    for text in texts:
        if text is None:
            parts.append(b"n")
        elif text is UNCHANGED:
            parts.append(b"u")
        else:
            data = text if isinstance(text, bytes) else text.encode()
            parts.append(b"t" + struct.pack(">I", len(data)) + data)
    return b"".join(parts)


def change(kind: str, **rows: bytes) -> bytes:
    return (
        kind.encode() + struct.pack(">I", OID) + b"".join(k.encode() + v for k, v in rows.items())
    )


def transaction(behind: int, *messages: bytes, at: int = 0) -> list[bytes]:
    begin = b"B" + struct.pack(">QqI", behind - 8, at, 7)
    return [begin, *messages, b"C" + struct.pack(">BQQq", 0, behind - 8, behind, at)]


def reader(found: RelationMessage) -> TableReader:
    return TableReader.of(found, [column.type_oid for column in found.columns], None)


def decoded(messages: list[bytes], start: int = 0, end: int = 10**9) -> Any:
    def truncated(table: str, position: int) -> None:
        raise ValueError(f"{table} at {position}")

    runs = Decoder(reader, truncated).runs(messages, start, end)
    return [
        change for run in runs for change in (run.changes() if isinstance(run, TableRows) else run)
    ]


def test_every_kind_of_change() -> None:
    messages = transaction(
        100,
        relation(),
        change("I", N=row("1", "a")),
        change("U", N=row("1", None)),
        change("U", N=row("1", UNCHANGED)),
        change("U", K=row("1", None), N=row("2", "b")),
        change("D", K=row("2", None)),
        at=1_000_000,
    )
    found = decoded(messages)
    assert [tuple(each[:4]) for each in found] == [
        (RowKind.INSERT, (1,), None, {"id": 1, "s": "a"}),
        (RowKind.UPDATE_AFTER, (1,), None, {"id": 1, "s": None}),
        (RowKind.UPDATE_AFTER, (1,), None, {"id": 1}),
        (RowKind.UPDATE_AFTER, (2,), {"id": 1}, {"id": 2, "s": "b"}),
        (RowKind.DELETE, (2,), {"id": 2}, None),
    ]
    assert {(each.commit_lsn, each.commit_timestamp, each.table) for each in found} == {
        (100, 946_684_801_000, "public.t")
    }
    assert [each.previous_key for each in found] == [None, None, None, (1,), None]


def test_with_the_whole_row_before() -> None:
    full = relation("f", (("id", INT, 1), ("s", TEXT, 1)))
    messages = transaction(9, full, change("U", O=row("1", "long"), N=row("1", UNCHANGED)))
    (found,) = decoded(messages)
    assert found.before == found.after == {"id": 1, "s": "long"}
    assert found.previous_key is None


def test_a_range_has_the_transactions_whose_commits_begin_in_it() -> None:
    messages = [
        each
        for n in (10, 20, 30)
        for each in transaction(
            n, *([relation()] if n == 10 else []), change("I", N=row(str(n), ""))
        )
    ]
    for start in range(35):
        for end in range(start, 35):
            keys = [each.key[0] for each in decoded(messages, start, end)]
            assert keys == [n for n in (10, 20, 30) if start <= n - 8 < end]


def test_a_relation_that_changes_within_a_transaction() -> None:
    later = relation("d", (("id", INT, 1), ("s", TEXT, 0), ("x", INT, 0)))
    messages = transaction(
        9, relation(), change("I", N=row("1", "a")), later, change("I", N=row("2", "b", "3"))
    )
    assert [each.after for each in decoded(messages)] == [
        {"id": 1, "s": "a"},
        {"id": 2, "s": "b", "x": 3},
    ]


def test_what_is_no_change_is_passed_over_and_a_truncate_is_told() -> None:
    others = [
        b"O" + bytes(8) + name("elsewhere"),
        b"Y" + struct.pack(">I", 9) + name("") + name("x"),
    ]
    assert decoded(transaction(9, *others)) == []
    told = b"T" + struct.pack(">IBI", 1, 0, OID)
    with pytest.raises(ValueError, match=r"public\.t at 9"):
        decoded(transaction(9, relation(), told))
    assert decoded(transaction(9, told)) == []


def test_messages_that_are_cut_off() -> None:
    whole = relation()
    for size in range(1, len(whole) - 1):
        with pytest.raises(Malformed):
            relation_of(whole[:size])
    values = row("1", None, "abc")
    for size in range(len(values)):
        with pytest.raises(Malformed):
            texts_of(values[:size], 0)
    with pytest.raises(Malformed, match="form 'x'"):
        texts_of(b"\0\x01x", 0)
    with pytest.raises(Malformed, match="no key"):
        reader(relation_of(whole)).change(change("D", N=row("1", "")), 1, 1)
    with pytest.raises(Malformed, match="no row"):
        reader(relation_of(whole)).change(change("U", K=row("1", None)), 1, 1)


TEXTS = st.one_of(
    st.text(alphabet="tnu7ü", max_size=12),
    st.sampled_from(["", "t" * 116, "x" * 255, "x" * 256, "x" * 300]),
)
ROWS = st.lists(
    st.tuples(st.sampled_from("IU"), st.integers(-(2**31), 2**31 - 1), st.one_of(TEXTS, st.none())),
    min_size=1,
    max_size=20,
)


@given(ROWS, st.booleans())
def test_many_changes_of_a_transaction_are_those_of_its_messages(
    rows: list[tuple[str, int, str | None]], is_short: bool
) -> None:
    if is_short:  # so that they are decoded together
        rows = [(kind, number, (text or "")[:255]) for kind, number, text in rows]
    messages = [change(kind, N=row(str(number), text)) for kind, number, text in rows]
    one_by_one = [
        reader(relation_of(relation())).change(message, 100, milliseconds_of(0))
        for message in messages
    ]
    assert decoded(transaction(100, relation(), *messages)) == one_by_one
    runs = Decoder(reader, lambda *_: None).runs(transaction(100, relation(), *messages), 0, 10**9)
    if is_short and len(rows) >= 8 and all(len((t or "").encode()) < 256 for *_, t in rows):
        assert isinstance(runs[0], TableRows)


def test_one_bad_message_among_many_is_told() -> None:
    good = [change("I", N=row(str(number), "a")) for number in range(20)]
    for bad in (good[0][:-1], change("I", N=row("no", "a"))):
        with pytest.raises((Malformed, SourceError)):
            decoded(transaction(100, relation(), *good[:9], bad, *good[9:]))


@given(st.lists(st.one_of(st.none(), st.just(UNCHANGED), st.text().map(str.encode)), max_size=9))
def test_rows_are_what_was_sent(texts: list[bytes | None]) -> None:
    sent = row(*texts)
    assert texts_of(sent, 0) == (texts, len(sent))


@given(st.integers(0, 2**63 - 1))
def test_positions_are_written_as_postgresql_does(lsn: int) -> None:
    assert lsn_of(text_of(lsn)) == lsn


def test_times_and_relations() -> None:
    assert milliseconds_of(-946_684_800_000_000) == 0
    assert relation_of(relation()) == RelationMessage(
        OID, "public", "t", "d", (Column("id", INT, True), Column("s", TEXT, False))
    )
