"""The names of `pyflink.datastream.formats.csv`."""

from penstock.connectors.files.csv_schema import CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from penstock.connectors.rows.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowDeserializationSchemaBuilder,
    CsvRowSerializationSchema,
    CsvRowSerializationSchemaBuilder,
)

__all__ = [
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowDeserializationSchemaBuilder",
    "CsvRowSerializationSchema",
    "CsvRowSerializationSchemaBuilder",
    "CsvSchema",
    "CsvSchemaBuilder",
]
