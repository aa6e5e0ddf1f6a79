"""One subtask of a level under test: a subtask of a job, with its log and access to its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.program.level import LevelProgram, OperatorSpec
from penstock.runtime.functions.state_handles import KeyedScope, StateHandles
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE
from penstock.state.backends.base import TIMERS_SCHEMA, KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.handles.key_context import KeyContext
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind
from penstock.testing.harness_values import PendingTimer
from penstock.testing.memory_log import MemoryLog
from penstock.types.list_key import immutable_key, selected_key
from penstock.types.time import TimeDomain
from penstock.wire import user_code
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of

_TIMERS = {TABLE: TimeDomain.EVENT_TIME, PROCESSING_TABLE: TimeDomain.PROCESSING_TIME}


class HarnessSubtask(LiveSubtask):
    """A subtask that uses the test's own function objects, if it is the only subtask.

    Attributes:
        log: The committed log.
    """

    def __init__(
        self,
        program: LevelProgram,
        subtask: int,
        *,
        blobs: Iterable[bytes],
        make_backend: Callable[[], KeyedStateBackend],
        now_ms: Callable[[], int],
    ) -> None:
        """Begin with a snapshot.

        Raises:
            UserCodeError: A function cannot be pickled for the workers of a job.
        """
        shipped = user_code.dump(program)
        super().__init__(shipped, subtask, make_backend=make_backend, now_ms=now_ms)
        self._own = program
        self._clock = now_ms
        self._group_of = KeyGroups(program.settings.max_parallelism).__getitem__
        self.log = MemoryLog()
        own = [blob for blob in blobs if self._is_own(blob)]
        if own:
            self.seed(self.log, own)

    @property
    def operators(self) -> tuple[OperatorSpec, ...]:
        """The operators of the level."""
        return self._own.operators

    def owns(self, spec: OperatorSpec, key: Any) -> bool:
        """Return whether the subtask has the state of a key of an operator."""
        return self._owns_group(spec, self._group_of(immutable_key(key)))

    def read_state(self, spec: OperatorSpec, descriptor: Any, key: Any) -> Any:
        """Return the committed content of the state of a key.

        Raises:
            PenstockError: The descriptor is wrong; see `RuntimeContext`.
        """
        context = KeyContext()
        context.key = immutable_key(key)
        context.group = self._group_of(context.key)
        handles = self._handles(spec, context)
        kind = getattr(descriptor, "kind", StateKind.VALUE)
        return kind.contents(handles.keyed(kind.getter, descriptor))

    def read_broadcast_state(self, spec: OperatorSpec, descriptor: Any) -> dict[Any, Any]:
        """Return the committed content of a broadcast state.

        Raises:
            PenstockError: The descriptor is wrong; see `RuntimeContext`.
        """
        return dict(self._handles(spec, KeyContext()).broadcast(descriptor).items())

    def keys(self, spec: OperatorSpec, descriptor: Any) -> list[Any]:
        """Return the keys that have an entry in a state, expired ones included."""
        table = self._committed(spec).table(spec.uid, descriptor.get_name(), descriptor.schema())
        return [selected_key(key) for group in table.groups() for key in table[group].keys()]  # noqa: SIM118 - a part is no dictionary

    def timers(self, spec: OperatorSpec) -> Iterator[PendingTimer]:
        """Yield the pending timers of an operator."""
        store = self._committed(spec)
        for name, domain in _TIMERS.items():
            table = store.table(spec.uid, name, TIMERS_SCHEMA)
            for group in table.groups():
                for key in table[group].keys():  # noqa: SIM118 - a part is no dictionary
                    for timestamp in table[group].subkeys(key):
                        yield PendingTimer(timestamp, selected_key(key), domain)

    def _load(self) -> LevelProgram:
        return self._own if self._own.settings.parallelism == 1 else super()._load()

    def _is_own(self, blob: bytes) -> bool:
        group, uid = key_group_of(blob), operator_of(blob)
        specs = [spec for spec in self.operators if spec.uid == uid]
        return any(group == BROADCAST_GROUP or self._owns_group(spec, group) for spec in specs)

    def _owns_group(self, spec: OperatorSpec, group: int) -> bool:
        settings = self._own.settings
        subtasks = min(spec.parallelism or settings.parallelism, settings.parallelism)
        return subtask_of(group, subtasks, settings.max_parallelism) == self._subtask

    def _handles(self, spec: OperatorSpec, context: KeyContext) -> StateHandles:
        store = self._committed(spec)
        return StateHandles(spec, KeyedScope(store, context, self._group_of, self._clock))

    def _committed(self, spec: OperatorSpec) -> HashBackend:
        """Return a copy of an operator's state; reading it does not change the state."""
        store = HashBackend()
        blobs = ChangeLog(self.log).all_blobs()
        store.load(blob for blob in blobs if operator_of(blob) == spec.uid)
        return store
