"""The descriptor of a counter."""

from penstock.api.state.descriptors import StateDescriptor
from penstock.common import Types
from tests.house.counter.kind import COUNTER


class CounterStateDescriptor(StateDescriptor):
    kind = COUNTER

    def __init__(self, name: str) -> None:
        super().__init__(name, Types.LONG())
