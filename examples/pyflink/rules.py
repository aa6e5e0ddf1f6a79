"""Payments above a limit that changes. A program for PyFlink with broadcast state and a side output."""

from pyflink.common.typeinfo import Types
from pyflink.datastream import BroadcastProcessFunction, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
UNKNOWN = OutputTag("unknown", Types.STRING())


class Above(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        limit = ctx.get_broadcast_state(LIMITS).get(value[0])
        if limit is None:
            yield UNKNOWN, value[0]
        elif value[1] > limit:
            yield value

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(LIMITS).put(value[0], value[1])


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
limits = env.from_collection([("NO", 100), ("SE", 50)]).broadcast(LIMITS)
payments = env.from_collection([("NO", 80), ("SE", 80), ("DK", 5)])
above = payments.connect(limits).process(Above())
above.print()
above.get_side_output(UNKNOWN).print("unknown")
env.execute("limits")
