"""State handles as an operator gets them, in a worker that commits, fails and restarts.

Scripts drive handles and a plain model side by side. They find what a handle answers wrong,
what it changes without recording it, and what it remembers from a micro-batch that is over. They
say nothing about the backends' own life, of which `test_backends.py` takes care.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.state.ttl import StateTtlConfig
from penstock.common import Time
from penstock.program.level import OperatorSpec
from penstock.program.operators import KEYED_MAP
from penstock.program.run_settings import RunKind, RunSettings
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.handles.key_context import KeyContext
from penstock.state.handles.ttl import StateVisibility, UpdateType
from penstock.state.handles.ttl_sweeper import TtlSweeper
from penstock.state.log.change_log import ChangeLog
from penstock.testing.live_run import MemoryLog
from penstock.wire.canonical.key_groups import KeyGroups

GROUPS = KeyGroups(4)
KEYS = ("a", 3)
TTL_MS = 10

BACKENDS: dict[str, Callable[[Path], KeyedStateBackend]] = {
    "hashmap": lambda _: HashBackend(),
    "lmdb": lambda directory: LmdbBackend(directory, "job/1/0"),
}


class World:
    """One keyed operator of one subtask.

    Attributes:
        context: What the user's function sees in `open`.
        sweeper: Of the operator.
        now_ms: The clock, to be set by hand.
    """

    context: OperatorContext
    sweeper: TtlSweeper

    def __init__(self, make_backend: Callable[[Path], KeyedStateBackend], directory: Path) -> None:
        self._make = lambda: make_backend(directory)
        self._log = MemoryLog()
        self.keys = KeyContext()
        self.now_ms = 1_000
        self._start()

    def _start(self) -> None:
        self.backend = self._make()
        self.backend.catch_up(ChangeLog(self._log))
        spec = OperatorSpec(1, "op", "totals", KEYED_MAP, map, None, None, key_selectors=(str,))
        self.sweeper = TtlSweeper()
        scope = KeyedScope(
            self.backend, self.keys, GROUPS.__getitem__, lambda: self.now_ms, self.sweeper
        )
        self.context = OperatorContext(spec, RunSettings(RunKind.LIVE, 1, 4), 0, scope)

    def at(self, key: Any) -> None:
        """Make `key` the current one."""
        self.keys.key = key
        self.keys.group = GROUPS[key]

    def commit(self) -> list[bytes]:
        """End the micro-batch and begin the next; return what was written."""
        blobs = self.backend.drain()
        appended = ChangeLog(self._log).append(blobs, b"", self.backend)
        self.backend.written(appended.position)
        self._begin()
        return blobs

    def fail(self) -> None:
        """Forget the micro-batch and begin it again."""
        self.backend.discard()
        self._begin()

    def restart(self) -> None:
        """Continue from the log in a new worker; handles must be asked for anew."""
        self.backend.discard()
        self.backend.close()
        self._start()
        self.keys.epoch += 1

    def close(self) -> None:
        self.backend.close()

    def _begin(self) -> None:
        self.backend.catch_up(ChangeLog(self._log))
        self.keys.epoch += 1


def ttl_config(update: str, visibility: str, **cleanup: bool) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))
    builder.set_update_type(UpdateType[update])
    builder.set_state_visibility(StateVisibility[visibility])
    if cleanup.get("snapshots"):
        builder.cleanup_full_snapshot()
    if not cleanup.get("background", True):
        builder.disable_cleanup_in_background()
    return builder.build()


class Ages:
    """The model's time-to-live: when a value written or read last expires.

    Attributes:
        config: For the descriptor; None if nothing expires.
        expires: Whether anything does.
        refreshes: Whether reading counts.
        shows_expired: Whether a reader sees an expired value once.
    """

    def __init__(self, update: str | None, visibility: str) -> None:
        self.config = None if update is None else ttl_config(update, visibility, snapshots=True)
        self.expires = update is not None
        self.refreshes = update == "OnReadAndWrite"
        self.shows_expired = visibility == "ReturnExpiredIfNotCleanedUp"
        self._text = f"Ages({update!r}, {visibility!r})"

    def __repr__(self) -> str:
        return self._text

    def is_dead(self, dated: tuple[int, Any], now: int) -> bool:
        return self.expires and now >= dated[0] + TTL_MS

    def read(self, entries: dict[Any, tuple[int, Any]], address: Any, now: int) -> tuple[bool, Any]:
        """Return (whether there is a value, the value); reading removes and refreshes."""
        if address not in entries:
            return False, None
        dated = entries[address]
        if self.is_dead(dated, now):
            del entries[address]
            return (True, dated[1]) if self.shows_expired else (False, None)
        if self.refreshes:
            entries[address] = (now, dated[1])
        return True, dated[1]

    def sweep(self, entries: dict[Any, tuple[int, Any]], now: int) -> None:
        for address in [a for a, dated in entries.items() if self.is_dead(dated, now)]:
            del entries[address]


AGES = [Ages(None, "")] + [
    Ages(update, visibility)
    for update in ("OnCreateAndWrite", "OnReadAndWrite")
    for visibility in ("NeverReturnExpired", "ReturnExpiredIfNotCleanedUp")
]


def step(*, weight: int = 1, **strategies: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Mark a method of a machine as one thing that can happen, how often, and called how."""

    def marked(method: Any) -> Any:
        method.strategies = strategies
        method.weight = weight
        return method

    return marked


