"""Co-groups and joins on Spark: the same answers as by definition, in every mode."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from penstock.datastream.window import EndOfStreamWindows
from penstock.testing import difference
from tests.runtime.pair_oracle import close_pairs, co_groups, joined
from tests.runtime.test_pair_law import (
    Numbers,
    Pairs,
    assigner,
    key_of,
    number_of,
    numbers_of,
    streams,
)
from tests.spark.conftest import Environment

LEFT = [(n % 7, n * 7 % 200 // 10 + n // 4, n % 9, n) for n in range(80)]
RIGHT = [(n % 5, n * 3 % 200 // 10 + n // 4, n % 9, n) for n in range(80)]
"""(key, time, value, number), up to 20 ms out of order."""

TUMBLING = ("tumbling", 10, 10, 0)


def _numbers(first: Any, second: Any) -> Any:
    return number_of(first), number_of(second)


def _tagged(name: str, result: Any) -> Any:
    return (name, result)


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_groups_and_pairs_are_what_they_should(environment: Environment, mode: str) -> None:
    env = environment(mode)
    a, b = streams(env, LEFT, RIGHT, 50)
    groups = a.co_group(b).where(key_of).equal_to(key_of)
    pairs = a.join(b).where(key_of).equal_to(key_of).window(assigner(TUMBLING))
    close = a.key_by(key_of).interval_join(b.key_by(key_of)).between(-2, 3)
    results = {
        "whole": groups.window(EndOfStreamWindows.get()).apply(Numbers()),
        "tumbling": groups.window(assigner(TUMBLING)).apply(Numbers()),
        "left join": pairs.left().apply(_numbers),
        "close": close.process(Pairs()),
    }
    tagged = [stream.map(partial(_tagged, name)) for name, stream in results.items()]
    with tagged[0].union(*tagged[1:]).execute_and_collect() as found:
        got = list(found)

    in_windows = co_groups(TUMBLING, LEFT, RIGHT)
    wanted = {
        "whole": numbers_of(co_groups(("whole",), LEFT, RIGHT)),
        "tumbling": numbers_of(in_windows),
        "left join": joined(in_windows, pads_left=True, pads_right=False),
        "close": close_pairs(LEFT, RIGHT, -2, 3),
    }
    for name, of_name in wanted.items():
        answer = [result for tag, result in got if tag == name]
        assert difference(answer, of_name) is None, name
