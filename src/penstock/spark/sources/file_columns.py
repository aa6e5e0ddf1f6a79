"""Refuses files with columns that Spark would silently omit or leave empty.

| format | checked | refused | hint |
|---|---|---|---|
| ORC, declared | the schema of every file | a type whose values do not fit | declare what the files have |
| ORC | the schema of every file | timestamps that Spark reads in another zone than the source names | name it; `-Duser.timezone` |
| Parquet, ORC | the schema of every file | a column that the inferred schema has not | declare the type; `mergeSchema` |
| JSON | the first 16 KiB of every file | a field that differs from a column by case only | declare what the files have |
| | | of an inferred schema: any field it has not | declare the type |
| CSV of Spark's reader with `multiLine` | every file, if it is local | a quote that is left open | close it |
| other CSV | every line (`open_quotes`) | a quote that is left open | close it, `mode=PERMISSIVE` |
| with names, declared | up to 100 files | a column that no file has, so it would be None | did you mean |

Files of history are checked before they are read, a live file before results of it become visible. Spark
itself checks the header of every CSV file without `multiLine` (`file_options`).

Types of ORC files beside the declared ones: Spark's reader converts what does not fit without a word.

decimal(10,2) 1.50 as BIG_INT ──▶ 2        bigint 2**40 as INT ──▶ None        bigint 5 as BOOLEAN ──▶ True
timestamp 12:00, without a zone ──▶ 12:00 of the zone of the JVM that reads it, which can be another one tomorrow
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from penstock.config.options import MISSING_COLUMNS
from penstock.config.parse import zone_named
from penstock.connectors.files.file_source import FileSource
from penstock.errors import CallSite, SourceError, did_you_mean
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import hadoop_path, load_path, local_file, plain
from penstock.spark.sources.open_quotes import looks_for_open_quotes, open_quote
from penstock.spark.sources.pinned_files import declared_schema
from penstock.spark.sources.unreadable_files import (
    HEAD_BYTES,
    Refused,
    head_of,
    is_compressed,
    unreadable,
)

_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_READ_AS_INT = (ByteType, ShortType, IntegerType)
_TEXTS = (StringType, CharType, VarcharType)
_TIMES = (TimestampType, TimestampNTZType)
_has_local_time = re.compile(r"(^|[<,:])timestamp($|[>,])").search


def misfit(actual: StructType, declared: StructType) -> str | None:
    """Return the first column of a file that does not fit the declared columns, None if all fit."""
    declared_fields = {field.name.lower(): field for field in declared.fields}
    for field in actual.fields:
        expected = declared_fields.get(field.name.lower())
        if expected is not None and not fits(field.dataType, expected.dataType):
            types = f"{field.dataType.simpleString()}, and {expected.dataType.simpleString()}"
            return f"column {field.name!r} is {types} is declared"
    return None


def fits(actual: DataType, declared: DataType) -> bool:
    """Return whether every value of a type is one of another."""
    if actual == declared:
        return True
    if isinstance(declared, ArrayType):
        return isinstance(actual, ArrayType) and fits(actual.elementType, declared.elementType)
    if isinstance(declared, MapType):
        return (
            isinstance(actual, MapType)
            and fits(actual.keyType, declared.keyType)
            and fits(actual.valueType, declared.valueType)
        )
    if isinstance(declared, StructType):
        return isinstance(actual, StructType) and misfit(actual, declared) is None
    return _scalar_fits(actual, declared)


def _scalar_fits(actual: DataType, declared: DataType) -> bool:
    digits = _DIGITS.get(type(actual))
    if isinstance(declared, _READ_AS_INT):  # narrow ones are checked behind the reader
        return isinstance(actual, _READ_AS_INT)
    if isinstance(declared, LongType):
        return digits is not None
    if isinstance(declared, DoubleType):
        return isinstance(actual, (FloatType, *_READ_AS_INT))
    if isinstance(declared, DecimalType):
        before = declared.precision - declared.scale
        if isinstance(actual, DecimalType):
            return actual.scale <= declared.scale and actual.precision - actual.scale <= before
        return digits is not None and digits <= before
    return any(
        isinstance(declared, kinds) and isinstance(actual, kinds) for kinds in (_TEXTS, _TIMES)
    )


def other_zone(session: SparkSession, uri: str, zone: str, names: frozenset[str]) -> str | None:
    """Return the columns of a file that Spark would read in another zone; None without any.

    Names of columns are in lower case; without any, all are read.
    """
    jvm: Any = session._jvm  # noqa: SLF001 - Spark has one type for both timestamps of ORC
    conf, path = hadoop_path(session, uri)
    orc, reader = jvm.org.apache.orc, None
    try:
        reader = orc.OrcFile.createReader(path, orc.OrcFile.readerOptions(conf))
        schema = reader.getSchema()
        columns = dict(zip(schema.getFieldNames(), map(str, schema.getChildren()), strict=True))
    except Py4JJavaError:
        return None  # it is damaged: the reader raises the error
    finally:
        if reader is not None:
            reader.close()
    local = [
        name
        for name, kind in columns.items()
        if _has_local_time(kind) and (not names or name.lower() in names)
    ]
    if not local:
        return None
    here = sf.java_method(sf.lit("java.time.ZoneId"), sf.lit("systemDefault"))  # of an executor
    (found_zone,) = session.range(1).select(here).collect()[0]
    zones = jvm.java.time.ZoneId
    if zones.of(found_zone).getRules().equals(zones.of(zone).getRules()):
        return None
    return (
        f"column {local[0]!r} has timestamps without a zone, which Spark reads in that of its "
        f"JVM, {found_zone}, and not in {zone}"
    )


_MANY = 8
"""From this number of files on, a Spark job checks them."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """Checks the files of one source."""

    session: SparkSession
    source: FileSource
    schema: StructType
    origin: CallSite | None

    def check(self, sizes: Mapping[str, int]) -> None:
        """Refuse files that would lose columns, or be read as empty."""
        for uri, size in sizes.items():
            self._refuse(unreadable(self.session, self.source, uri, size))
            self._refuse(self._in_another_zone(uri) if self.source.format == "orc" else None)
        check, files = _check_of(self.source), list(sizes)
        if check is None:
            return
        if check is _columns and self._all_fit(files):
            return
        # One job checks lines, whatever the number of files.
        for looked_at in [files] if check is _lines else [[uri] for uri in files]:
            self._refuse(check(self, *looked_at))

    def _refuse(self, refused: Refused) -> None:
        if refused is not None:
            raise SourceError(refused[0], hint=refused[1], origin=self.origin)

    def _in_another_zone(self, uri: str) -> Refused:
        options = {name.lower(): value for name, value in self.source.options.items()}
        zone = options.get("timezone", "UTC")
        zone_named(zone)
        declared = self.source.type_info
        names = frozenset() if declared is None else frozenset(map(str.lower, declared.field_names))
        problem = other_zone(self.session, uri, zone, names)
        hint = (
            "Start the JVMs of Spark with -Duser.timezone=UTC (spark.driver.extraJavaOptions, "
            "spark.executor.extraJavaOptions), or name the zone: options={'timeZone': …}."
        )
        return None if problem is None else (f"{uri}: {problem}", hint)

    def _all_fit(self, files: list[str]) -> bool:
        """Return whether one Spark job has found no bad file; False for local files, which are cheap to open."""
        here = self.source.format == "parquet" and all(map(local_file, files))
        if here or len(files) < _MANY:
            return False
        read = self.session.read.format(self.source.format).option("mergeSchema", "true")
        try:
            return self.unknown(read.load(list(map(load_path, files))).schema.names) is None
        except (PySparkException, Py4JJavaError):
            return False  # their types differ: they are checked one by one

    def unknown(self, names: Iterable[str]) -> str | None:
        """Return the first of some names that is no column, with Spark's comparison of names."""
        known = set(map(self.compared, self.schema.names))
        return next((name for name in names if self.compared(name) not in known), None)

    def compared(self, name: str) -> str:
        """Return the form in which names of columns are compared: those of JSON with their case."""
        is_exact = self.source.format == "json" or (
            self.session.conf.get("spark.sql.caseSensitive") == "true"
        )
        return name if is_exact else name.lower()

    def names_of(self, uri: str) -> list[str] | None:
        """Return the names of columns that a file has; None if it is not known, or it has no record."""
        opened = _OPENED.get(self.source.format)
        if opened is not None:
            return opened(self.session, uri)
        if self.source.format != "json":
            return None
        records = [record for _, record in _records(head_of(self.session, uri) or b"")]
        return list({name: None for record in records for name in record}) or None


