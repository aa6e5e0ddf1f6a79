"""`map_batches`: a function of batches of records, for models and libraries of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from penstock.api.environment.durations import Length, length_of, milliseconds_of
from penstock.api.functions.batch_functions import MapBatchFunction, form_of
from penstock.api.functions.callables import ToBatch
from penstock.api.streams.stream_base import StreamBase
from penstock.api.user_code import checked_type, method_of, name_of
from penstock.errors import ArgumentError
from penstock.expressions.typing import record_type
from penstock.program.function_calls import BatchSpec
from penstock.program.operators import MAP_BATCHES
from penstock.types.arrow import arrow_schema
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream

BATCH_SIZE = 8_192
"""Most records of a call of `map_batches`, if the program does not say."""


class BatchOperations(StreamBase[T], Generic[T]):
    """Base of `DataStream`: operations whose function takes batches of records."""

    def map_batches(
        self,
        func: ToBatch,
        output_type: TypeInformation[Row],
        *,
        batch_size: int = BATCH_SIZE,
        max_wait: Length | None = None,
    ) -> DataStream[Row]:
        """Replace batches of records by batches of results, row for row.

        The function gets the columns of the records, and returns columns: as `pyarrow.RecordBatch`, or as the
        annotation of its parameter says: `pandas.DataFrame`, `polars.DataFrame` or `dict[str, numpy.ndarray]`.
        How many records a batch has depends on the run, so a result must depend on its own row only.

        Args:
            func: A callable or a `MapBatchFunction`, whose `open` loads a model once per worker and subtask.
                It returns one row per row of the batch, in its order.
            output_type: Type of the results, a row with names. Further columns that `func` returns are left out.
            batch_size: Most records of a batch.
            max_wait: Longest time for which a record waits for others while more arrive. A batch never waits
                beyond the end of a micro-batch or the next watermark.

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
        records = record_type(self.get_type(), "map_batches")
        arrow_schema(records)
        method = method_of(func, MapBatchFunction, "map_batch", "map_batches")
        results = checked_type(output_type, "map_batches")
        if not isinstance(results, RowTypeInfo):
            raise ArgumentError.here(
                f"map_batches got the output_type {output_type!r}",
                hint="Pass Types.ROW_NAMED(names, types): a result is a row of columns.",
            )
        arrow_schema(results)
        if type(batch_size) is not int or batch_size < 1:
            raise ArgumentError.here(
                f"map_batches got batch_size={batch_size!r}", hint="Pass a whole number from 1."
            )
        wait = None if max_wait is None else milliseconds_of(length_of(max_wait, "map_batches"))
        called: Any = func if method is None else getattr(func, method)
        batches = BatchSpec(records, results, form_of(called), batch_size, wait)
        return self._derive(
            MAP_BATCHES,
            name_of(func, "map_batches"),
            results,
            function=func,
            method=method,
            batches=batches,
        )
