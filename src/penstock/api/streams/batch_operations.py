"""Functions of whole batches of records, of a stream or of a key."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from penstock.api.environment.setting_values import Length, length_of, milliseconds_of
from penstock.api.functions.async_functions import NO_RETRY_STRATEGY, AsyncRetryStrategy
from penstock.api.functions.function_classes import (
    MapBatchFunction,
    MapGroupFunction,
    ToBatch,
    ToGroup,
    form_of,
)
from penstock.api.streams.stream_base import StreamBase
from penstock.api.user_code import checked_type, method_of, name_of
from penstock.errors import ArgumentError
from penstock.expressions.typing import record_type
from penstock.program.function_calls import AsyncSpec, BatchSpec
from penstock.program.operators import ASYNC_MAP_BATCHES, KEYED_MAP_GROUPS, MAP_BATCHES
from penstock.types.arrow import arrow_schema
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream

BATCH_SIZE = 8_192
"""Default of the most records of a call of `map_batches`."""

CONCURRENT_BATCHES = 4
"""Default of the most calls of a coroutine at a time."""

_BATCHES = "map_batches"


class BatchOperations(StreamBase[T], Generic[T]):
    """Base of `DataStream`: operations whose function takes batches of records."""

    def map_batches(  # noqa: PLR0913 - settings, which have names
        self,
        func: ToBatch,
        output_type: TypeInformation[Row],
        *,
        batch_size: int = BATCH_SIZE,
        max_wait: Length | None = None,
        fixed_size: bool = False,
        max_concurrent_batches: int | None = None,
        timeout: Length | None = None,
        retry_strategy: AsyncRetryStrategy[Any] | None = None,
    ) -> DataStream[Row]:
        """Replace batches of records by batches of results, row for row.

        The function gets the columns of the records, and returns columns: as `pyarrow.RecordBatch`, or as the
        annotated class of its parameter: `pandas.DataFrame`, `polars.DataFrame` or `dict[str, numpy.ndarray]`.
        The number of records of a batch depends on the run, so a result must depend on its own row only.

        Args:
            func: A callable or a `MapBatchFunction`, whose `open` loads a model once per worker and subtask.
                It returns one row per row of the batch, in its order. It may be a coroutine: then several batches
                are in flight, and results keep the order of their records.
            output_type: Type of the results, a row with names. Further columns that `func` returns are left out.
            batch_size: Most records of a batch.
            max_wait: Longest time for which a record waits for others while more arrive. A batch never waits
                beyond the end of a micro-batch or the next watermark.
            fixed_size: Give every batch `batch_size` rows, as compiled models need: the last row is repeated,
                and results of repeated rows are dropped.
            max_concurrent_batches: Most calls of a coroutine at a time in a subtask; None is 4. Only for coroutines.
            timeout: For one batch, retries included, of a coroutine; None is no limit. Then the job fails.
            retry_strategy: After which errors a coroutine is called again for a batch; None is never.

        Returns:
            The results, with the timestamps of their records and without a key.

        Raises:
            ArgumentError: The stream has no columns, a type has no column form, the annotation is none of
                these, or another argument is wrong.

        Example:
            >>> def scored(batch: dict[str, np.ndarray]):
            ...     return {"customer": batch["f0"], "score": batch["f1"] * 0.5}
            >>> kind = Types.ROW_NAMED(["customer", "score"], [Types.STRING(), Types.DOUBLE()])
            >>> collect(orders.map_batches(scored, kind))[:2]
            [Row(customer='ann', score=2.5), Row(customer='bob', score=1.5)]
        """
        method = method_of(func, MapBatchFunction, "map_batch", _BATCHES)
        called: Any = func if method is None else getattr(func, method)
        wait = None if max_wait is None else milliseconds_of(length_of(max_wait, _BATCHES))
        batches = batch_spec(self.get_type(), called, output_type, _BATCHES, batch_size)
        batches = replace(batches, max_wait_ms=wait, is_fixed=fixed_size)
        async_io = _async_spec(called, max_concurrent_batches, timeout, retry_strategy)
        return self._derive(
            MAP_BATCHES if async_io is None else ASYNC_MAP_BATCHES,
            name_of(func, _BATCHES),
            batches.results,
            function=func,
            method=method,
            batches=batches,
            async_io=async_io,
        )


def batch_spec(
    type_info: object, called: Any, output_type: Any, operation: str, size: int
) -> BatchSpec:
    """Return the settings of an operation whose function takes batches."""
    records = record_type(type_info, operation)
    arrow_schema(records)
    results = checked_type(output_type, operation)
    if not isinstance(results, RowTypeInfo):
        raise ArgumentError.here(
            f"{operation} got the output_type {output_type!r}",
            hint="Pass Types.ROW_NAMED(names, types): a result is a row of columns.",
        )
    arrow_schema(results)
    _check_number(operation, "batch_size", size)
    return BatchSpec(records, results, form_of(called, operation), size)


def _async_spec(
    called: Any, capacity: int | None, timeout: Length | None, retry: AsyncRetryStrategy[Any] | None
) -> AsyncSpec | None:
    """Return the settings of a coroutine, None for another function."""
    options = {
        "max_concurrent_batches": capacity,
        "timeout": timeout,
        "retry_strategy": retry,
    }
    if not is_coroutine(called):
        for name, value in options.items():
            if value is not None:
                raise ArgumentError.here(
                    f"{_BATCHES} got {name}={value!r}, and its function is no coroutine",
                    hint="Write async def, or leave it out.",
                )
        return None
    if retry is not None and not isinstance(retry, AsyncRetryStrategy):
        raise ArgumentError.here(
            f"{_BATCHES} got retry_strategy={retry!r}", hint="Pass an AsyncRetryStrategy."
        )
    concurrency = CONCURRENT_BATCHES if capacity is None else capacity
    _check_number(_BATCHES, "max_concurrent_batches", concurrency)
    limit = 0 if timeout is None else milliseconds_of(length_of(timeout, _BATCHES))
    return AsyncSpec(
        ordered=True, timeout_ms=limit, capacity=concurrency, retry=retry or NO_RETRY_STRATEGY
    )


def is_coroutine(called: Any) -> bool:
    """Return whether a call makes a coroutine."""
    call = getattr(called, "__call__", None)  # noqa: B004 - what it is, not whether
    return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(call)


def _check_number(operation: str, name: str, value: Any) -> None:
    if type(value) is not int or value < 1:
        raise ArgumentError.here(
            f"{operation} got {name}={value!r}", hint="Pass a whole number from 1."
        )


_GROUPS = "map_groups"


class KeyedBatches(StreamBase[T], Generic[T]):
    """Base of `KeyedStream`: operations whose function takes batches of records of one key."""

    def map_groups(
        self,
        func: ToGroup,
        output_type: TypeInformation[Row],
        *,
        batch_size: int = BATCH_SIZE,
        any_rows: bool = False,
    ) -> DataStream[Row]:
        """Replace batches of records of one key by batches of results; the function may have keyed state.

        The function gets the columns of records of one key, in order of arrival, in a batch run in order of time, and
        returns columns; its annotation chooses their form, as that of `map_batches`. The division of the records of a
        key into batches is not defined: a micro-batch, a part of history, or fewer. So the result is the same in every
        mode if the results of two batches, one after the other, are those of one batch with the records of both. The
        function keeps values of earlier records in state, which `open` of a `MapGroupFunction` gets.

        Args:
            func: A callable or a `MapGroupFunction`. It returns one row per row of the batch, in its order.
            output_type: Type of the results, a row with names. Further columns that `func` returns are left out.
            batch_size: Most records of a batch.
            any_rows: True if it may return any number of rows. Then results have no timestamps.

        Returns:
            The results, with the timestamps of their records and without a key.

        Raises:
            ArgumentError: The stream has no columns, a type has no column form, the annotation is of no known form, or
                another argument is wrong.

        Example:
            >>> class Numbered(MapGroupFunction):
            ...     def open(self, runtime_context):
            ...         self.count = runtime_context.get_state(ValueStateDescriptor("count"))
            ...     def map_group(self, batch):
            ...         before = self.count.value() or 0
            ...         self.count.update(before + batch.num_rows)
            ...         return {"who": batch["f0"], "n": range(before, before + batch.num_rows)}
            >>> kind = Types.ROW_NAMED(["who", "n"], [Types.STRING(), Types.LONG()])
            >>> sorted(collect(orders.key_by(col.f0).map_groups(Numbered(), kind)), key=str)
            [Row(who='ann', n=0), Row(who='ann', n=1), Row(who='bob', n=0)]
        """
        method = method_of(func, MapGroupFunction, "map_group", _GROUPS)
        called: Any = func if method is None else getattr(func, method)
        if is_coroutine(called):
            raise ArgumentError.here(
                f"{_GROUPS} got the coroutine {name_of(func, _GROUPS)!r}, but the calls of a key run one after the other",
                hint="Write def instead of async def, and call services in a map_batches before it.",
            )
        batches = batch_spec(self.get_type(), called, output_type, _GROUPS, batch_size)
        batches = replace(batches, is_row_for_row=not any_rows)
        return self._derive(
            KEYED_MAP_GROUPS,
            name_of(func, _GROUPS),
            batches.results,
            function=func,
            method=method,
            batches=batches,
        )
