"""State written by earlier versions is still read, by both backends, with old and evolved types."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Types
from penstock.datastream import ValueStateDescriptor
from penstock.errors import StateMigrationError
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.testing.live_run import MemoryLog
from tests.golden.content import DESCRIPTORS, GROUPS, KEYS, RULES, entries, profile, timers

VERSIONS = sorted(path.parent for path in Path(__file__).parent.glob("*/head.bin"))
assert VERSIONS


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def log(request):
    made = MemoryLog()
    made.write_head((request.param / "head.bin").read_bytes())
    for path in request.param.glob("entry-*.bin"):
        made.write_entry(int(path.stem.removeprefix("entry-")), path.read_bytes())
    return made


@pytest.fixture(params=["hashmap", "lmdb"])
def backend(request, log, tmp_path):
    made = HashBackend() if request.param == "hashmap" else LmdbBackend(tmp_path / "s", "job")
    assert ChangeLog(log).head.meta == b"memory"
    made.catch_up(ChangeLog(log))
    yield made
    made.close()


def test_every_kind_of_state_is_read(backend):
    for kind, operator, key, subkey, value in entries():
        descriptor = DESCRIPTORS[kind]
        part = backend.table(operator, descriptor.get_name(), descriptor.schema())[GROUPS[key]]
        assert (part.get(key) if subkey is None else part.get(key, subkey)) == value
    greatest = DESCRIPTORS["reducing"]
    table = backend.table("totals", greatest.get_name(), greatest.schema())
    assert table[GROUPS["gone"]].get("gone") is None
    rules = backend.table("rules", "rules", RULES)[BROADCAST_GROUP]
    assert sorted(rules.items(None)) == [("rule 0", 0), ("rule 1", 1), ("rule 2", 2)]


def test_timers_come_in_order(backend):
    table = backend.timers("users", "_event_time_timers")
    found = []
    while (due := table.pop_due(2**63 - 1)) is not None:
        found.append((due[2], due[0]))
    assert [stamp for _, stamp in found] == sorted(stamp for _, stamp in timers())
    assert len(found) == len(set(found))
    assert set(found) == set(timers())


def test_a_type_that_has_grown_reads_what_was_stored(backend):
    grown = Types.ROW_NAMED(
        ["address", "vip", "age"],
        [
            Types.ROW_NAMED(
                ["zip", "country"], [Types.LONG(), Types.STRING()], renamed={"city": None}
            ),
            Types.BOOLEAN(),
            Types.LONG(),
        ],
        renamed={"name": None},
    )
    table = backend.table("users", "profile", ValueStateDescriptor("profile", grown).schema())
    for number, key in enumerate(KEYS):
        row, before = table[GROUPS[key]].get(key), profile(number)
        assert (row.vip, row.age) == (None, before.age)
        if before.address is None:
            assert row.address is None
        else:
            assert (row.address.zip, row.address.country) == (before.address.zip, None)


def test_a_type_that_has_shrunk_is_refused_by_the_name_of_the_field(backend):
    shrunk = Types.ROW_NAMED(
        ["name", "age", "address"],
        [
            Types.STRING(),
            Types.INT(),
            Types.ROW_NAMED(["city", "zip"], [Types.STRING(), Types.STRING()]),
        ],
    )
    with pytest.raises(StateMigrationError, match=r"address\.zip"):
        backend.table("users", "profile", ValueStateDescriptor("profile", shrunk).schema())
