"""Values brought to the driver: collect, print and the staged files under both."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.connectors import spool
from penstock.connectors.python import collect_sink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.python.print_sink import PrintSink
from penstock.connectors.spool import spool_directory
from penstock.connectors.staged import KeptBytes, StagedBytesWriter
from penstock.errors import SinkError
from penstock.filesystem.stored_path import mounted
from penstock.graph.endpoints import Sink, SinkContext
from penstock.types import TypeInformation
from penstock.types.row import Row, RowKind
from penstock.types.types import Types

MakeContext = Callable[..., SinkContext]


class Collected:
    """A registered consumer that keeps chunks."""

    def __init__(self) -> None:
        self.chunks: list[list[Any]] = []

    def __call__(self, values: list[Any]) -> None:
        self.chunks.append(values)

    @property
    def values(self) -> list[Any]:
        return [value for chunk in self.chunks for value in chunk]


@pytest.fixture
def collected() -> Iterator[Collected]:
    consumer = Collected()
    collect_sink.register("token", consumer)
    yield consumer
    collect_sink.unregister("token")


def task(sink: Sink, context: SinkContext, *batches: list[Any]) -> list[Any]:
    writer = sink.create_writer(context)
    for batch in batches:
        writer.write(batch)
    prepared: list[Any] = pickle.loads(pickle.dumps(writer.prepare_commit()))
    return prepared


def spool_files(context: SinkContext) -> list[Path]:
    return list(mounted(spool_directory(context)).iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    tasks=st.lists(st.lists(st.lists(st.integers(), max_size=9)), max_size=3),
    kept=st.sampled_from([0, 50, 1 << 20]),
)
def test_collect_delivers_every_value_once_in_order(
    make_context: MakeContext, collected: Collected, tasks: list[list[list[int]]], kept: int
) -> None:
    sink, collected.chunks = CollectSink("token"), []
    committer = sink.create_committer(make_context())
    committer.recover()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "CHUNK_VALUES", 4)
        patch.setattr(StagedBytesWriter, "most_kept_bytes", kept)
        prepared = [
            handle
            for subtask, batches in reversed(list(enumerate(tasks)))
            for handle in task(sink, make_context(subtask=subtask), *batches)
        ]
    committer.commit("live-0", prepared)
    assert collected.values == [v for batches in tasks for batch in batches for v in batch]
    assert max(map(len, collected.chunks), default=0) <= 4
    sizes = [len(handle.content) for handle in prepared if isinstance(handle, KeptBytes)]
    assert max(sizes, default=0) <= kept
    assert kept or not sizes
    assert spool_files(make_context()) == []


def test_second_commit_of_an_epoch_delivers_nothing(
    make_context: MakeContext, collected: Collected
) -> None:
    sink, context = CollectSink("token"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    committer.commit("live-0", task(sink, context, [1]))
    committer.commit("live-0", task(sink, context, [1, 2]))
    committer.commit("live-1", task(sink, context, [3]))
    assert collected.values == [1, 3]
    assert spool_files(context) == []


def test_values_changed_after_writing_are_delivered_as_written(
    make_context: MakeContext, collected: Collected
) -> None:
    sink, context = CollectSink("token"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    writer, value = sink.create_writer(context), [1]
    writer.write([value])
    value.append(2)
    writer.write([value])
    committer.commit("live-0", writer.prepare_commit())
    assert collected.values == [[1], [1, 2]]


def test_few_values_need_no_file(make_context: MakeContext, collected: Collected) -> None:
    sink, context = CollectSink("token"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    (few,) = task(sink, context, [1, 2])
    assert isinstance(few, KeptBytes)
    assert spool_files(context) == []
    (many,) = task(sink, context, [3], ["x" * 20_000])
    assert [path.name for path in spool_files(context)] == [many.name]
    committer.recover()  # a driver that takes over knows what it has recorded
    committer.commit("live-0", [few])
    assert collected.values == [1, 2]


@pytest.mark.usefixtures("in_files")
def test_recover_and_abort_delete_spool_files(make_context: MakeContext) -> None:
    sink, context = CollectSink("token"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    writer = sink.create_writer(context)
    writer.write([1])
    writer.abort()
    assert spool_files(context) == []
    task(sink, context, [1])
    assert len(spool_files(context)) == 1
    committer.recover()
    assert spool_files(context) == []


def test_failing_consumer_fails_the_commit_and_leaves_no_file(
    make_context: MakeContext,
) -> None:
    def refuse(values: list[Any]) -> None:
        raise OSError(f"no more than {len(values)}")

    sink, context = CollectSink("refusing"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    collect_sink.register("refusing", refuse)
    try:
        with pytest.raises(OSError, match="no more than 1"):
            committer.commit("live-0", task(sink, context, [1]))
    finally:
        collect_sink.unregister("refusing")
    assert spool_files(context) == []


def test_commit_without_consumer_is_refused(make_context: MakeContext) -> None:
    sink, context = CollectSink("nobody"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    with pytest.raises(SinkError, match="nobody"):
        committer.commit("live-0", task(sink, context, [1]))


def test_value_that_cannot_be_pickled_is_refused(make_context: MakeContext) -> None:
    sink, context = CollectSink("token"), make_context()
    sink.create_committer(context).recover()
    with pytest.raises(SinkError, match="brought to the driver") as caught:
        sink.create_writer(context).write([lambda: 1])
    assert caught.value.origin == context.origin


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("kept", [3, 9, -1])
def test_truncated_spool_file_is_refused(
    make_context: MakeContext, collected: Collected, kept: int
) -> None:
    sink, context = CollectSink("token"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    prepared = task(sink, context, [1, 2])
    (path,) = spool_files(context)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(SinkError, match=path.name):
        committer.commit("live-0", prepared)
    assert collected.values == []


@pytest.mark.usefixtures("in_files")
def test_missing_spool_file_is_refused(make_context: MakeContext, collected: Collected) -> None:
    sink, context = CollectSink("token"), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    prepared = task(sink, context, [1, 2])
    spool_files(context)[0].unlink()
    with pytest.raises(SinkError, match="No such file"):
        committer.commit("live-0", prepared)
    assert collected.values == []


def test_scratch_below_a_file_is_refused_at_recover(
    tmp_path: Path, make_context: MakeContext
) -> None:
    (tmp_path / "scratch").write_text("in the way")
    with pytest.raises(SinkError, match=str(tmp_path)):
        CollectSink("token").create_committer(make_context()).recover()


ROW = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.DOUBLE()])
PAIR = Types.TUPLE([Types.STRING(), Types.DOUBLE()])

PRINTED: list[tuple[TypeInformation, Any, str]] = [
    (Types.PICKLED_BYTE_ARRAY(), ("a", 1.5), "('a', 1.5)"),
    (Types.PICKLED_BYTE_ARRAY(), True, "True"),
    (Types.PICKLED_BYTE_ARRAY(), None, "None"),
    (Types.PICKLED_BYTE_ARRAY(), Row(a="x"), "Row(a='x')"),
    (ROW, Row(a="a", b=1.5), "+I[a,1.5]"),
    (ROW, Row(a=None, b=None), "+I[null,null]"),
    (ROW, Row.of_kind(RowKind.DELETE, "a", 1.5), "-D[a,1.5]"),
    (ROW, ("a", 1.5), "+I[a,1.5]"),
    (PAIR, ("a", 1.5), "(a,1.5)"),
    (Types.TUPLE([PAIR, ROW]), (("a", 1.5), Row("b", None)), "((a,1.5),+I[b,null])"),
    (Types.BOOLEAN(), True, "true"),
    (Types.BOOLEAN(), False, "false"),
    (Types.STRING(), "True", "True"),
    (Types.LIST(Types.BOOLEAN()), [True, None], "[true, null]"),
    (Types.MAP(Types.STRING(), Types.BOOLEAN()), {"a": True, "b": None}, "{a=true, b=null}"),
]


@pytest.mark.parametrize(("type_info", "value", "line"), PRINTED)
def test_printed_form(
    make_context: MakeContext,
    capsys: pytest.CaptureFixture[str],
    type_info: TypeInformation,
    value: Any,
    line: str,
) -> None:
    sink, context = PrintSink(show_subtask=False), make_context(type_info)
    committer = sink.create_committer(context)
    committer.recover()
    committer.commit("batch-0", task(sink, context, [value]))
    assert capsys.readouterr().out == f"{line}\n"


@pytest.mark.parametrize(
    ("sink", "prefix"),
    [
        (PrintSink(), "3> "),
        (PrintSink(show_subtask=False), ""),
        (PrintSink("id"), "id:3> "),
        (PrintSink("id", show_subtask=False), "id> "),
    ],
)
def test_prefix(
    make_context: MakeContext, capsys: pytest.CaptureFixture[str], sink: PrintSink, prefix: str
) -> None:
    context = make_context(subtask=2)
    committer = sink.create_committer(context)
    committer.recover()
    committer.commit("batch-0", task(sink, context, [1, 2]))
    committer.commit("batch-0", task(sink, context, [1, 2]))
    assert capsys.readouterr().out == f"{prefix}1\n{prefix}2\n"


def test_discarding_sink_counts(make_context: MakeContext) -> None:
    sink, context = DiscardingSink(), make_context()
    committer = sink.create_committer(context)
    committer.recover()
    prepared = task(sink, context, [1, 2], [3])
    assert prepared == [3]
    committer.commit("batch-0", prepared)


@pytest.mark.parametrize("sink", [PrintSink("id"), CollectSink("token"), DiscardingSink()])
def test_descriptions_survive_pickling(sink: Sink) -> None:
    assert pickle.loads(pickle.dumps(sink)) == sink
