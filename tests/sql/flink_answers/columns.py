"""Edge values of every type: a name, the type, and the text of a constant in Flink SQL.

They are columns and not constants in the expressions, so that Flink computes them at run time.
"""

from __future__ import annotations

_MOMENTS = {
    "epoch": "1970-01-01 00:00:00",
    "before": "1969-12-31 23:59:59.999",
    "old": "1582-10-10 12:00:00",
    "first": "0001-01-01 00:00:00",
    "last": "9999-12-31 23:59:59.999999",
    "leap": "2024-02-29 12:34:56.789012",
    "gap": "2024-03-10 02:30:00",
    "overlap": "2024-11-03 01:30:00.5",
    "spring": "2024-03-31 02:30:00",
    "year": "2024-12-30 00:05:07.080",
}
_INSTANTS = {
    "epoch": 0,
    "before": -1,
    "gap": 1710064799999,
    "behind": 1710064800000,
    "overlap": 1730622600500,
    "again": 1730626200500,
    "spring": 1711846800000,
    "leap": 1709210096789,
    "year": 1735689600000,
    "old": -12219336000000,
}
_TEXTS = {
    "empty": "",
    "blanks": "  ",
    "abc": "abc",
    "words": "  Hello wOrld-foo BAR  ",
    "umlaut": "Äöüß €",
    "emoji": "😀a😀b",
    "line": "a\nb",
    "tab": "\ta\t",
    "list": "a,b,,c,",
    "dots": "a.b.c",
    "wild": "50%_a\\b",
    "dollar": "a$1b",
    "twelve": "12",
    "padded": " -12 ",
    "decimal": "-1.5",
    "exponent": "1.5e3",
    "plus": "+7",
    "great": "9223372036854775808",
    "bad": "x1",
    "hexadecimal": "0x1F",
    "under": "1_000",
    "nan": "NaN",
    "infinite": "Infinity",
    "true": "TRUE",
    "yes": " yes ",
    "off": "off",
    "date": "2024-02-29",
    "short": "2024-2-3",
    "nodate": "2023-02-29",
    "moment": "2024-02-29 12:34:56",
    "fraction": "2024-02-29 12:34:56.789012345",
    "iso": "2024-02-29T12:34:56",
    "zulu": "2024-02-29T12:34:56Z",
    "midnight": "2024-02-29 24:00:00",
    "time": "12:34:56.789",
    "hour": "5:6:7",
    "json": '{"a":1,"b":{"c":[10,"x",null,true]},"d e":"q","n":null,"f":1.50,"s":"tä"}',
    "array": '[1,{"a":[2,3]},"z"]',
    "broken": '{"a":',
}


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    units = text.encode("utf-16-be")
    made = "".join(f"\\{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))
    return f"U&'{made}'"


def _typed(prefix: str, kind: str, values: dict[str, str]) -> dict[str, tuple[str, str]]:
    found = {f"{prefix}_null": (kind, f"CAST(NULL AS {kind})")}
    for name, text in values.items():
        found[f"{prefix}_{name}"] = (kind, f"CAST({text} AS {kind})")
    return found


COLUMNS: dict[str, tuple[str, str]] = {
    **_typed("b", "BOOLEAN", {"yes": "TRUE", "no": "FALSE"}),
    **_typed("t", "TINYINT", {"zero": "0", "least": "-128", "most": "127"}),
    **_typed("h", "SMALLINT", {"seven": "-7", "least": "-32768", "most": "32767"}),
    **_typed(
        "i",
        "INT",
        {"zero": "0", "one": "1", "two": "2", "seven": "-7", "least": "'-2147483648'"}
        | {"most": "2147483647", "three": "3"},
    ),
    **_typed(
        "l",
        "BIGINT",
        {"zero": "0", "five": "5", "seven": "-7", "least": "'-9223372036854775808'"}
        | {"most": "9223372036854775807", "seconds": "1709210096", "millis": "1709210096789"},
    ),
    **_typed(
        "f",
        "FLOAT",
        {"zero": "0.0", "minus": "'-0.0'", "one": "1.1", "third": "0.33333334", "nan": "'NaN'"}
        | {"inf": "'Infinity'", "neg": "'-2.5'", "most": "'3.4028235E38'", "tiny": "'1.4E-45'"}
        | {"large": "'16777216'", "ninf": "'-Infinity'", "milli": "'0.001'", "e7": "'1.0E7'"},
    ),
    **_typed(
        "d",
        "DOUBLE",
        {"zero": "0.0", "minus": "'-0.0'", "one": "1.0", "half": "0.5", "neg": "-2.5"}
        | {"nan": "'NaN'", "inf": "'Infinity'", "ninf": "'-Infinity'", "tenth": "0.1"}
        | {"most": "'1.7976931348623157E308'", "tiny": "'4.9E-324'", "e7": "1.0E7"}
        | {"milli": "0.001", "small": "1.234E-5", "large": "1.0E21", "long": "'9.223372036854775807E18'"},
    ),
    **_typed("c", "DECIMAL(10, 2)", {"zero": "0", "one": "1.05", "neg": "-123.45", "half": "2.5"}),
    **_typed("w", "DECIMAL(38, 0)", {"most": f"'{'9' * 38}'", "seven": "7"}),
    **_typed("k", "DECIMAL(38, 18)", {"tiny": "'0.000000000000000001'", "one": "1"}),
    **{f"s_{name}": ("STRING", f"CAST({_quoted(text)} AS STRING)") for name, text in _TEXTS.items()},
    "s_null": ("STRING", "CAST(NULL AS STRING)"),
    **_typed(
        "dt",
        "DATE",
        {"epoch": "'1970-01-01'", "before": "'1969-12-31'", "leap": "'2024-02-29'"}
        | {"old": "'1582-10-04'", "first": "'0001-01-01'", "last": "'9999-12-31'"}
        | {"year": "'2024-12-30'", "month": "'2023-01-31'"},
    ),
    **_typed("tm", "TIME", {"zero": "'00:00:00'", "last": "'23:59:59'", "noon": "'12:34:56'"}),
    **_typed("ts", "TIMESTAMP(6)", {name: f"'{text}'" for name, text in _MOMENTS.items()}),
    **{
        f"tz_{name}": ("TIMESTAMP_LTZ(3)", f"TO_TIMESTAMP_LTZ(CAST('{millis}' AS BIGINT), 3)")
        for name, millis in _INSTANTS.items()
    },
    "tz_null": ("TIMESTAMP_LTZ(3)", "CAST(NULL AS TIMESTAMP_LTZ(3))"),
    "y_null": ("BYTES", "CAST(NULL AS BYTES)"),
    "y_ab": ("BYTES", "x'4142'"),
    "a_null": ("ARRAY<INT>", "CAST(NULL AS ARRAY<INT>)"),
    "a_123": ("ARRAY<INT>", "ARRAY[1, 2, 3]"),
    "a_hole": ("ARRAY<INT>", "ARRAY[1, CAST(NULL AS INT), 3]"),
    "a_one": ("ARRAY<INT>", "ARRAY[7]"),
    "a_texts": ("ARRAY<STRING>", "ARRAY[CAST('a' AS STRING), CAST(NULL AS STRING), CAST('' AS STRING)]"),
    "a_floats": ("ARRAY<FLOAT>", "ARRAY[CAST(1.1 AS FLOAT), CAST('NaN' AS FLOAT)]"),
    "a_doubles": ("ARRAY<DOUBLE>", "ARRAY[CAST('NaN' AS DOUBLE), CAST('-0.0' AS DOUBLE)]"),
    "m_null": ("MAP<STRING, INT>", "CAST(NULL AS MAP<STRING, INT>)"),
    "m_ab": ("MAP<STRING, INT>", "MAP[CAST('a' AS STRING), 1, CAST('b' AS STRING), CAST(NULL AS INT)]"),
    "m_whole": ("MAP<INT, DOUBLE>", "MAP[1, CAST(1.0 AS DOUBLE)]"),
}  # fmt: skip
"""Name of a column to its type and value."""

ROWS: dict[str, tuple[str, str, tuple[object, ...]]] = {
    "r_one": ("ROW<n INT, s STRING>", "CAST(ROW(1, 'a') AS ROW<n INT, s STRING>)", (1, "a")),
    "r_null": (
        "ROW<n INT, s STRING>",
        "CAST(ROW(CAST(NULL AS INT), 'a') AS ROW<n INT, s STRING>)",
        (None, "a"),
    ),
    "r_float": (
        "ROW<f FLOAT, b BOOLEAN>",
        "CAST(ROW(CAST(1.1 AS FLOAT), TRUE) AS ROW<f FLOAT, b BOOLEAN>)",
        (1.100000023841858, True),
    ),
}
"""Name of a column of a ROW to its type, its value in Flink, and its value in Penstock, which has no constructor of rows."""


def of(*prefixes: str) -> list[str]:
    """Return the names of the columns with some prefixes."""
    return [name for name in (*COLUMNS, *ROWS) if name.split("_")[0] in prefixes]