class HandleMachine:
    """Moves between keys, micro-batches, failures and workers; subclasses use the state.

    Not a hypothesis state machine: those switch most rules off in any one run, and what is to be
    found here takes writing, waiting and reading together.

    Attributes:
        model: What the state contains.
    """

    def __init__(self, world: World, ages: Ages, *, is_typed: bool) -> None:
        self.world = world
        self.ages = ages
        self.is_typed = is_typed
        self.model: dict[Any, Any] = {}
        self._committed: dict[Any, Any] = {}
        self.key: Any = KEYS[0]
        self._open()

    def open(self) -> None:
        """Ask for the handle."""
        raise AssertionError

    def read_current_key(self) -> None:
        """Compare what the state of the current key is."""
        raise AssertionError

    @property
    def now(self) -> int:
        return self.world.now_ms

    def enable_ttl(self, descriptor: Any) -> Any:
        if self.ages.config is not None:
            descriptor.enable_time_to_live(self.ages.config)
        return descriptor

    def _open(self) -> None:
        self.open()
        self.world.at(self.key)

    @step(key=st.sampled_from(KEYS))
    def go_to(self, key: Any) -> None:
        self.key = key
        self.world.at(key)

    @step(weight=3, ms=st.sampled_from([1, TTL_MS - 1, TTL_MS]))
    def wait(self, ms: int) -> None:
        self.world.now_ms += ms

    @step(weight=2)
    def commit(self) -> None:
        self.world.commit()
        self._committed = deepcopy(self.model)

    @step()
    def fail(self) -> None:
        self.world.fail()
        self.model = deepcopy(self._committed)

    @step()
    def restart(self) -> None:
        self.world.restart()
        self.model = deepcopy(self._committed)
        self._open()

    def read_all_keys(self) -> None:
        for key in KEYS:
            self.go_to(key)
            self.read_current_key()


@dataclass(frozen=True)
class Script:
    """What happens to a state, in order.

    Attributes:
        machine: Whose methods are called.
        is_typed: Whether the state has a declared type.
        steps: (method, arguments).
    """

    machine: type[HandleMachine]
    is_typed: bool
    steps: list[tuple[str, dict[str, Any]]]

    def run(self, backend: str, ages: Ages) -> None:
        """Play it; the end is looked at in this worker and in the next."""
        with tempfile.TemporaryDirectory() as directory:
            world = World(BACKENDS[backend], Path(directory) / "state")
            machine = self.machine(world, ages, is_typed=self.is_typed)
            for name, arguments in self.steps:
                getattr(machine, name)(**arguments)
            machine.read_all_keys()
            machine.commit()
            machine.restart()
            machine.read_all_keys()
            world.close()


def scripts(machine: type[HandleMachine]) -> st.SearchStrategy[Script]:
    """Return scripts for a machine."""
    steps = [
        st.tuples(st.just(name), st.fixed_dictionaries(method.strategies))
        for name, method in inspect.getmembers(machine)
        if hasattr(method, "strategies")
        for _ in range(method.weight)
    ]
    return st.builds(
        Script,
        st.just(machine),
        st.booleans(),
        st.lists(st.one_of(*steps), min_size=30, max_size=60),
    )


def script_test(machine: type[HandleMachine]) -> Any:
    """Return a test that any script gives what the model gives, whatever expires and when."""

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("ages", AGES, ids=repr)
    @settings(max_examples=20)
    @given(script=scripts(machine))
    def test(backend: str, ages: Ages, script: Script) -> None:
        script.run(backend, ages)

    return test
