"""Settings for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.kafka_broker import Broker, broker
from tests.postgres_server import Database, database, server
from tests.redis_server import Server, redis_server

# The same examples on every run, and no deadline: a slow machine is not a wrong answer, neither in
# the code under test nor in making examples. They are few: what was answered yesterday is answered
# today, and `make fuzz` asks new questions as long as it may.
_PATIENT = [HealthCheck.too_slow]
settings.register_profile(
    "penstock",
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=_PATIENT,
)
# `tests/explore.py` gives the seed and prints it.
settings.register_profile(
    "explore",
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=_PATIENT,
)
settings.load_profile("explore" if "PENSTOCK_EXPLORE" in os.environ else "penstock")

# Hypothesis also draws the constants of whatever modules are loaded, so the examples of a test depended on
# the tests before it. No setting turns that off.
if "PENSTOCK_EXPLORE" not in os.environ:
    assert providers._get_local_constants is not None
    providers._get_local_constants = lambda: providers._local_constants

# A shell starts what runs in the background with SIGINT ignored, and children inherit that: tests
# that interrupt a job would wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse what `make test` would not run."""
    for item in items:
        if (
            " at 0x" in item.nodeid
        ):  # it differs between processes, and pytest-xdist would run nothing
            raise pytest.UsageError(f"a test's name has an address of memory: {item.nodeid}")
        if item.get_closest_marker("spark") and not _is_found_by_make(item.path):
            raise pytest.UsageError(f"Makefile looks for mark.spark, and {item.path} has no such")


@cache
def _is_found_by_make(path: Path) -> bool:
    """Return whether a file is among `spark_tests` of the Makefile."""
    is_below = {"spark", "faults"} & set(path.relative_to(Path(__file__).parent).parts)
    return bool(is_below) or "mark.spark" in path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A Kafka broker for all tests of the process."""
    with broker(tmp_path_factory.mktemp("broker")) as found:
        yield found


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server for all tests of the process."""
    with server() as found:
        yield found


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[Database]:
    """A database of PostgreSQL for one test."""
    with database(postgres_server) as made:
        yield made


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of Valkey or Redis for all tests of the process."""
    with redis_server(tmp_path_factory.mktemp("valkey")) as found:
        yield found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser for all tests of the process: a context of playwright."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    tool = import_module("tools.support.browser")
    program = tool.installed_browser()
    if program is None:
        pytest.skip("there is no browser: scripts/ensure_chromium.sh installs one")
    with tool.browser(program) as context:
        yield context
