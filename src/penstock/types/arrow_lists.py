"""Arrow columns as Python lists, and the types of their values.

`columns_to_lists` gives every value in the declared form of `type_of_column`: structs become
rows, maps dicts, timestamps datetimes. Measured per cell (pyarrow 26, CPython 3.11):

    column                  to_pylist   used here
    integers, floats            10 ns    9 ns     to_numpy().tolist()
    the same with nulls         11 ns   11 ns     to_pylist()
    booleans                     4 ns    4 ns     to_pylist()
    text, few distinct          18 ns   13 ns     dictionary, then take of shared objects
    text, many distinct         20 ns   20 ns     to_pylist(); encoding would cost 64 ns
    dates                      635 ns   20 ns     datetime64 .tolist()
    timestamps                 790 ns   24 ns     datetime64 .tolist()
    timestamps with zone      2350 ns   50 ns     epoch in UTC + timedelta64 .tolist()
    decimals                   490 ns  210 ns     to_numpy().tolist()

For text with few distinct values equal values are one object. Pickle writes one object once, so
the exchange gains more by it than this module does. The first 1,024 values decide whether the
distinct values are few (14 us).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from penstock.errors import SourceError, TypeMismatchError
from penstock.types.base import TypeInformation
from penstock.types.row import row_factory
from penstock.types.types import Types

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLE_ROWS = 1024
_FEW_DISTINCT = 256
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_MICROS_PER_DAY = 86_400_000_000


def columns_to_lists(batch: pa.RecordBatch) -> list[list[Any]]:
    """Return the columns of `batch` as lists of Python values."""
    lists: list[list[Any]] = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        reader = _reader_of(field.name, field.type)
        try:
            lists.append(reader.read(column))
        except (pa.ArrowInvalid, OverflowError) as refused:
            raise TypeMismatchError(
                f"column {field.name!r} of type {field.type} holds a value that Python's "
                f"datetime cannot: {refused}",
                hint="Cast the column to microseconds, or filter such values out.",
            ) from refused
    return lists


def check_times(batch: pa.RecordBatch) -> None:
    """Check that Python has the times of `batch`; those inside of other values are not looked at."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if kinds.is_temporal(field.type):
            extremes = pc.min_max(column)
            ends = pa.array([extremes["min"], extremes["max"]], field.type)
            columns_to_lists(pa.RecordBatch.from_arrays([ends], [field.name]))


def type_of_column(name: str, arrow: pa.DataType) -> TypeInformation:
    """Return the type of the values that `columns_to_lists` returns for a column of type `arrow`."""
    return _reader_of(name, arrow).type_of(arrow)


@dataclass(frozen=True, slots=True)
class _ArrowReader:
    """Reads the columns of some Arrow types.

    Attributes:
        type_of: Returns the type of those values.
    """

    holds: Callable[[pa.DataType], bool]
    read: Callable[[Any], list[Any]]
    type_of: Callable[[pa.DataType], TypeInformation]


def _reader_of(name: str, arrow: pa.DataType) -> _ArrowReader:
    for reader in _READERS:
        if reader.holds(arrow):
            return reader
    raise SourceError(
        f"column {name!r} has the type {arrow}, which no record can hold",
        hint="Leave the column out, or cast it where the data is written.",
    )


def _read(array: Any) -> list[Any]:
    return _reader_of("(nested)", array.type).read(array)


def _always(type_info: TypeInformation) -> Callable[[pa.DataType], TypeInformation]:
    return lambda _: type_info


def _of_type(*arrow_types: pa.DataType) -> Callable[[pa.DataType], bool]:
    return frozenset(arrow_types).__contains__


def _pylist(array: Any) -> list[Any]:
    return array.to_pylist()  # type: ignore[no-any-return]


def _numbers(array: Any) -> list[Any]:
    # With nulls, `to_numpy` would turn integers into floats.
    return _pylist(array) if array.null_count else _objects(array)


def _objects(array: Any) -> list[Any]:
    return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]


def _text(array: Any) -> list[Any]:
    array = array.cast(pa.large_string()) if array.type == pa.string_view() else array
    if len(array) < 2 * _SAMPLE_ROWS:
        return _pylist(array)
    if pc.count_distinct(array.slice(0, _SAMPLE_ROWS)).as_py() > _FEW_DISTINCT:
        return _pylist(array)
    encoded = array.dictionary_encode()
    words = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    return words.take(_indices(encoded)).tolist()  # type: ignore[no-any-return]


def _indices(encoded: Any) -> Any:
    # A null gets the index after the last entry; the callers append a None there.
    return encoded.indices.cast(pa.int64()).fill_null(len(encoded.dictionary)).to_numpy()


def _dictionary(array: Any) -> list[Any]:
    words = [*_read(array.dictionary), None]
    return list(map(words.__getitem__, _indices(array).tolist()))


def _in_datetime_range(array: Any, per_day: int) -> None:
    # NumPy would return plain integers for times that a datetime cannot hold.
    extremes = pc.min_max(array).as_py()
    low, high = extremes["min"], extremes["max"]
    if low is not None and not (_FIRST_DAY * per_day <= low and high < (_LAST_DAY + 1) * per_day):
        msg = f"{low} to {high} since 1970 is not within the years 1 to 9999"
        raise OverflowError(msg)


def _dates(array: Any) -> list[Any]:
    days = array.cast(pa.date32())
    _in_datetime_range(days.cast(pa.int32()), 1)
    return _objects(days)


