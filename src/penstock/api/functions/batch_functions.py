"""`MapBatchFunction`, `MapGroupFunction`: functions of batches of records, as objects with `open`."""

from __future__ import annotations

import inspect
import typing
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.api.functions.function_classes import Function
from penstock.errors import ArgumentError
from penstock.types.batch_forms import FORMS, Form, arrow_form


class MapBatchFunction(Function):
    """Returns one row per row of a batch; for `map_batches`.

    `open` is called once per worker and subtask: load a model there.

    Example:
        >>> class Score(MapBatchFunction):
        ...     def open(self, runtime_context):
        ...         self.weights = np.array([2.0])
        ...     def map_batch(self, batch: dict[str, np.ndarray]):
        ...         return {"score": batch["f1"] * self.weights[0]}
        >>> scores = orders.map_batches(Score(), Types.ROW_NAMED(["score"], [Types.DOUBLE()]))
        >>> collect(scores)
        [Row(score=10.0), Row(score=6.0), Row(score=14.0)]
    """

    @abstractmethod
    def map_batch(self, batch: Any) -> Any:
        """Return as many rows as the batch has, in the same order. It may be a coroutine (`async def`).

        How many records a batch has depends on the run, so a result must depend on its own row only. After a
        failure of the job it may be called again for the same records.

        Args:
            batch: A `pyarrow.RecordBatch`, or what the annotation says: `pandas.DataFrame`, `polars.DataFrame`
                or `dict[str, numpy.ndarray]`. It must not be changed.
        """


class MapGroupFunction(Function):
    """Returns rows for a batch of records of one key; for `map_groups`.

    `open` gets the keyed state. What the next batch of the key has to know must be in state.

    Example:
        >>> class Running(MapGroupFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...     def map_group(self, batch: dict[str, np.ndarray]):
        ...         totals = (self.total.value() or 0) + np.cumsum(batch["f1"])
        ...         self.total.update(int(totals[-1]))
        ...         return {"who": batch["f0"], "total": totals}
        >>> kind = Types.ROW_NAMED(["who", "total"], [Types.STRING(), Types.LONG()])
        >>> totals = collect(orders.key_by(col.f0).map_groups(Running(), kind))
        >>> [row.total for row in totals if row.who == "ann"]
        [5, 12]
    """

    @abstractmethod
    def map_group(self, batch: Any) -> Any:
        """Return the results for some records of one key.

        How the records of a key are cut into batches depends on the run. So the results of two batches, one after
        the other, must be those of one batch that has the records of both.

        Args:
            batch: A `pyarrow.RecordBatch`, or what the annotation says: `pandas.DataFrame`, `polars.DataFrame`
                or `dict[str, numpy.ndarray]`. It has at least one row, and must not be changed.
        """


def form_of(function: Callable[..., Any], operation: str) -> Form:
    """Return the form of batches that the annotation of a function asks for.

    Args:
        function: Gets a batch.
        operation: Name of the API method, for messages.

    Raises:
        ArgumentError: The annotation is none of the forms.
    """
    asked = _first_annotation(function)
    if asked is None or asked is Any:
        return arrow_form
    found = _form(asked)
    if found is None:
        raise ArgumentError.here(
            f"{operation} got a function of {asked!r}",
            hint="Annotate its parameter with pyarrow.RecordBatch, pandas.DataFrame, polars.DataFrame or "
            "dict[str, numpy.ndarray].",
        )
    return found


def _first_annotation(function: Callable[..., Any]) -> Any:
    """Return the annotation of the first parameter, also of a partial function and of an object's `__call__`."""
    try:
        found = inspect.signature(function, eval_str=True)
    except NameError:  # a name that is imported for type checkers only
        found = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in
        return None
    first = next(iter(found.parameters.values()), None)
    return None if first is None or first.annotation is first.empty else first.annotation


def _form(asked: Any) -> Form | None:
    if isinstance(asked, str):
        last = asked.partition("[")[0].rpartition(".")[2]
        heads = {"pd": "pandas", "pl": "polars", "pa": "pyarrow"}
        head = asked.partition(".")[0] if "." in asked.partition("[")[0] else "builtins"
        return FORMS.get(f"{heads.get(head, head)}.{last}")
    kind = typing.get_origin(asked) or asked
    module = getattr(kind, "__module__", "").partition(".")[0]
    return FORMS.get(f"{module}.{getattr(kind, '__name__', '')}")