def _check_of(source: FileSource) -> Callable[..., Refused] | None:
    """Return the check for files of a source, None if Spark cannot silently lose their columns."""
    options = {name.lower(): value.lower() for name, value in source.options.items()}
    several_lines = options.get("multiline") == "true"
    if source.format in _OPENED and source.type_info is None:
        return _columns
    if source.format == "orc":
        return _types_of_orc
    if source.format == "json" and not several_lines:
        return _fields
    if source.format == "csv" and several_lines:
        return _quotes if source.by_lines is None else None
    return _lines if source.by_lines is None and looks_for_open_quotes(source) else None


def _columns(columns: FileColumns, uri: str) -> Refused:
    try:
        names = _OPENED[columns.source.format](columns.session, uri)
    except (OSError, pa.ArrowException):
        return None  # it is damaged: the reader raises the error about damaged files
    lost = columns.unknown(names)
    if lost is None:
        return None
    return (
        (
            f"{uri} has the column {lost!r}, which {columns.source.describe()} have not: their columns "
            f"are {', '.join(columns.schema.names)}, as the first of them has"
        ),
        (
            "Declare type_info with the columns you need, or take those of all files there are: "
            "options={'mergeSchema': 'true'}."
        ),
    )


def _types_of_orc(columns: FileColumns, uri: str) -> Refused:
    try:
        schema = columns.session.read.format("orc").load(load_path(uri)).schema
    except (PySparkException, Py4JJavaError):
        return None  # it is damaged: the reader raises the error
    declared = declared_schema(columns.source)
    assert declared is not None, "the check is of declared types"
    wrong = misfit(schema, declared)
    return None if wrong is None else (f"{uri}: {wrong}", "Declare the type that the file has.")


