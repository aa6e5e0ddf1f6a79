"""Addresses of declared keys: equal keys have equal bytes, and come back from them where they can.

Keys that only equal one of the declared form, and keys of other types, are among them: an earlier
version of a program may have stored them. That backends agree is tested in `test_coded_state`.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.datastream.connectors import DiscardingSink
from penstock.errors import KeyTypeError
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import StateFormat
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.key_coder import ANY_KEYS, key_coder
from penstock.testing import Schedule, run_in_process
from penstock.testing.live_run import MemoryLog
from penstock.types import Row, RowKind, TypeInformation, Types
from penstock.wire.canonical.key_bytes import MAX_KEY_BYTES, encode_key
from tests.runtime.jobs import STREAMING, environment
from tests.types.random_types import exact
from tests.types.type_strategies import values_of

LONG, STRING = Types.LONG(), Types.STRING()
PAIR = Types.TUPLE([Types.INT(), STRING])
PLACE = Types.ROW_NAMED(["id", "region"], [LONG, STRING])
NESTED = Types.ROW_NAMED(["place", "pair"], [PLACE, PAIR])
TYPES = st.sampled_from([PAIR, PLACE, NESTED])

_LIKE_NUMBERS = st.sampled_from(
    [1, True, 1.0, Decimal(1), 1 + 0j, 1.5, float("inf"), 1 << 40, 1 << 70, None, "1"]
)
_LIKE_TEXT = st.sampled_from(["", "a", "\ud83d", "é" * 130, b"a", 1, None])
_ALIKE = st.one_of(
    st.sampled_from(
        [
            Row(place=Row(id=number, region="a"), pair=pair)
            for number in (1, True)
            for pair in ((1, "a"), (1.0, "a"))
        ]
    ),
    st.tuples(_LIKE_NUMBERS, _LIKE_TEXT),
    st.builds(lambda id, region: Row(id=id, region=region), _LIKE_NUMBERS, _LIKE_TEXT),  # noqa: A006
    st.builds(lambda id, region: Row(region=region, id=id), _LIKE_NUMBERS, _LIKE_TEXT),  # noqa: A006
    st.builds(Row, _LIKE_NUMBERS, _LIKE_TEXT),
    st.builds(Row.of_kind, st.sampled_from(RowKind), _LIKE_NUMBERS),
    _LIKE_NUMBERS,
)


def keys_of(key_type: TypeInformation) -> st.SearchStrategy[Any]:
    return values_of(key_type) | _ALIKE


@settings(max_examples=150)
@given(st.data(), TYPES)
def test_equal_keys_and_only_those_have_equal_bytes(
    data: st.DataObject, key_type: TypeInformation
) -> None:
    one, other = data.draw(keys_of(key_type)), data.draw(keys_of(key_type))
    coder = key_coder(key_type)
    assert (coder.encode(one) == coder.encode(other)) is (one == other)
    assert len(coder.encode(one)) <= MAX_KEY_BYTES


@settings(max_examples=150)
@given(st.data(), TYPES)
def test_decodable_keys_come_back(data: st.DataObject, key_type: TypeInformation) -> None:
    key = data.draw(keys_of(key_type))
    coder = key_coder(key_type)
    encoded = coder.encode(key)
    if coder.is_decodable(key, encoded):
        assert exact(coder.decode(encoded)) == exact(key)


@given(TYPES.flatmap(lambda each: st.tuples(st.just(each), values_of(each))))
@example((PLACE, Row(id=1, region="x" * 240)))
def test_keys_of_the_declared_form_are_decodable_unless_they_are_long(
    typed: tuple[TypeInformation, Any],
) -> None:
    key_type, key = typed
    coder = key_coder(key_type)
    encoded = coder.encode(key)
    assert coder.is_decodable(key, encoded) is (encoded[:1] == b"\x50")
    assert (encoded[:1] == b"\x50") is (len(repr(key).encode("utf-8", "backslashreplace")) < 200)


GOLDEN = [
    (PLACE, Row(id=7, region="eu"), "50 08 0e 12 02 65 75"),
    (PLACE, Row(region="eu", id=7.0), "50 08 0e 12 02 65 75"),
    (PLACE, Row.of_kind(RowKind.DELETE, id=7, region=None), "50 08 0e f8 ff ff ff 0f 03"),
    (PAIR, (-1, "a"), "50 08 01 12 01 61"),
    (PAIR, (1 << 40, "a"), encode_key((1 << 40, "a")).hex(" ")),
    (PLACE, Row(7, "eu"), encode_key(Row(7, "eu")).hex(" ")),
]


@pytest.mark.parametrize(("key_type", "key", "golden"), GOLDEN)
def test_golden_addresses(key_type: TypeInformation, key: Any, golden: str) -> None:
    assert key_coder(key_type).encode(key).hex(" ") == golden


@pytest.mark.parametrize(
    "key_type",
    [
        None,
        LONG,
        STRING,
        Types.TUPLE([LONG, Types.DOUBLE()]),
        Types.ROW([Types.BOOLEAN()]),
        Types.ROW([Types.SQL_TIMESTAMP()]),
        Types.TUPLE([Types.LIST(LONG)]),
    ],
)
def test_other_types_keep_the_bytes_of_any_key(key_type: TypeInformation | None) -> None:
    assert key_coder(key_type) is ANY_KEYS


def test_what_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(KeyTypeError):
        key_coder(PAIR).encode([1, "a"])


# CodedRowData, rule 4.
@pytest.mark.parametrize("coded", [True, False])
def test_a_copy_with_coded_keys_does_not_store_them_twice(tmp_path: Path, coded: bool) -> None:
    backend = LmdbBackend(tmp_path, "job")
    backend.format = StateFormat(coded_rows=coded)
    backend.declare_keys("op", PLACE)
    part = backend.table("op", "n", StateSchema(StateKind.VALUE, LONG))
    log = ChangeLog(storage := MemoryLog())
    backend.catch_up(log)
    part[0].put(Row(id=7, region="eu"), 1)
    backend.written(log.append(backend.drain(), b"").position)
    backend.catch_up(ChangeLog(storage))
    assert part[0].keys() == [Row(id=7, region="eu")]  # which applies it to the file
    view = backend._view
    assert view is not None
    ((raw, stored),) = view.scan(b"")
    assert (raw[6:].hex(" ") == "50 08 0e 12 02 65 75") is coded
    assert (b"region" in raw + stored) is not coded
    backend.close()


def _declared(monkeypatch: pytest.MonkeyPatch, build: Any) -> set[TypeInformation]:
    """Return the types of keys that the operators of a job tell their backend."""
    found: set[TypeInformation] = set()
    declare = LmdbBackend.declare_keys

    def spy(self: LmdbBackend, operator: str, key_type: TypeInformation) -> None:
        found.add(key_type)
        declare(self, operator, key_type)

    monkeypatch.setattr(LmdbBackend, "declare_keys", spy)
    env = environment(STREAMING)
    numbers = env.from_collection([(1, "a")], Types.TUPLE([LONG, STRING]))
    build(numbers).sink_to(DiscardingSink())
    run_in_process(env, Schedule(backend="lmdb"))
    return found


def _itself(value: Any) -> Any:
    return value


def test_operators_tell_the_type_of_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Types.TUPLE([LONG, STRING])
    by_type = _declared(monkeypatch, lambda s: s.key_by(_itself, pair).reduce(lambda a, _: a))
    assert by_type == {pair}
    assert _declared(monkeypatch, lambda s: s.key_by(_itself).reduce(lambda a, _: a)) == set()
    joined = _declared(
        monkeypatch,
        lambda s: s.join(s).where(_itself, pair).equal_to(_itself).inner(),
    )
    assert joined == {pair}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.lists(st.integers(0, 9), max_size=4)),
        max_size=8,
    )
)
def test_timers_of_coded_keys_fire_in_order(steps: list[tuple[int, bool, list[int]]]) -> None:
    # The last two are equal to the declared form, and are kept beside their bytes.
    keys = [Row(id=1, region="a"), Row(id=1, region=None), Row(region="é", id=2.0), Row(7, "a")]
    with TemporaryDirectory() as folder:
        backend = LmdbBackend(Path(folder), "job")
        backend.format = StateFormat(coded_rows=True)
        backend.declare_keys("op", PLACE)
        timers = backend.timers("op", "t")
        storage = MemoryLog()
        expected: set[tuple[int, int]] = set()
        for which, adds, times in steps:
            log = ChangeLog(storage)
            backend.catch_up(log)
            for time in times:
                (timers.add if adds else timers.remove)(0, keys[which], time)
                (expected.add if adds else expected.discard)((time, which))
            backend.written(log.append(backend.drain(), b"").position)
        backend.catch_up(ChangeLog(storage))
        fired = []
        while (due := timers.pop_due(5)) is not None:
            fired.append((due[0], keys.index(due[2])))
        assert [time for time, _ in fired] == sorted(time for time, _ in expected if time <= 5)
        assert set(fired) == {each for each in expected if each[0] <= 5}
        backend.close()
