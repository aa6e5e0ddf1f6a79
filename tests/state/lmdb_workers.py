"""Workers with an LMDB backend, as the tests of it use them."""

from __future__ import annotations

import pickle

from penstock.common import Types
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import decode_blob, key_group_of, operator_of
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.wire.canonical.key_groups import KeyGroups

VALUE = StateSchema(StateKind.VALUE, Types.PICKLED_BYTE_ARRAY())
MAP = StateSchema(StateKind.MAP, Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())
GROUPS = KeyGroups(8)


class Worker:
    """A backend that goes through micro-batches on a log."""

    def __init__(self, directory, storage, owner="job") -> None:
        self.directory = directory
        self.storage = storage
        self.backend = LmdbBackend(directory, owner)
        self.value = self.backend.table("op", "value", VALUE)
        self.map = self.backend.table("op", "map", MAP)
        self.timers = self.backend.timers("op", "timers")
        self.log = ChangeLog(storage)

    def begin(self):
        self.log = ChangeLog(self.storage)
        return self.backend.catch_up(self.log)

    def put(self, **values):
        for key, value in values.items():
            self.value[GROUPS[key]].put(key, value)

    def end(self):
        changes = self.backend.drain()
        if changes:
            self.log.append(changes, b"", self.backend)
        position = self.log.position()
        if position is not None:
            self.backend.written(position)

    def batch(self, **values):
        """Put values in a micro-batch; return what the copy was worth."""
        use = self.begin()
        self.put(**values)
        self.end()
        return use

    def read(self):
        """Return what the copy was worth, and all values; changes nothing."""
        use = self.begin()
        found = values_of(self.value)
        self.end()
        return use, found


class TimedWorker(Worker):
    """Sets a timer at every value it puts."""

    def put(self, **values):
        super().put(**values)
        for key, value in values.items():
            self.timers.add(GROUPS[key], key, value)


def values_of(table):
    """Return key to value of a table of single values."""
    return {key: table[group].get(key) for group in table.groups() for key in table[group].keys()}  # noqa: SIM118


def copy_of(storage):
    """Return a log that goes its own way from here."""
    return pickle.loads(pickle.dumps(storage))


def content(blobs):
    """Return (operator, group, state, key, subkey) to (schema, value)."""
    found = {}
    for blob in blobs:
        for section in decode_blob(blob):
            assert not section.removed
            assert not section.cleared
            subkeys = section.subkeys or [None] * len(section.keys)
            for key, subkey, value in zip(section.keys, subkeys, section.values, strict=True):
                address = operator_of(blob), key_group_of(blob), section.state, key, subkey
                assert address not in found
                found[address] = section.schema, value
    return found
