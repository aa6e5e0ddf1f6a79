"""Construction of co-groups and joins in windows: mistakes are found where they are made."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.datastream.window import CountTrigger, EndOfStreamWindows
from penstock.errors import ArgumentError, GraphError, KeyTypeError
from penstock.testing import run_in_process
from tests.runtime.jobs import BATCH, environment

WHOLE = EndOfStreamWindows.get()

LEFT = [("a", 1), ("b", 2), ("a", 3)]
RIGHT = [("c", 1), ("a", 2), ("a", 2)]


def key_of(record: Any) -> Any:
    return record[0]


class Lists(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        return [(list(first), list(second))]


class First(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first


class Words(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return [first, second]


def streams() -> Any:
    env = environment(BATCH)
    return [env.from_collection(of) for of in (LEFT, RIGHT)]


@pytest.mark.parametrize("verb", ["co_group", "join"])
def test_the_other_must_be_a_stream(verb: str) -> None:
    a, _ = streams()
    with pytest.raises(ArgumentError, match=f"{verb} got 3") as refused:
        getattr(a, verb)(3)
    assert str(refused.value.origin).startswith(__file__)


@pytest.mark.parametrize("verb", ["co_group", "join"])
def test_both_must_be_of_one_environment(verb: str) -> None:
    with pytest.raises(GraphError, match="different environments"):
        getattr(streams()[0], verb)(streams()[0])


@pytest.mark.parametrize("verb", ["co_group", "join"])
def test_a_stream_with_a_key_gets_another(verb: str) -> None:
    a, b = streams()
    keyed = getattr(a.key_by(lambda _: 0), verb)(b.key_by(lambda _: 1))
    windows = keyed.where(key_of).equal_to(key_of).window(WHOLE)
    windows.apply(lambda _, __: [1]).sink_to(DiscardingSink())
    found = run_in_process(a.get_execution_environment()).of()
    assert len(found) == {"co_group": 3, "join": 4}[verb]


@pytest.mark.parametrize("verb", ["co_group", "join"])
def test_key_selectors_are_checked(verb: str) -> None:
    a, b = streams()
    with pytest.raises(ArgumentError, match="where"):
        getattr(a, verb)(b).where("key")
    with pytest.raises(ArgumentError, match="equal_to"):
        getattr(a, verb)(b).where(key_of).equal_to(None)
    with pytest.raises(KeyTypeError, match="equal_to"):
        getattr(a, verb)(b).where(key_of).equal_to(key_of, Types.MAP(Types.INT(), Types.INT()))


@pytest.mark.parametrize("verb", ["co_group", "join"])
def test_key_types_must_agree(verb: str) -> None:
    a, b = streams()
    where = getattr(a, verb)(b).where(key_of, Types.STRING())
    with pytest.raises(GraphError, match="String and Long") as refused:
        where.equal_to(key_of, Types.LONG())
    assert str(refused.value.origin).startswith(__file__)
    assert where.equal_to(key_of, Types.STRING()) is not None


@pytest.mark.parametrize("declared", [(Types.LONG(), None), (None, Types.LONG())])
def test_a_key_type_holds_for_both_sides(declared: Any) -> None:
    a, b = streams()
    keys = a.co_group(b).where(lambda r: r[1], declared[0]).equal_to(lambda _: "x", declared[1])
    keys.window(WHOLE).apply(Lists()).sink_to(DiscardingSink())
    with pytest.raises(KeyTypeError, match="'x'"):
        run_in_process(a.get_execution_environment())


@pytest.mark.parametrize("verb", ["co_group", "join"])
def test_windows_are_checked(verb: str) -> None:
    a, b = streams()
    keys = getattr(a, verb)(b).where(key_of).equal_to(key_of)
    with pytest.raises(ArgumentError, match="window assigner"):
        keys.window(5)
    with pytest.raises(GraphError, match="EndOfStreamWindows"):
        keys.window(WHOLE).trigger(CountTrigger.of(1))
    with pytest.raises(ArgumentError, match="allowed_lateness"):
        keys.window(WHOLE).allowed_lateness(-1)


@pytest.mark.parametrize("cls", [Lists, First, Words])
def test_functions_are_checked(cls: type) -> None:
    a, b = streams()
    verb = "co_group" if issubclass(cls, CoGroupFunction) else "join"
    windows = getattr(a, verb)(b).where(key_of).equal_to(key_of).window(WHOLE)
    with pytest.raises(ArgumentError, match=cls.__name__) as refused:
        windows.apply(cls)
    assert f"{cls.__name__}()" in refused.value.hint
    assert str(refused.value.origin).startswith(__file__)
    with pytest.raises(ArgumentError):
        windows.apply(3)


def test_types_are_read_from_annotations() -> None:
    def grouped(first: list[Any], second: list[Any]) -> list[int]:
        return [len(first)]

    def paired(first: Any, second: Any) -> str:
        return "x"

    class Flat(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> list[int]:
            return [1]

    a, b = streams()
    groups = a.co_group(b).where(key_of).equal_to(key_of).window(WHOLE)
    pairs = a.join(b).where(key_of).equal_to(key_of).window(WHOLE)
    assert repr(groups.apply(grouped).get_type()) == "Inferred(Long)"
    assert repr(pairs.apply(paired).get_type()) == "Inferred(String)"
    assert repr(pairs.apply(Flat()).get_type()) == "Inferred(Long)"
    assert pairs.apply(paired, Types.STRING()).get_type() == Types.STRING()
