"""What running a program gives: iterators, lists, printed lines, streams used again."""

from __future__ import annotations

import pytest

from penstock.api.environment import job
from penstock.common import Row, RowKind, Types
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.datastream.data_stream import CloseableIterator


@pytest.fixture
def env(monkeypatch):
    monkeypatch.setitem(
        job.EXECUTORS, "spark", "tests.conformance.in_process_executor:InProcessExecutor"
    )
    made = StreamExecutionEnvironment.get_execution_environment()
    return made.set_parallelism(1)


@pytest.fixture
def printed(env, capsys):
    """Return a function that runs the program and returns the lines it printed."""

    def run():
        env.execute()
        return capsys.readouterr().out.splitlines()

    return run


def test_collected_records_are_iterated(env):
    found = env.from_collection([1, 2, 3]).execute_and_collect()
    assert isinstance(found, CloseableIterator)
    assert found.next() == 1
    assert list(found) == [2, 3]
    found.close()


def test_collected_records_are_a_context_manager(env):
    with env.from_collection([1, 2, 3]).execute_and_collect("named") as found:
        assert sorted(found) == [1, 2, 3]


def test_a_limit_gives_a_list(env):
    assert env.from_collection([1, 2, 3]).execute_and_collect(limit=2) == [1, 2]


def test_a_limit_may_exceed_what_there_is(env):
    assert env.from_collection([1]).execute_and_collect("named", 5) == [1]


def test_rows_are_collected_as_rows(env):
    typed = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert env.from_collection([(1, "x")], typed).execute_and_collect(limit=1) == [Row(a=1, b="x")]


def test_a_keyed_stream_is_collected_as_its_records(env):
    keyed = env.from_collection([1, 2]).key_by(lambda n: n % 2)
    assert sorted(keyed.execute_and_collect()) == [1, 2]


def test_streams_are_used_again_after_a_job(env, capsys):
    numbers = env.from_collection([1, 2])
    numbers.map(lambda n: n * 10).print()
    env.execute()
    assert capsys.readouterr().out.split() == ["10", "20"]
    numbers.print()
    env.execute("again")
    assert capsys.readouterr().out.split() == ["1", "2"]


def test_a_job_may_have_many_sinks(env, printed):
    numbers = env.from_collection([1, 2])
    numbers.print("one")
    numbers.filter(lambda n: n > 1).print("two")
    assert sorted(printed()) == ["one> 1", "one> 2", "two> 2"]


FORMS = [
    ("untyped object", None, {"a": (1, None)}, "{'a': (1, None)}"),
    ("untyped tuple", None, (1, "x"), "(1, 'x')"),
    ("untyped boolean", None, True, "True"),
    ("untyped row", None, Row(1, "x"), "<Row(1, 'x')>"),
    ("row", Types.ROW([Types.STRING(), Types.DOUBLE()]), ("a", 1.5), "+I[a,1.5]"),
    ("row with nothing", Types.ROW([Types.STRING(), Types.INT()]), (None, 1), "+I[null,1]"),
    ("named row", Types.ROW_NAMED(["k"], [Types.INT()]), Row(k=1), "+I[1]"),
    ("tuple", Types.TUPLE([Types.STRING(), Types.DOUBLE()]), ("a", 1.5), "(a,1.5)"),
    ("boolean", Types.BOOLEAN(), True, "true"),
    ("string", Types.STRING(), "a b", "a b"),
    ("list", Types.LIST(Types.INT()), [1, 2], "[1, 2]"),
    ("map", Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, "{a=1}"),
    ("nested", Types.TUPLE([Types.ROW([Types.BOOLEAN()])]), (Row(False),), "(+I[false])"),
]


@pytest.mark.parametrize(
    ("type_info", "value", "line"), [form[1:] for form in FORMS], ids=[form[0] for form in FORMS]
)
def test_printed_form(env, printed, type_info, value, line):
    env.from_collection([value], type_info).print()
    assert printed() == [line]


def test_the_kind_of_a_row_is_printed(env, printed):
    row = Row("a")
    row.set_row_kind(RowKind.DELETE)
    env.from_collection([row], Types.ROW([Types.STRING()])).print()
    assert printed() == ["-D[a]"]


def test_an_identifier_and_a_subtask_are_printed(env, printed):
    env.set_parallelism(2)
    env.from_collection([1]).print("id")
    (line,) = printed()
    assert line in {"id:1> 1", "id:2> 1"}


def test_a_keyed_stream_prints_its_records_and_identifier(env, printed):
    env.from_collection(["a"]).key_by(lambda v: v).print("id")
    assert printed() == ["id> a"]


class Parameter(MapFunction):
    def open(self, runtime_context):
        self.found = runtime_context.get_job_parameter("limit", "none")

    def map(self, value):
        return value, self.found


def test_job_parameters_reach_functions(env):
    env.get_config().set_global_job_parameters({"limit": "7"})
    assert env.from_collection([1]).map(Parameter()).execute_and_collect(limit=1) == [(1, "7")]
