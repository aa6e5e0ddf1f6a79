"""Type checkers understand programs: what is right passes, what is wrong is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

from penstock.datastream import OutputTag, StreamExecutionEnvironment
from tests.runtime.jobs import environment
from tests.typing.accepted import LATE, Order, ToOrder, Totals, one_stream, two_streams, with_a_key

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_IGNORED = re.compile(r"  # type: ignore\[([a-z, -]+)\]")


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return environment({})


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], set[str]]:
    """Where mypy finds what, with the mistakes no longer ignored."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("accepted", "rejected"):
        text = (HERE / f"{name}.py").read_text(encoding="utf-8")
        (folder / f"{name}.py").write_text(_IGNORED.sub("", text), encoding="utf-8")
    settings = folder / "mypy.ini"
    settings.write_text(
        "[mypy]\nstrict = True\nallow_untyped_defs = True\nfollow_imports = silent\n"
    )
    arguments = ["--config-file", str(settings), "--cache-dir", str(ROOT / ".mypy_cache")]
    out, err, _ = api.run([*arguments, str(folder / "accepted.py"), str(folder / "rejected.py")])
    assert not err
    found: dict[tuple[str, int], set[str]] = {}
    for line in re.finditer(r"(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]", out):
        found.setdefault((line[1], int(line[2])), set()).add(line[3])
    return found


@pytest.mark.slow
def test_programs_are_accepted(findings: dict[tuple[str, int], set[str]]) -> None:
    assert {place: codes for place, codes in findings.items() if place[0] == "accepted"} == {}


@pytest.mark.slow
def test_every_mistake_is_found_and_nothing_else(
    findings: dict[tuple[str, int], set[str]],
) -> None:
    expected = {}
    for number, line in enumerate((HERE / "rejected.py").read_text("utf-8").splitlines(), 1):
        ignored = _IGNORED.search(line)
        if ignored is not None:
            expected["rejected", number] = set(ignored[1].split(", "))
    assert len(expected) > 15
    assert {place: codes for place, codes in findings.items() if place[0] == "rejected"} == expected


def test_what_is_accepted_also_builds(env: StreamExecutionEnvironment) -> None:
    one_stream(env)
    orders = env.from_collection([1]).map(ToOrder())
    with_a_key(orders)
    two_streams(orders, env.from_collection(["a"]))
    assert len(env.graph.nodes()) > 10


def test_parameters_do_nothing_at_run_time() -> None:
    assert type(Totals()).__mro__[1].__name__ == "KeyedProcessFunction"
    assert OutputTag[str]("late") == LATE
    assert ToOrder().map(3) == Order("a", 3)
