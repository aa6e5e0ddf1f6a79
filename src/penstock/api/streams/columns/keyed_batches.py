"""`map_groups`: a function of batches of records of one key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from penstock.api.functions.batch_functions import MapGroupFunction
from penstock.api.functions.callables import ToGroup
from penstock.api.streams.batch_operations import BATCH_SIZE, batch_spec, is_coroutine
from penstock.api.streams.stream_base import StreamBase
from penstock.api.user_code import method_of, name_of
from penstock.errors import ArgumentError
from penstock.program.operators import KEYED_MAP_GROUPS
from penstock.types.base import TypeInformation
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream

_NAME = "map_groups"


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
        returns columns; its annotation chooses their form, as that of `map_batches`. How the records of a key are cut
        is not defined: a micro-batch, a part of history, or fewer. So the answer is the same in every mode if the
        results of two batches, one after the other, are those of one batch with the records of both. What it has
        to know of earlier records it keeps in state, which `open` of a `MapGroupFunction` gets.

        Args:
            func: A callable or a `MapGroupFunction`. It returns one row per row of the batch, in its order.
            output_type: Type of the results, a row with names. Further columns that `func` returns are left out.
            batch_size: Most records of a batch.
            any_rows: Whether it may return any number of rows. Then results have no timestamps.

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
        method = method_of(func, MapGroupFunction, "map_group", _NAME)
        called: Any = func if method is None else getattr(func, method)
        if is_coroutine(called):
            raise ArgumentError.here(
                f"{_NAME} got the coroutine {name_of(func, _NAME)!r}, and calls of a key follow each other",
                hint="Write def. Call services in map_batches before, and keep state here.",
            )
        batches = batch_spec(self.get_type(), called, output_type, _NAME, batch_size)
        batches = replace(batches, is_row_for_row=not any_rows)
        return self._derive(
            KEYED_MAP_GROUPS,
            name_of(func, _NAME),
            batches.results,
            function=func,
            method=method,
            batches=batches,
        )
