"""Calls to the outside in a checked program: refused by name, or replaced by stubs."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import ArgumentError, EffectError
from penstock.testing import Way, check, run_in_process
from penstock.testing.law.effects import parse_stubs, stubbed, without_effects


def fetch(n):
    return urllib.request.urlopen(f"http://127.0.0.1:9/{n}").read()


def connect(n):
    with socket.socket() as it:
        it.connect(("127.0.0.1", 9))
    return n


def start(n):
    return subprocess.run([sys.executable, "-c", ""], check=False).returncode + n


def connect_if_possible(n):
    try:
        return connect(n)
    except Exception:  # noqa: BLE001 - as programs do
        return n


_has_record = threading.Event()
_calls: list[Future[Any]] = []


def arrive(n):
    """Wait until another thread has made its call."""
    _has_record.set()
    wait(_calls, 60)
    return n


def check_beside(function, *arguments):
    """Check a program while a thread of before calls a function, and return that call."""
    _has_record.clear()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_has_record.wait, 60)
        _calls[:] = [pool.submit(function, *arguments)]
        try:
            check(environment(arrive), ways=[Way()])
        finally:
            _has_record.set()
    return _calls[0]


class Enrich:
    def rate(self, n):
        return start(n)


def environment(function):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).map(function).sink_to(DiscardingSink()).name("out")
    return env


def test_a_thread_of_before_may_call_outside():
    with socket.create_server(("127.0.0.1", 0)) as server:
        call = check_beside(socket.create_connection, server.getsockname())
        with call.result() as connected:
            assert connected.getpeername() == server.getsockname()


def test_a_function_of_the_program_may_not_call_outside_in_any_thread():
    with pytest.raises(EffectError, match=rf"{__name__}\.connect' calls outside"):
        check_beside(connect, 1)
    assert isinstance(_calls[0].exception(), EffectError)


@pytest.mark.parametrize(
    ("function", "named"),
    [(fetch, "fetch"), (connect, "connect"), (start, "start"), (connect_if_possible, "connect")],
)
def test_a_call_to_the_outside_is_refused_by_name(function, named):
    with pytest.raises(EffectError, match=rf"{__name__}\.{named}' calls outside") as raised:
        check(environment(function), ways=[Way()])
    assert f"--stub {__name__}.{named}=VALUE" in raised.value.hint
    assert raised.value.origin is not None
    assert raised.value.origin.filename == __file__


def test_a_stub_takes_the_place_of_a_function_wherever_it_is_referred_to():
    env = environment(lambda n: (start(n), Enrich().rate(n)))
    direct = environment(start)
    with stubbed({f"{__name__}.start": 7}):
        assert check(env, ways=[Way()]).is_same
        assert run_in_process(direct).of("out") == [7, 7]
    with pytest.raises(EffectError):
        check(env, ways=[Way()])
    with stubbed({f"{__name__}.Enrich.rate": 1}):
        assert Enrich().rate(5) == 1


def test_a_call_in_a_lambda_has_no_name_for_a_stub():
    with pytest.raises(EffectError) as raised:
        check(environment(lambda n: subprocess.run(["true", str(n)], check=False)), ways=[Way()])
    assert "Move the call into a function" in raised.value.hint


def test_calls_outside_of_a_check_are_allowed():
    with without_effects():
        pass
    assert start(0) == 0


def test_values_are_json_or_texts():
    assert parse_stubs(["a.b=[1]", "city=Rome", "none=null"]) == {
        "a.b": [1],
        "city": "Rome",
        "none": None,
    }
    with pytest.raises(ArgumentError, match="not of the form"):
        parse_stubs(["city"])


def test_what_cannot_be_stubbed_is_refused():
    outer = 1
    names = vars(sys.modules[__name__])
    names["closure"] = lambda: outer
    try:
        for name, problem in [
            ("no_such_module.f", "no function"),
            (f"{__name__}.strat", "did you mean 'start'"),
            (f"{__name__}.closure", "uses variables of a function"),
        ]:
            with pytest.raises(ArgumentError, match=problem), stubbed({name: 1}):
                pass
    finally:
        del names["closure"]
