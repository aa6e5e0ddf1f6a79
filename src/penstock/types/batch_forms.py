"""The forms in which a function takes and returns a batch of records: the columns of four libraries.

pyarrow.RecordBatch       the batch itself
pandas.DataFrame          NULL as pandas has it: NaN in numbers
polars.DataFrame          what the class of the annotation makes of Arrow data
dict[str, numpy.ndarray]  an array per column; of columns with NULL or of other values an array of objects
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import pyarrow as pa

Form = Callable[[pa.RecordBatch], Any]


def arrow_form(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch."""
    return batch


def pandas_form(batch: pa.RecordBatch) -> Any:
    """Return a DataFrame of pandas."""
    return batch.to_pandas()


def numpy_form(batch: pa.RecordBatch) -> dict[str, Any]:
    """Return an array of NumPy per column."""
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return {name: column.to_numpy(zero_copy_only=False) for name, column in columns}


def polars_form(batch: pa.RecordBatch) -> Any:
    """Return a DataFrame of Polars, from the installation of the program."""
    return import_module("polars").from_arrow(batch)  # no dependency of ours


FORMS: dict[str, Form] = {
    "pyarrow.RecordBatch": arrow_form,
    "pandas.DataFrame": pandas_form,
    "polars.DataFrame": polars_form,
    "builtins.dict": numpy_form,
}
"""Top module and name of an annotated class to the form."""


def record_batch(result: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns of a schema from a result of a function; other columns are left out."""
    columns = _columns(result)
    missing = [name for name in schema.names if name not in columns]
    if missing:
        has = ", ".join(map(str, columns)) or "none"
        msg = f"the columns {', '.join(missing)} are missing; it has {has}"
        raise ValueError(msg)
    arrays = [_array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(result: Any) -> Mapping[str, Any]:
    if isinstance(result, Mapping):
        return result
    if not isinstance(result, pa.RecordBatch | pa.Table):
        result = _arrow(result)
    return dict(zip(result.schema.names, result.columns, strict=True))


def _arrow(result: Any) -> pa.Table:
    if hasattr(result, "to_arrow"):  # Polars
        return result.to_arrow()
    if type(result).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(result, preserve_index=False)
    msg = f"it returned {type(result).__name__}, which is not a batch of columns"
    raise ValueError(msg)


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.Array):
        return column if column.type == kind else column.cast(kind)
    return pa.array(column, kind, from_pandas=True)
