"""Programs without a key: map, flat_map, filter, process, union, project, partitioning."""

from __future__ import annotations

from penstock.common import Row, Types
from penstock.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    RuntimeContext,
)
from tests.conformance.catalog import program

NO_TIMESTAMP = -(2**63)


@program([2, 4, 6])
def map_takes_a_callable(env):
    return env.from_collection([1, 2, 3]).map(lambda n: n * 2)


class Doubler(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.factor = 2

    def map(self, value):
        return value * self.factor


@program([2, 4, 6])
def map_takes_a_function_object(env):
    return env.from_collection([1, 2, 3]).map(Doubler(), output_type=Types.INT())


class Callable:
    def __call__(self, value):
        return -value


@program([-1, -2])
def map_takes_any_callable_object(env):
    return env.from_collection([1, 2]).map(Callable())


@program([None, 1])
def a_map_may_return_none(env):
    return env.from_collection([None, 1]).map(lambda value: value)


@program(["a", "b", "c"])
def flat_map_takes_a_generator(env):
    def split(line):
        yield from line.split()

    return env.from_collection(["a b", "", "c"]).flat_map(split, Types.STRING())


class Repeat(FlatMapFunction):
    def flat_map(self, value):
        return [value] * value


@program([1, 2, 2])
def flat_map_takes_a_function_object(env):
    return env.from_collection([0, 1, 2]).flat_map(Repeat())


class Odd(FilterFunction):
    def filter(self, value):
        return value % 2


@program([1, 3])
def filter_keeps_what_is_true(env):
    return env.from_collection([1, 2, 3, 4]).filter(Odd())


@program([(1, "a")])
def filter_keeps_the_type(env):
    typed = env.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
    kept = typed.filter(lambda pair: pair[0] == 1)
    assert kept.get_type() == typed.get_type()
    return kept


class SomeOrNone(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        if value > 1:
            return range(value)
        return None


@program([0, 1, 0, 1, 2])
def process_may_return_none(env):
    return env.from_collection([0, 1, 2, 3]).process(SomeOrNone())


class Stamp(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@program([("a", NO_TIMESTAMP, NO_TIMESTAMP)])
def without_an_assigner_there_is_no_time(env):
    return env.from_collection(["a"]).process(Stamp())


class Position(MapFunction):
    """Counts over all records of the subtask: the instance is theirs together."""

    def __init__(self):
        self.seen = 0

    def map(self, value):
        self.seen += 1
        return value, self.seen


@program([("a", 1), ("b", 2), ("a", 3)], parallelism=1, batch_size=100)
def attributes_live_as_long_as_the_subtask(env):
    return env.from_collection(["a", "b", "a"]).map(Position())


class LifeCycle(MapFunction):
    def open(self, runtime_context):
        self.opened = getattr(self, "opened", 0) + 1

    def map(self, value):
        return self.opened

    def close(self):
        assert self.opened == 1


@program([1, 1, 1], parallelism=1)
def open_is_called_once(env):
    return env.from_collection([1, 2, 3]).map(LifeCycle())


class Task(MapFunction):
    def open(self, runtime_context):
        self.context = runtime_context

    def map(self, value):
        context = self.context
        assert 0 <= context.get_index_of_this_subtask() < context.get_number_of_parallel_subtasks()
        assert context.get_max_number_of_parallel_subtasks() >= 1
        assert context.get_task_name_with_subtasks().startswith(context.get_task_name())
        return (
            context.get_number_of_parallel_subtasks(),
            context.get_attempt_number(),
            context.get_job_parameter("missing", "fallback"),
        )


@program([(2, 0, "fallback")])
def the_runtime_context_tells_where_a_function_runs(env):
    return env.from_collection([1]).rebalance().map(Task())


@program([1, 2, 3, 1])
def union_keeps_everything(env):
    first, second = env.from_collection([1, 2]), env.from_collection([3])
    return first.union(second, env.from_collection([1]))


@program([1, 1])
def a_stream_may_be_united_with_itself(env):
    numbers = env.from_collection([1])
    return numbers.union(numbers)


@program([("x", 1), ("y", 2)])
def project_chooses_and_orders_fields(env):
    types = Types.TUPLE([Types.INT(), Types.FLOAT(), Types.STRING()])
    return env.from_collection([(1, 0.5, "x"), (2, 1.5, "y")], types).project(2, 0)


@program([1, 2, 3, 4])
def every_partitioning_delivers_once(env):
    numbers = env.from_collection([1, 2, 3, 4])
    return (
        numbers.rebalance()
        .map(lambda n: n)
        .rescale()
        .map(lambda n: n)
        .shuffle()
        .map(lambda n: n)
        .forward()
        .map(lambda n: n)
    )


@program(["a", "a", "b", "b"])
def broadcast_reaches_every_subtask(env):
    return env.from_collection(["a", "b"]).broadcast().map(lambda value: value)


@program(["a", "a", "a"])
def broadcast_reaches_as_many_subtasks_as_the_operator_has(env):
    return env.from_collection(["a"]).broadcast().map(lambda value: value).set_parallelism(3)


class Where(MapFunction):
    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return value, self.subtask


class ByLength(Partitioner):
    def partition(self, key, num_partitions):
        return key % num_partitions


class Length(KeySelector):
    def get_key(self, value):
        return len(value)


@program([("a", 1), ("bb", 0), ("ccc", 1)])
def a_custom_partitioner_chooses_the_subtask(env):
    words = env.from_collection(["a", "bb", "ccc"])
    return words.partition_custom(ByLength(), Length()).map(Where())


@program([("a", 0), ("bb", 0)])
def a_custom_partitioner_may_be_two_callables(env):
    words = env.from_collection(["a", "bb"])
    return words.partition_custom(lambda _key, _n: 0, lambda value: value).map(Where())


@program([(n, 0) for n in range(6)])
def force_non_parallel_is_one_subtask(env):
    return env.from_collection(list(range(6))).rebalance().map(Where()).force_non_parallel()


@program([0, 0, 1, 1, 2, 2], batch_size=100)
def rebalance_goes_round(env):
    spread = env.from_collection(list(range(6))).rebalance().map(Where()).set_parallelism(3)
    return spread.map(lambda pair: pair[1])


EVEN, BIG = OutputTag("even", Types.INT()), OutputTag("big")


class Sort(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2 == 0:
            yield EVEN, value
        if value > 2:
            yield BIG, f"big {value}"
        yield value


@program([2, 4])
def a_side_output_is_consumed_once(env):
    return env.from_collection([1, 2, 3, 4]).process(Sort()).get_side_output(EVEN)


@program([2, 4, -2, -4])
def a_side_output_is_consumed_twice(env):
    sorted_ = env.from_collection([1, 2, 3, 4]).process(Sort())
    again = sorted_.get_side_output(OutputTag("even", Types.INT())).map(lambda n: -n, Types.INT())
    return sorted_.get_side_output(EVEN).union(again)


@program([1, 2, 3, 4])
def a_side_output_nobody_reads_is_dropped(env):
    return env.from_collection([1, 2, 3, 4]).process(Sort())


@program(["big 3", "big 4", "2", "4", "1", "2", "3", "4"])
def several_side_outputs_and_the_main_output(env):
    sorted_ = env.from_collection([1, 2, 3, 4]).process(Sort())
    return sorted_.get_side_output(BIG).union(
        sorted_.get_side_output(EVEN).map(str), sorted_.map(str)
    )


@program([(1, "a")])
def a_tuple_that_begins_with_no_tag_is_a_record(env):
    class Pair(ProcessFunction):
        def process_element(self, value, ctx):
            yield 1, value

    return env.from_collection(["a"]).process(Pair())


@program([Row(id=1, name="a"), Row(id=2, name=None)])
def rows_have_names(env):
    typed = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    rows = env.from_collection([Row(1, "a"), (2, None)], typed)
    return rows.map(lambda row: Row(row.id, row["name"]), typed)


@program([[1, 2], []])
def lists_keep_their_form(env):
    return env.from_collection([[1, 2], []], Types.LIST(Types.INT())).map(
        lambda values: values, Types.LIST(Types.INT())
    )


@program([({"a": 1}, b"x", 1.5, True)])
def typed_fields_keep_their_values(env):
    types = Types.TUPLE(
        [
            Types.MAP(Types.STRING(), Types.LONG()),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.DOUBLE(),
            Types.BOOLEAN(),
        ]
    )
    return env.from_collection([({"a": 1}, b"x", 1.5, True)], types).map(lambda v: v, types)


@program([3, 5], parallelism=1, ordered=True)
def order_is_kept_without_a_redistribution(env):
    numbers = env.from_collection([1, 2, 3, 4, 5])
    return numbers.filter(lambda n: n > 1).filter(lambda n: n % 2).map(lambda n: n)


@program([1, 2, 2, 4])
def one_stream_may_have_many_readers(env):
    numbers = env.from_collection([1, 2])
    return numbers.union(numbers.map(lambda n: n * 2))


class Subtasks(MapFunction):
    def open(self, runtime_context):
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value):
        return value, self.subtasks


@program([(("a", 2), 3)])
def every_operator_has_its_own_parallelism(env):
    first = env.from_collection(["a"]).rebalance().map(Subtasks())
    return first.rebalance().map(Subtasks()).set_parallelism(3)
