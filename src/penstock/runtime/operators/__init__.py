"""All operators: one file each. Which class runs a kind stands in its row of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from penstock.program.operator_kind import OperatorKind, StateUse
from penstock.program.operator_spec import OperatorSpec
from penstock.program.operators import CATALOGUE
from penstock.program.run_settings import RunSettings
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.state.handles.key_context import KeyContext
from penstock.state.level_state import LevelState


@cache
def operator_class(kind: OperatorKind) -> type[Operator]:
    """Return the class that runs operators of a kind.

    Raises:
        AssertionError: The kind is no operator.
    """
    assert kind.implementation is not None, f"{kind.name} is no operator"
    module, _, name = kind.implementation.partition(":")
    found: type[Operator] = getattr(import_module(module), name)
    return found


# All of them at once: a worker imports before it forks, and not in each of its children.
for _kind in CATALOGUE:
    if _kind.is_operator:
        operator_class(_kind)


def make_operator(
    spec: OperatorSpec, output: Output, settings: RunSettings, subtask: int, state: LevelState
) -> Operator:
    """Return the operator `spec` describes, not yet opened."""
    operator = operator_class(spec.kind)
    make: Callable[..., Operator] = operator
    if spec.kind.state is StateUse.NEVER:
        return make(spec, output, OperatorContext(spec, settings, subtask))
    scope = KeyedScope(state.backend, KeyContext(), state.group_of, state.now_ms)
    context = OperatorContext(spec, settings, subtask, scope)
    if issubclass(operator, KeyedOperator):
        return make(spec, output, context, scope)
    return make(spec, output, context)