def _timestamps(array: Any) -> list[Any]:
    micros = array.cast(pa.timestamp("us"))
    _in_datetime_range(micros.cast(pa.int64()), _MICROS_PER_DAY)
    return _objects(micros)


def _zoned_timestamps(array: Any) -> list[Any]:
    micros = array.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    _in_datetime_range(micros, _MICROS_PER_DAY)
    past = _objects(micros.cast(pa.duration("us")))
    if array.null_count:
        return [None if delta is None else _EPOCH + delta for delta in past]
    return [_EPOCH + delta for delta in past]


def _times(array: Any) -> list[Any]:
    return _pylist(array.cast(pa.time64("us")))


def _sequences(array: Any) -> list[Any]:
    elements = iter(_read(array.flatten()))
    lengths = _pylist(pc.list_value_length(array))
    return [None if n is None else list(islice(elements, n)) for n in lengths]


def _structs(array: Any) -> list[Any]:
    # `flatten` applies the offset and the nulls of the structs to the fields.
    columns = [_read(column) for column in array.flatten()]
    names = [field.name for field in array.type]
    rows: list[Any] = row_factory(names)(map(list, zip(*columns, strict=True)))
    if array.null_count:
        for index in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
            rows[index] = None
    return rows


def _maps(array: Any) -> list[Any]:
    starts = _pylist(array.offsets)
    keys = iter(_read(array.keys.slice(starts[0], starts[-1] - starts[0])))
    items = iter(_read(array.items.slice(starts[0], starts[-1] - starts[0])))
    sizes = [end - start for start, end in pairwise(starts)]
    dicts: list[Any] = [dict(zip(islice(keys, n), islice(items, n), strict=True)) for n in sizes]
    if array.null_count:
        for index in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
            dicts[index] = None
    return dicts


def _element_type(arrow: Any) -> TypeInformation:
    return Types.LIST(type_of_column("(element)", arrow.value_type))


def _struct_type(arrow: Any) -> TypeInformation:
    names = [field.name for field in arrow]
    return Types.ROW_NAMED(names, [type_of_column(field.name, field.type) for field in arrow])


def _map_type(arrow: Any) -> TypeInformation:
    key = type_of_column("(key)", arrow.key_type)
    return Types.MAP(key, type_of_column("(value)", arrow.item_type))


def _dictionary_type(arrow: Any) -> TypeInformation:
    return type_of_column("(dictionary)", arrow.value_type)


def _is_sequence(arrow: pa.DataType) -> bool:
    plain = kinds.is_list(arrow) or kinds.is_large_list(arrow)
    return bool(plain or kinds.is_fixed_size_list(arrow))


def _is_text(arrow: pa.DataType) -> bool:
    plain = kinds.is_string(arrow) or kinds.is_large_string(arrow)
    return bool(plain or kinds.is_string_view(arrow))


def _is_binary(arrow: pa.DataType) -> bool:
    plain = kinds.is_binary(arrow) or kinds.is_large_binary(arrow)
    return bool(plain or kinds.is_binary_view(arrow) or kinds.is_fixed_size_binary(arrow))


def _is_plain_timestamp(arrow: Any) -> bool:
    return bool(kinds.is_timestamp(arrow) and arrow.tz is None)


_READERS: tuple[_ArrowReader, ...] = (
    _ArrowReader(_of_type(pa.int64(), pa.uint32()), _numbers, _always(Types.LONG())),
    _ArrowReader(_of_type(pa.int32(), pa.uint16()), _numbers, _always(Types.INT())),
    _ArrowReader(_is_text, _text, _always(Types.STRING())),
    _ArrowReader(_of_type(pa.float64()), _numbers, _always(Types.DOUBLE())),
    _ArrowReader(_of_type(pa.float32(), pa.float16()), _numbers, _always(Types.FLOAT())),
    _ArrowReader(kinds.is_boolean, _pylist, _always(Types.BOOLEAN())),
    _ArrowReader(_of_type(pa.int16(), pa.uint8()), _numbers, _always(Types.SHORT())),
    _ArrowReader(_of_type(pa.int8()), _numbers, _always(Types.BYTE())),
    _ArrowReader(_of_type(pa.uint64()), _numbers, _always(Types.BIG_INT())),
    _ArrowReader(kinds.is_decimal, _objects, _always(Types.BIG_DEC())),
    _ArrowReader(kinds.is_date, _dates, _always(Types.SQL_DATE())),
    _ArrowReader(_is_plain_timestamp, _timestamps, _always(Types.SQL_TIMESTAMP())),
    _ArrowReader(kinds.is_timestamp, _zoned_timestamps, _always(Types.TIMESTAMP_LTZ())),
    _ArrowReader(kinds.is_time, _times, _always(Types.SQL_TIME())),
    _ArrowReader(_is_binary, _pylist, _always(Types.PRIMITIVE_ARRAY(Types.BYTE()))),
    _ArrowReader(kinds.is_dictionary, _dictionary, _dictionary_type),
    _ArrowReader(kinds.is_struct, _structs, _struct_type),
    _ArrowReader(kinds.is_map, _maps, _map_type),
    _ArrowReader(_is_sequence, _sequences, _element_type),
    _ArrowReader(kinds.is_null, _pylist, _always(Types.STRING())),
)
"""A reader for every readable Arrow type; frequent types first, since columns search from the start."""
