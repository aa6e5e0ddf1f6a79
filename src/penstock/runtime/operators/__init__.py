"""All operators, one file each. The catalogue names the class of each kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import OperatorKind, StateUse
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
    """Return the class that runs operators of a kind."""
    assert kind.implementation is not None, f"{kind.name} is no operator"
    module, _, name = kind.implementation.partition(":")
    implementation: type[Operator] = getattr(import_module(module), name)
    return implementation


# Imports all operators at once: a worker imports before it forks, not in each of its children.
for _kind in CATALOGUE:
    if _kind.is_operator:
        operator_class(_kind)


def make_operator(
    spec: OperatorSpec, output: Output, settings: RunSettings, subtask: int, state: LevelState
) -> Operator:
    """Return the operator that `spec` describes; it is not open yet."""
    operator = operator_class(spec.kind)
    make: Callable[..., Operator] = operator
    if spec.kind.state is StateUse.NEVER:
        return make(spec, output, OperatorContext(spec, settings, subtask))
    scope = KeyedScope(state.backend, KeyContext(), state.group_of, state.now_ms)
    context = OperatorContext(spec, settings, subtask, scope)
    if issubclass(operator, KeyedOperator):
        return make(spec, output, context, scope)
    return make(spec, output, context)