def _of_spark(format_name: str, session: SparkSession, uri: str) -> list[str]:
    from_uri = session.read.format(format_name).load(load_path(uri))
    return list(from_uri.schema.names)


def _of_parquet(session: SparkSession, uri: str) -> list[str]:
    local = local_file(uri)
    if local is None:
        return _of_spark("parquet", session, uri)
    return list(pq.read_schema(local).names)


_OPENED: Mapping[str, Callable[[SparkSession, str], list[str]]] = {
    "parquet": _of_parquet,
    "orc": partial(_of_spark, "orc"),
}


def _fields(columns: FileColumns, uri: str) -> Refused:
    known = columns.schema.names
    by_case = {name.lower(): name for name in known}
    inferred = columns.source.type_info is None
    for number, record in _records(head_of(columns.session, uri) or b""):
        for name in record.keys() - set(known):
            twin = by_case.get(name.lower())
            if twin is not None and twin not in record:
                return (
                    (
                        f"{uri}, line {number}: the record has the field {name!r} and not {twin!r}, so "
                        f"{twin!r} would be None"
                    ),
                    (
                        "Names of JSON fields are compared with their case. Correct the file, or "
                        f"declare {name!r} in type_info."
                    ),
                )
            if inferred:
                return (
                    (
                        f"{uri}, line {number}: the record has the field {name!r}, which "
                        f"{columns.source.describe()} did not have when the job began"
                    ),
                    "Declare type_info with the fields you need.",
                )
    return None


def _records(head: bytes) -> Iterable[tuple[int, dict[str, Any]]]:
    """Yield number and fields of the complete lines at the beginning of a file that are objects."""
    lines = head.split(b"\n")
    whole = lines if len(head) < HEAD_BYTES else lines[:-1]
    for number, line in enumerate(whole, 1):
        try:
            record = json.loads(line)
        except ValueError:  # the reader raises the error
            continue
        if isinstance(record, dict):
            yield number, record


def _quotes(columns: FileColumns, uri: str) -> Refused:
    local = local_file(uri)
    lower_case = {name.lower(): value for name, value in reader_options(columns.source).items()}
    quote = lower_case.get("quote", '"')
    if local is None or is_compressed(local) or lower_case.get("escape") != quote:
        return None
    with local.open("rb") as file:
        count = sum(part.count(quote.encode()) for part in iter(partial(file.read, 1 << 24), b""))
    if count % 2 == 0:
        return None
    return (
        f"{uri} has {count} quotes: one is left open, and would take in the lines behind it",
        "Close it, or double the quotes that are text.",
    )


def _lines(columns: FileColumns, *uris: str) -> Refused:
    problem = open_quote(columns.session, columns.source, columns.schema, uris)
    if problem is None:
        return None
    return (
        problem,
        "Close the quote, or double quotes that are text; or set options={'mode': 'PERMISSIVE'}.",
    )


_LOOKED_AT = 100
_logger = logging.getLogger("penstock")


def note_missing_columns(columns: FileColumns, uris: Iterable[str], action: str) -> None:
    """Warn of declared columns that no file has, or refuse them."""
    declared = columns.source.type_info
    if action == "ignore" or declared is None:
        return
    missing, names = _missing(columns, uris, declared.field_names)
    if not missing or not names:
        return
    name = missing[0]
    others = tuple(other for other in names if other not in declared.field_names)
    problem = (
        f"no file of {columns.source.describe()} that was looked at has the column {name!r}, so it is None in every "
        f"record{did_you_mean(name, others)}"
    )
    if action == "error":
        hint = f"Correct its name, or leave it out of type_info; or set {MISSING_COLUMNS.key}=warn."
        raise SourceError(problem, hint=hint, origin=columns.origin)
    where = "" if columns.origin is None else f" ({columns.origin})"
    _logger.warning("%s%s; %s=error refuses it", problem, where, MISSING_COLUMNS.key)


def _missing(
    columns: FileColumns, uris: Iterable[str], declared: Collection[str]
) -> tuple[list[str], dict[str, None]]:
    """Return the declared names that no file has, and all names that were found."""
    missing, all_names = list(declared), dict[str, None]()
    for uri in islice(uris, _LOOKED_AT):
        try:
            names = columns.names_of(uri)
        except (OSError, pa.ArrowException):
            continue  # it is damaged: the reader raises the error
        if names is None:
            continue
        all_names |= dict.fromkeys(names)
        parts = (name.partition("=") for name in plain(uri).split("/"))
        known = {columns.compared(n) for n in [*names, *(n for n, mark, _ in parts if mark)]}
        missing = [name for name in missing if columns.compared(name) not in known]
        if not missing:
            break
    return missing, all_names
