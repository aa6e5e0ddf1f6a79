"""The handle of a counter."""

from penstock.state.handles.key_context import HandleParameters, KeyContext, Parts


class CounterState:
    """A number per key, 0 at first."""

    def __init__(self, parts: Parts, context: KeyContext) -> None:
        self._parts = parts
        self._context = context

    def add(self, number: int) -> None:
        self._parts[self._context.group].put(self._context.key, self.get() + number)

    def get(self) -> int:
        found: int | None = self._parts[self._context.group].get(self._context.key)
        return found or 0


def counter_state(parameters: HandleParameters) -> CounterState:
    return CounterState(Parts(parameters.ageless_table()), parameters.context)
