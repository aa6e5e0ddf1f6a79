"""A network that is cut between a job and PostgreSQL, or that loses what the server answers.

Finds: an epoch that is written twice because nobody knows whether the first commit came through, one that is left out, and a source
that fails, or leaves changes out, for what has passed.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.connectors import epoch_marks
from penstock.connectors.postgres import postgres_sink
from penstock.datastream.connectors.postgres import PostgresSink, PostgresSource
from tests.connectors.conftest import MakeContext
from tests.cut_network import CutNetwork
from tests.postgres_server import Database

PLACES: dict[str, ModuleType] = {
    "postgres.decided": epoch_marks,
    "postgres.marked": postgres_sink,
    "postgres.written": postgres_sink,
    "postgres.committed": epoch_marks,
}


@pytest.fixture
def network(postgres: Database) -> Iterator[CutNetwork]:
    where = conninfo_to_dict(postgres.dsn)
    host, port = str(where.get("host") or "127.0.0.1"), int(where.get("port") or 5432)

    def connect() -> socket.socket:
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{host}/.s.PGSQL.{port}")
        return made

    with CutNetwork(connect) as found:
        yield found


def through(network: CutNetwork, db: Database) -> str:
    """Return what to connect to the database with, through the network."""
    dsn: str = make_conninfo(db.dsn, host="127.0.0.1", port=network.port, sslmode="disable")
    return dsn


@pytest.mark.parametrize("loses_answers", [False, True], ids=["cut", "answers are lost"])
@pytest.mark.parametrize("place", PLACES)
def test_an_epoch_is_written_once(
    postgres: Database,
    network: CutNetwork,
    make_context: MakeContext,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    loses_answers: bool,
) -> None:
    postgres.run("create table t (k int primary key, v text)")
    builder = PostgresSink.builder().set_dsn(through(network, postgres)).set_table("t")
    sink = builder.set_columns("k", "v").build()
    committer = sink.create_committer(make_context(subtask=-1))
    committer.recover()
    seen: list[str] = []

    def cut_and_mend() -> None:
        network.cut()
        threading.Timer(0.2, network.mend).start()

    def fail(name: str) -> None:
        if name == place and not seen:
            seen.append(name)
            if loses_answers:
                network.lose_answers()
                threading.Timer(0.3, cut_and_mend).start()  # what is sent until then is executed
            else:
                cut_and_mend()

    monkeypatch.setattr(PLACES[place], "failpoint", fail)
    for epoch in ("1", "2"):
        writer = sink.create_writer(make_context())
        writer.write([(int(epoch), epoch)])
        committer.commit(epoch, writer.prepare_commit())
    committer.close()
    assert seen == [place]
    assert postgres.run("select * from t order by k") == [(1, "1"), (2, "2")]
    assert postgres.value("select count(*) from pg_class where relname like 'stage%'") == 0


def test_a_source_goes_on_when_its_network_is_back(
    postgres: Database, network: CutNetwork, tmp_path: Path
) -> None:
    postgres.run("create table t (id int primary key)", "insert into t values (0)")
    builder = PostgresSource.builder().set_dsn(through(network, postgres)).set_tables("t")
    source = builder.set_slot(postgres.slot()).build()
    at = next(iter(source.snapshot(tmp_path).positions.values()))
    found: list[int] = []

    def calls() -> Iterator[Callable[[], object]]:
        yield lambda: source.exact_discover({source.slot: at})
        yield lambda: source.confirm({source.slot: at})

    for number in (1, 2):
        postgres.run(f"insert into t values ({number})")
        for call in calls():
            network.cut()
            threading.Timer(0.2, network.mend).start()
            call()
        (split,) = source.exact_discover({source.slot: at})
        network.cut()
        threading.Timer(0.2, network.mend).start()
        for _, batch in source.batches(split.id, at, split.head):
            found += [change.after["id"] for change in batch.records]
        at = split.head
    assert found == [1, 2]
