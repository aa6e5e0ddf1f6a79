"""`cold`: a small batch."""

from __future__ import annotations

from penstock.common import Types
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])

env = StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
pairs = env.from_collection([(n % 5, n) for n in range(1000)], type_info=PAIR)
pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
env.execute("cold batch")
