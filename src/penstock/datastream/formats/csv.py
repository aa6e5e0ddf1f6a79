"""The names of `pyflink.datastream.formats.csv`."""

from __future__ import annotations

from penstock.connectors.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowDeserializationSchemaBuilder,
    CsvRowSerializationSchema,
    CsvRowSerializationSchemaBuilder,
)
from penstock.connectors.csv_schema import CsvReaderFormat, CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowDeserializationSchemaBuilder",
    "CsvRowSerializationSchema",
    "CsvRowSerializationSchemaBuilder",
    "CsvSchema",
    "CsvSchemaBuilder",
]
