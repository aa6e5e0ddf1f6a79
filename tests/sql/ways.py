"""The ways of the laws of SQL, which the engine of `penstock check` runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, DiscardingSink
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.testing import Way, WayMode
from penstock.testing.law.rules import SinkAnswer, SinkRule
from penstock.types import Row, TypeInformation
from tests.sql.generated import materialized
from tests.testing.laws import inputs_of, program_of, run, sample_of

WAYS = {
    "batch": Way(parallelism=2),
    "streaming": Way(WayMode.STREAMING, parallelism=2, epochs=(1, 3)),
    "restart": Way(WayMode.STREAMING, parallelism=2, epochs=(4,), restart_every=2),
    "mixed": Way(WayMode.STREAMING, parallelism=2, cut=0.5, epochs=(2,)),
    "hand-over": Way(WayMode.MIXED, parallelism=2, cut=0.5, epochs=(3,)),
}
FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"coded": True},
    {"backend": "lmdb"},
    {"coded": True, "backend": "lmdb"},
)
"""Fields of the ways that vary with the seed."""

_RULES = {"out": SinkRule(SinkAnswer.NET_CHANGES)}


@dataclass(frozen=True)
class GivenTable:
    """A table of a query, and its rows."""

    type_info: TypeInformation
    rows: Sequence[Row]
    strategy: WatermarkStrategy
    time: str | None = None

    def of(self, env: StreamExecutionEnvironment, name: str) -> StreamTable:
        source = CollectionSource.of([], self.type_info)
        is_changing = any(row.get_row_kind().value for row in self.rows)
        return StreamTable(
            env.from_source(source, self.strategy, name),
            Changelog.RETRACT if is_changing else Changelog.INSERT_ONLY,
            time=self.time,
        )


def final_rows(
    query: str, tables: Mapping[str, GivenTable], way: Way, written_for: str | None = None
) -> list[tuple[Any, ...]]:
    """Return the final table of a query, which is written for the mode of the way, or for another one."""
    mode = "execution.runtime-mode"
    settings = {mode: written_for or way.settings()[mode]}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    stream = env.sql(query, {name: table.of(env, name) for name, table in tables.items()})
    stream.sink_to(DiscardingSink()).name("out")
    program = program_of(env, _RULES)
    samples = {name: sample_of(table.rows) for name, table in tables.items()}
    (received,) = run(program, inputs_of(program, samples), way).outcome.received
    return materialized(received.answer)
