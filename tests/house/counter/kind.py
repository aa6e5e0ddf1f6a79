"""The row of a kind of state: a number per key."""

from penstock.state.schema.entry_schema import StateKind

COUNTER = StateKind("counter", handle="tests.house.counter.handle:counter_state")
