"""Programs with two inputs: connected streams and broadcast state."""

from __future__ import annotations

from penstock.common import Types
from penstock.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    OutputTag,
)
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from tests.conformance.catalog import program
from tests.conformance.timely import in_order


class Words(CoMapFunction):
    def map1(self, value):
        return value if value > 1 else None

    def map2(self, value):
        return value.upper()


@program([2, "A"])
def co_map_tells_inputs_apart_and_drops_none(env):
    return env.from_collection([1, 2]).connect(env.from_collection(["a"])).map(Words())


class Flat(CoFlatMapFunction):
    def flat_map1(self, value):
        yield from range(value)

    def flat_map2(self, value):
        return [value] if value else None


@program([0, 1, "a"])
def co_flat_map_gives_any_number(env):
    connected = env.from_collection([2]).connect(env.from_collection(["", "a"]))
    return connected.flat_map(Flat())


SECOND = OutputTag("second", Types.STRING())


class Either(CoProcessFunction):
    def process_element1(self, value, ctx: CoProcessFunction.Context):
        yield value[0], ctx.timestamp()

    def process_element2(self, value, ctx):
        yield SECOND, value[0]


class Both(Either):
    process_element2 = Either.process_element1


@program([("a", 1), ("b", 2)])
def co_process_sees_time(env):
    one = in_order(env.from_collection([("a", 1)]))
    other = in_order(env.from_collection([("b", 2)]))
    return one.connect(other).process(Both())


@program(["b"])
def co_process_has_side_outputs(env):
    connected = env.from_collection([("a", 1)]).connect(env.from_collection([("b", 2)]))
    return connected.process(Either()).get_side_output(SECOND)


class Join(KeyedCoProcessFunction):
    """Gives a pair once both sides of a key are there; state is theirs together."""

    def open(self, runtime_context):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.INT()))
        self.right = runtime_context.get_state(ValueStateDescriptor("right", Types.INT()))

    def process_element1(self, value, ctx: KeyedCoProcessFunction.Context):
        self.left.update(value[1])
        return self.joined(ctx)

    def process_element2(self, value, ctx):
        self.right.update(value[1])
        return self.joined(ctx)

    def joined(self, ctx):
        left, right = self.left.value(), self.right.value()
        if left is not None and right is not None:
            yield ctx.get_current_key(), left, right


LEFT, RIGHT = [("a", 1), ("b", 2)], [("b", 20), ("a", 10), ("c", 30)]


@program([("a", 1, 10), ("b", 2, 20)])
def connected_streams_share_the_state_of_a_key(env):
    connected = env.from_collection(LEFT).connect(env.from_collection(RIGHT))
    return connected.key_by(lambda v: v[0], lambda v: v[0], Types.STRING()).process(Join())


@program([("a", 1, 10), ("b", 2, 20)])
def keyed_streams_may_be_connected(env):
    left = env.from_collection(LEFT).key_by(lambda v: v[0])
    return left.connect(env.from_collection(RIGHT).key_by(lambda v: v[0])).process(Join())


