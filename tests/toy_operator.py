"""A kind of operator of its own: all there is to it is a row, a class, and a function that adds it."""

from __future__ import annotations

from typing import Any

from penstock.common import Types
from penstock.datastream import DataStream, ValueStateDescriptor
from penstock.program.operator_kind import OperatorKind, StateUse, TimeUse
from penstock.runtime.operators.keyed import KeyedOperator

KEYED_NUMBERING = OperatorKind(
    "KEYED_NUMBERING",
    "tests.toy_operator:NumberingOperator",
    is_keyed=True,
    time=TimeUse.ORDERS,
    state=StateUse.ALWAYS,
    own_states=("numbers",),
)


class NumberingOperator(KeyedOperator):
    """Emits (key, how many records of the key there were before) for every record."""

    takes_keys_in_parts = True

    def __init__(self, spec: Any, output: Any, context: Any, scope: Any) -> None:
        super().__init__(spec, output, context, scope)
        self._number = context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        first = self._number.value() or 0
        self._number.update(first + len(values))
        self.emit([(key, first + i) for i in range(len(values))], timestamps)


def numbered(stream: DataStream) -> DataStream:
    """Return the stream of the operator; `stream` has a key."""
    env = stream.get_execution_environment()
    made = env.graph.add(
        KEYED_NUMBERING,
        "numbered",
        (stream.node_id,),
        type_info=Types.PICKLED_BYTE_ARRAY(),
        origin=None,
    )
    return env.stream_of(made)
