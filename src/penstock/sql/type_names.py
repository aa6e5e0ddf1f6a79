"""Names of types in statements."""

from __future__ import annotations

from penstock.sql.place import unsupported
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    TINYINT,
    SqlType,
    array,
    row,
)

_KIND = exp.DType
_OF_SQLGLOT: dict[exp.DType, SqlType] = {
    _KIND.BOOLEAN: BOOLEAN,
    _KIND.TINYINT: TINYINT,
    _KIND.SMALLINT: SMALLINT,
    _KIND.INT: INT,
    _KIND.BIGINT: BIGINT,
    _KIND.FLOAT: FLOAT,
    _KIND.DOUBLE: DOUBLE,
    _KIND.CHAR: STRING,
    _KIND.VARCHAR: STRING,
    _KIND.TEXT: STRING,
    _KIND.BINARY: BYTES,
    _KIND.VARBINARY: BYTES,
    _KIND.DATE: DATE,
    _KIND.TIME: TIME,
    _KIND.TIMESTAMP: TIMESTAMP,
    _KIND.TIMESTAMPNTZ: TIMESTAMP,
    _KIND.DATETIME: TIMESTAMP,
    _KIND.TIMESTAMPTZ: TIMESTAMP_LTZ,
    _KIND.TIMESTAMPLTZ: TIMESTAMP_LTZ,
}


def of_sqlglot(data_type: exp.DataType) -> SqlType:
    """Return the type that a statement names."""
    kind = data_type.this
    simple = _OF_SQLGLOT.get(kind)
    if simple is not None:
        return simple
    inside = data_type.expressions
    if kind == _KIND.USERDEFINED and str(data_type.args.get("kind", "")).upper() == "BYTES":
        return BYTES
    if kind == _KIND.DECIMAL:
        digits = [int(parameter.name) for parameter in inside]
        precision, scale = [*digits, *(10, 0)[len(digits) :]]
        if not 1 <= precision <= MOST_DIGITS or not 0 <= scale <= precision:
            raise unsupported(
                f"DECIMAL({precision}, {scale})", data_type, hint="Use 1 to 38 digits."
            )
        return SqlType("DECIMAL", precision, scale)
    if kind == _KIND.ARRAY:
        return array(of_sqlglot(inside[0]))
    if kind == _KIND.MAP:
        return SqlType("MAP", components=tuple(map(of_sqlglot, inside)))
    if kind == _KIND.STRUCT:
        return row(
            tuple(field.name for field in inside),
            tuple(of_sqlglot(field.args["kind"]) for field in inside),
        )
    raise unsupported(f"the type {data_type.sql()}", data_type, hint="Use one of docs/sql.md.")