class CountBoth(CoMapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def counted(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()

    map1 = map2 = counted


@program([("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)])
def a_keyed_co_map_has_state(env):
    connected = env.from_collection(LEFT).connect(env.from_collection(RIGHT))
    return connected.key_by(lambda v: v[0], lambda v: v[0]).map(CountBoth())


class SharedTimer(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])

    process_element2 = process_element1

    def on_timer(self, timestamp, ctx: KeyedCoProcessFunction.OnTimerContext):
        yield ctx.get_current_key(), timestamp


@program([("a", 1), ("a", 10), ("b", 2), ("b", 20), ("c", 30)])
def both_inputs_register_timers(env):
    left, right = in_order(env.from_collection(LEFT)), in_order(env.from_collection(RIGHT))
    connected = left.connect(right).key_by(lambda v: v[0], lambda v: v[0])
    return connected.process(SharedTimer())


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Limit(BroadcastProcessFunction):
    def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext):
        limit = ctx.get_broadcast_state(RULES).get("limit")
        if limit is None or value <= limit:
            yield value

    def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context):
        ctx.get_broadcast_state(RULES).put("limit", value)


@program(batch=[1, 2])
def rules_come_first_in_a_batch(env):
    rules = env.from_collection([1, 2]).broadcast(RULES)
    return env.from_collection([1, 2, 3, 4]).connect(rules).process(Limit(), Types.INT())


class CountRules(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        return None

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(RULES)
        state.put(value, len(list(state.keys())))
        yield value


@program(["x"] * 3 + ["y"] * 3)
def every_subtask_sees_every_broadcast_element(env):
    rules = env.from_collection(["x", "y"]).broadcast(RULES)
    data = env.from_collection([1]).rebalance()
    return data.connect(rules).process(CountRules()).set_parallelism(3)


class Threshold(KeyedBroadcastProcessFunction):
    """Gives sums of keys at the end, of values that reach the rule, by timer."""

    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

    def process_element(self, value, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext):
        self.sum.update((self.sum.value() or 0) + value[1])
        assert ctx.get_current_key() == value[0]
        ctx.timer_service().register_event_time_timer(10**6)

    def process_broadcast_element(self, value, ctx: KeyedBroadcastProcessFunction.Context):
        ctx.get_broadcast_state(RULES).put_all({"least": value})

    def on_timer(self, timestamp, ctx: KeyedBroadcastProcessFunction.OnTimerContext):
        rules = ctx.get_broadcast_state(RULES)
        assert rules.contains("least")
        assert not rules.is_empty()
        if self.sum.value() >= rules.get("least"):
            yield ctx.get_current_key(), self.sum.value(), dict(rules.items())


@program([("a", 5, {"least": 4})])
def a_keyed_stream_reads_broadcast_state_in_timers(env):
    rules = in_order(env.from_collection([(4, 1)])).map(lambda v: v[0]).broadcast(RULES)
    keyed = in_order(env.from_collection([("a", 2), ("b", 3), ("a", 3)])).key_by(lambda v: v[0])
    return keyed.connect(rules).process(Threshold())


NAMES = MapStateDescriptor("names", Types.INT(), Types.STRING())


class TwoStates(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_broadcast_state(NAMES).get(ctx.get_broadcast_state(RULES).get(value))

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        ctx.get_broadcast_state(NAMES).put(value[1], value[2])


@program(batch=["one"])
def a_stream_may_be_broadcast_with_several_states(env):
    rules = env.from_collection([("x", 1, "one")]).broadcast(RULES, NAMES)
    return env.from_collection(["x"]).connect(rules).process(TwoStates())


ASIDE = OutputTag("aside")


class Aside(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield ASIDE, value
        yield "main"

    def process_broadcast_element(self, value, ctx):
        yield ASIDE, value


@program([1, "rule"], parallelism=1)
def broadcast_functions_have_side_outputs(env):
    rules = env.from_collection(["rule"]).broadcast(RULES)
    return env.from_collection([1]).connect(rules).process(Aside()).get_side_output(ASIDE)


class KeyedAside(KeyedBroadcastProcessFunction):
    process_element = Aside.process_element
    process_broadcast_element = Aside.process_broadcast_element


@program([1, "rule"], parallelism=1)
def keyed_broadcast_functions_have_side_outputs(env):
    rules = env.from_collection(["rule"]).broadcast(RULES)
    keyed = env.from_collection([1]).key_by(lambda n: n)
    return keyed.connect(rules).process(KeyedAside()).get_side_output(ASIDE)


@program(["main"], parallelism=1)
def side_outputs_of_keyed_broadcast_functions_do_not_leak(env):
    rules = env.from_collection(["rule"]).broadcast(RULES)
    keyed = env.from_collection([1]).key_by(lambda n: n)
    return keyed.connect(rules).process(KeyedAside())


class KeyedCoAside(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield ASIDE, value

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp, ctx):
        yield ASIDE, timestamp


@program(["x", 7])
def keyed_co_process_has_side_outputs(env):
    one, other = env.from_collection(["x"]), env.from_collection(["x"])
    connected = one.connect(other).key_by(lambda v: v, lambda v: v)
    return connected.process(KeyedCoAside()).get_side_output(ASIDE)


class EndsWith(BroadcastProcessFunction):
    """Fails if the side that only reads could write."""

    def process_element(self, value, ctx):
        state = ctx.get_broadcast_state(RULES)
        yield hasattr(state, "put"), sorted(state.keys()), sorted(state.values())

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(RULES)
        state.put(value, 1)
        if value == "gone":
            state.remove(value)


@program(batch=[(False, ["kept"], [1])])
def broadcast_state_is_read_only_on_the_other_side(env):
    rules = env.from_collection(["kept", "gone"]).broadcast(RULES)
    return env.from_collection([1]).connect(rules).process(EndsWith())


@program([("a", 1, 10), ("b", 2, 20)])
def connected_streams_are_keyed_anew(env):
    left = env.from_collection(LEFT).key_by(lambda v: v[1])
    connected = left.connect(env.from_collection(RIGHT))
    return connected.key_by(lambda v: v[0], lambda v: v[0]).process(Join())
