"""Spark's names of the types that functions compute with."""

from __future__ import annotations

SQL_TYPES: dict[str, str] = {
    "Boolean": "boolean",
    "Byte": "tinyint",
    "Short": "smallint",
    "Integer": "int",
    "Long": "bigint",
    "Float": "float",
    "Double": "double",
    "String": "string",
    "BigDecimal": "decimal(38,18)",
    "SqlDate": "date",
    "SqlTimestamp": "timestamp_ntz",
    "TimestampLtz": "timestamp",
}
"""Name of a basic type to Spark's, of all types that functions compute with."""
