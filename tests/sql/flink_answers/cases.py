"""Expressions over edge values: every function and cast of SQL, some thousand.

A template has `{}` for each argument; the values of an argument are columns, or constants as written.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from zlib import crc32

from tests.sql.flink_answers.columns import of

WHOLE = of("t", "h", "i", "l")
FLOATS = of("f", "d")
EXACT = of("c", "w", "k")
TEXTS = of("s")
DATES = of("dt")
TIMES = of("tm")
MOMENTS = of("ts")
INSTANTS = of("tz")
_FEW_NUMBERS = [
    *("i_null", "i_zero", "i_two", "i_seven", "i_least", "l_most", "l_seven", "t_least", "h_seven"),
    *(
        "f_one",
        "f_nan",
        "f_minus",
        "d_zero",
        "d_minus",
        "d_neg",
        "d_nan",
        "d_inf",
        "c_one",
        "c_neg",
    ),
    *("w_most", "k_tiny"),
]
_DOUBLES = [
    *("d_null", "d_zero", "d_minus", "d_one", "d_half", "d_neg", "d_nan", "d_inf", "d_ninf"),
    *("d_most", "d_tiny", "f_one", "i_two", "i_seven", "c_one"),
]
_SOME_TEXTS = [
    *(
        "s_null",
        "s_empty",
        "s_blanks",
        "s_abc",
        "s_words",
        "s_umlaut",
        "s_emoji",
        "s_line",
        "s_tab",
    ),
    *("s_list", "s_dots", "s_wild", "s_dollar", "s_twelve"),
]
_LENGTHS = ["-1", "0", "1", "2", "5", "i_null", "i_most", "i_least"]
_PARTS = [
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "HOUR", "MINUTE", "SECOND"),
    *("MILLISECOND", "EPOCH"),
]
_PATTERNS = [
    *("'yyyy-MM-dd HH:mm:ss'", "'yyyy-MM-dd'", "'yyyy'", "'yy/M/d'", "'HH:mm'", "'H:m:s'"),
    *("'yyyy-MM-dd HH:mm:ss.SSS'", "'yyyy-MM-dd HH:mm:ss.S'", "'hh:mm:ss a'", "'EEE, d MMM yyyy'"),
    *("'EEEE MMMM dd'", "'yyyyMMdd'", "'D'", "'k K h'", "'''at'' HH'", "'yyyy-MM-dd''T''HH:mm:ss'"),
    *("'HH:mm Z'", "'z'", "'XXX'", "'G'", "'E u'", "'SSSSSS'", "'SSSSSSSSS'", "'Q'", "'w'", "''"),
    *("'uuuu'", "'n'", "'yyyyy'", "'[yyyy]'", "'j'", "'b'"),
]
_PARSED = [
    ("'2024-02-03 04:05:06'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-02-03 04:05:06.7'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-02-03 04:05:06.7'", "'yyyy-MM-dd HH:mm:ss.S'"),
    ("'2024-02-03 04:05:06.789'", "'yyyy-MM-dd HH:mm:ss.SSS'"),
    ("'2024-02-03 04:05:06.78'", "'yyyy-MM-dd HH:mm:ss.SSS'"),
    ("'2024-02-03 04:05:06.789012'", "'yyyy-MM-dd HH:mm:ss.SSSSSS'"),
    ("'2024-02-03 04:05:06.789012345'", "'yyyy-MM-dd HH:mm:ss.SSSSSSSSS'"),
    ("'2024-02-03'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-02-03'", "'yyyy-MM-dd'"),
    ("'2024-2-3'", "'yyyy-MM-dd'"),
    ("'2024-2-3'", "'yyyy-M-d'"),
    ("'2024-02-30'", "'yyyy-MM-dd'"),
    ("'2024-02-32'", "'yyyy-MM-dd'"),
    ("'2024-13-01'", "'yyyy-MM-dd'"),
    ("'2024-02-03 24:00:00'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-02-03 25:00:00'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-02-03 04:60:00'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-02-03 4:5:6'", "'yyyy-MM-dd H:m:s'"),
    ("'2024-02-03 14:15:16'", "'yyyy-MM-dd H:m:s'"),
    ("'2024-02-03 04:05:06 PM'", "'yyyy-MM-dd hh:mm:ss a'"),
    ("'2024-02-03 12:05:06 AM'", "'yyyy-MM-dd hh:mm:ss a'"),
    ("'2024-02-03 04:05:06 pm'", "'yyyy-MM-dd hh:mm:ss a'"),
    ("'2024-02-03 04:05:06'", "'yyyy-MM-dd hh:mm:ss'"),
    ("'3 Feb 2024'", "'d MMM yyyy'"),
    ("'3 feb 2024'", "'d MMM yyyy'"),
    ("'03 February 2024'", "'dd MMMM yyyy'"),
    ("'Sat, 3 Feb 2024'", "'EEE, d MMM yyyy'"),
    ("'Mon, 3 Feb 2024'", "'EEE, d MMM yyyy'"),
    ("'Saturday 3/2/24'", "'EEEE d/M/yy'"),
    ("'20240203'", "'yyyyMMdd'"),
    ("'20240203040506'", "'yyyyMMddHHmmss'"),
    ("'20240203040506789'", "'yyyyMMddHHmmssSSS'"),
    ("'2024-034'", "'yyyy-DDD'"),
    ("'2024'", "'yyyy'"),
    ("'04:05'", "'HH:mm'"),
    ("'24'", "'yy'"),
    ("'99'", "'yy'"),
    ("'2024-02-03T04:05:06'", "'yyyy-MM-dd''T''HH:mm:ss'"),
    ("'2024-02-03 04:05:06 +0200'", "'yyyy-MM-dd HH:mm:ss Z'"),
    ("'2024-02-03 04:05:06+02:00'", "'yyyy-MM-dd HH:mm:ssXXX'"),
    ("'2024-02-03 04:05:06Z'", "'yyyy-MM-dd HH:mm:ssX'"),
    ("'2024-02-03 04:05:06 UTC'", "'yyyy-MM-dd HH:mm:ss z'"),
    ("'2024-02-03 junk'", "'yyyy-MM-dd'"),
    ("' 2024-02-03'", "'yyyy-MM-dd'"),
    ("'2024-02-03 '", "'yyyy-MM-dd'"),
    ("''", "'yyyy-MM-dd'"),
    ("'junk'", "'yyyy-MM-dd'"),
    ("'2024-02-03'", "'j'"),
    ("'2024-02-03'", "''"),
    ("'1500-02-29'", "'yyyy-MM-dd'"),
    ("'1582-10-10'", "'yyyy-MM-dd'"),
    ("'0001-01-01'", "'yyyy-MM-dd'"),
    ("'10000-01-01'", "'yyyy-MM-dd'"),
    ("'12345-02-03'", "'yyyyy-MM-dd'"),
    ("'2024-03-10 02:30:00'", "'yyyy-MM-dd HH:mm:ss'"),
    ("'2024-11-03 01:30:00'", "'yyyy-MM-dd HH:mm:ss'"),
    ("CAST(NULL AS STRING)", "'yyyy-MM-dd'"),
]
_REGEXES = [
    *("''", "'a'", "'[a-z]+'", "'(\\w)(\\d)?'", "'^a'", "'b$'", "'.'", "'('", "'a*'", "'\\s'"),
    *("'(?i)B'", "'\\p{L}+'", "'[a-c&&[^b]]'", "'x{2,1}'", "'(?<n>a)'", "'\\Aa\\z'", "'\\\\'"),
    *("'a++'", "'\\bb'", "'\\h'", "s_null"),
]
_REPLACEMENTS = ["'-'", "''", "'$1'", "'$0$0'", "'\\'", "'\\1'", "'$9'", "'<$1>'", "s_null"]
_PATHS = [
    *("'$.a'", "'lax $.a'", "'strict $.a'", "'$.b.c[0]'", "'lax $.b.c[1]'", "'$[''a'']'", "'$.n'"),
    *("'$[\"d e\"]'", "'$.\"d e\"'", "'$.f'", "'$.s'", "'$.b'", "'$.b.c'", "'$.b.c[3]'", "'$.zz'"),
    *("'strict $.zz'", "'$'", "'$.b.c[9]'", "'$[0]'", "'$[1].a[1]'", "'$.b.c[2]'", "'$..a'", "'a'"),
    *("'$.*'", "''"),
]
_LIKES = [
    "''",
    "'%'",
    "'a_b'",
    "'a%'",
    "'%b'",
    "'_'",
    "'a%b%'",
    "'%\\%%'",
    "'A%'",
    "'%😀%'",
    "s_null",
]
_TYPES = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)"),
    *("DECIMAL(5, 0)", "STRING", "DATE", "TIME", "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)", "BYTES"),
    *("VARCHAR(3)", "CHAR(5)", "TIMESTAMP(3)", "TIMESTAMP(0)"),
]

Arguments = tuple[list[str], ...]
_MOST = 24

_GENERAL: list[tuple[str, Arguments]] = [
    *((f"{name}({{}})", ([*WHOLE, *FLOATS, *EXACT],)) for name in ("ABS", "CEIL", "FLOOR", "SIGN")),
    ("-{}", ([*WHOLE, *FLOATS, *EXACT],)),
    ("ROUND({}, {})", ([*_FEW_NUMBERS, "d_tenth", "d_half", "c_half"], ["-1", "0", "1", "i_null"])),
    ("ROUND({})", ([*FLOATS, *EXACT],)),
    *((f"{name}({{}})", (_DOUBLES,)) for name in ("SQRT", "EXP", "LN", "LOG10", "LOG2")),
    *((f"{name}({{}}, {{}})", (_DOUBLES, _DOUBLES)) for name in ("POWER", "LOG")),
    *((f"{{}} {sign} {{}}", (_FEW_NUMBERS, _FEW_NUMBERS)) for sign in "+-*/%"),
    ("MOD({}, {})", (_FEW_NUMBERS[:9], _FEW_NUMBERS[:9])),
    *(
        (f"{{}} {sign} {{}}", (names, names))
        for sign in ("=", "<>", "<", ">=")
        for names in (
            ["d_null", "d_nan", "d_zero", "d_minus", "d_inf", "f_nan", "i_zero", "c_zero"],
            ["s_null", "s_empty", "s_abc", "s_emoji", "s_umlaut"],
            ["dt_null", "dt_leap", "dt_first"],
        )
    ),
    ("{} = {}", (["a_null", "a_123", "a_hole"], ["a_null", "a_123", "a_hole"])),
    ("{} <> {}", (["a_null", "a_123", "a_hole"], ["a_null", "a_123", "a_hole"])),
    ("{} = {}", (["m_null", "m_ab"], ["m_null", "m_ab"])),
    *((f"{{}} {sign} {{}}", (of("r")[:2],) * 2) for sign in ("=", "<>", "IS DISTINCT FROM")),
    *((f"{{}} {sign} {{}}", (["y_null", "y_ab"],) * 2) for sign in ("=", "<>", "<")),
    *((f"{{}} {sign} {{}}", (["a_null", "a_123", "a_hole"],) * 2) for sign in ("<", "IS DISTINCT FROM")),
    ("{} = {}", (["a_doubles"], ["a_doubles"])),
    ("{} IS DISTINCT FROM {}", (["d_nan", "d_null", "d_zero", "d_minus"],) * 2),
    ("{} IN (1, 2, -7)", (["i_null", "i_one", "l_seven"],)),
    ("{} IN (0.0, 1.0)", (["d_nan", "d_null", "d_zero", "d_minus"],)),
    ("{} NOT IN (1, CAST(NULL AS INT))", (["i_null", "i_one", "i_two"],)),
    ("{} BETWEEN {} AND {}", (["i_one", "d_nan", "i_null"], ["i_zero", "d_nan"], ["i_two", "i_null"])),
    *(
        (f"{name}({{}}, {{}})", (names, names))
        for name in ("GREATEST", "LEAST")
        for names in (
            ["d_zero", "d_minus", "d_nan", "d_null", "d_one", "d_inf", "i_two", "c_one", "f_one"],
            ["s_abc", "s_empty", "s_null"],
            ["dt_leap", "dt_null"],
        )
    ),
    *(
        (f"{{}} {word} {{}}", (["b_yes", "b_no", "b_null"], ["b_yes", "b_no", "b_null"]))
        for word in ("AND", "OR", "=", "<>")
    ),
    *((f"{{}} IS {word}", (["b_yes", "b_no", "b_null"],)) for word in ("TRUE", "NOT FALSE", "UNKNOWN")),
    ("COALESCE({}, {}, 7)", (["i_null", "i_one"], ["l_five", "d_nan", "i_null"])),
    ("NULLIF({}, {})", (["i_one", "d_nan", "i_null"], ["i_one", "d_nan", "c_one"])),
    ("IFNULL({}, {})", (["s_null", "s_abc"], ["s_empty", "s_null"])),
    ("CASE WHEN {} THEN 1 WHEN {} THEN 2.5 END", (["b_yes", "b_no", "b_null"],) * 2),
    *((f"{name}({{}})", (TEXTS,)) for name in ("UPPER", "LOWER", "INITCAP", "REVERSE", "TRIM")),
    *((f"{name}({{}})", (_SOME_TEXTS,)) for name in ("LTRIM", "RTRIM", "BTRIM", "CHAR_LENGTH", "MD5")),
    *((f"SHA{size}({{}})", (["s_null", "s_empty", "s_umlaut"],)) for size in (1, 224, 256, 384, 512)),
    *((f"TRIM({side} 'a ' FROM {{}})", (_SOME_TEXTS,)) for side in ("BOTH", "LEADING", "TRAILING")),
    *((f"{name}({{}}, {{}})", (_SOME_TEXTS, ["'a'", "'ab '", "''"])) for name in ("LTRIM", "RTRIM", "BTRIM")),
    *((f"{name}({{}}, {{}})", (_SOME_TEXTS[:9], _LENGTHS[: 7 if name != "REPEAT" else 6])) for name in ("LEFT", "RIGHT", "REPEAT")),
    *(
        (f"{name}({{}}, {{}}, {{}})", (["s_abc", "s_empty", "s_emoji", "s_null"], _LENGTHS[:6], ["'xy'", "''"]))
        for name in ("LPAD", "RPAD")
    ),
    ("SUBSTRING({}, {})", (_SOME_TEXTS[:9], ["-9", "-2", *_LENGTHS])),
    (
        "SUBSTRING({} FROM {} FOR {})",
        (["s_abc", "s_emoji", "s_empty"], ["-9", "-2", "0", "1", "2", "5"], ["-1", "0", "2", "i_most", "i_null"]),
    ),
    ("CONCAT({}, {})", (_SOME_TEXTS[:6], _SOME_TEXTS[:4])),
    ("{} || {}", (_SOME_TEXTS[:4], _SOME_TEXTS[:4])),
    ("CONCAT_WS({}, {}, 'z')", (["'-'", "s_null", "''"], _SOME_TEXTS[:5])),
    ("REPLACE({}, {}, {})", (_SOME_TEXTS, ["'a'", "''", "'.'"], ["'$1'", "''", "s_null"])),
    ("POSITION({} IN {})", (["''", "'b'", "'😀'", "s_null"], _SOME_TEXTS)),
    ("INSTR({}, {})", (_SOME_TEXTS, ["''", "'b'", "s_null"])),
    ("LOCATE({}, {})", (["''", "'b'"], _SOME_TEXTS)),
    ("LOCATE({}, {}, {})", (["''", "'a'", "'b'"], ["s_abc", "s_emoji", "s_empty"], ["-1", "0", "1", "2", "9"])),
    ("{} LIKE {}", (_SOME_TEXTS, _LIKES)),
    ("{} LIKE {} ESCAPE '!'", (["s_wild", "s_abc"], ["'%!%%'", "'%!_%'", "'!'", "'%!a'", "'50!%!_a\\b'"])),
    ("REGEXP({}, {})", (_SOME_TEXTS, _REGEXES)),
    ("REGEXP_EXTRACT({}, {})", (_SOME_TEXTS[:11], _REGEXES)),
    ("REGEXP_EXTRACT({}, {}, {})", (["s_abc", "s_dollar"], _REGEXES[3:5], ["-1", "0", "1", "2", "3", "i_null"])),
    ("REGEXP_REPLACE({}, {}, {})", (["s_abc", "s_empty", "s_emoji", "s_line"], _REGEXES, _REPLACEMENTS)),
    ("SPLIT_INDEX({}, {}, {})", (["s_list", "s_empty", "s_dots", "s_null", "s_emoji"], ["','", "''", "'.'", "'a,'"], ["-1", "0", "2", "4", "9"])),
    ("SPLIT({}, {})", (["s_list", "s_empty", "s_dots", "s_null", "s_emoji"], ["','", "''", "'.'", "s_null"])),
    *((f"{name}({{}}, {{}})", (_SOME_TEXTS[:6], ["''", "'a'", "s_null", "'c'"])) for name in ("STARTSWITH", "ENDSWITH")),
    ("JSON_VALUE({}, {})", (["s_json", "s_array", "s_broken", "s_null", "s_empty", "s_twelve"], _PATHS)),
    ("CARDINALITY({})", ([*of("a"), *of("m")],)),
    ("ELEMENT({})", (of("a"),)),
    ("{}[{}]", (["a_123", "a_hole", "a_null"], ["1", "2", "3", "4", "i_one", "i_null", "i_most"])),
    ("{}[{}]", (["m_ab", "m_null"], ["'a'", "'b'", "'c'", "s_null"])),
    ("ARRAY_CONTAINS({}, {})", (["a_123", "a_hole", "a_null"], ["1", "2", "CAST(NULL AS INT)", "i_null"])),
    ("ARRAY_CONTAINS({}, {})", (["a_doubles"], ["d_nan", "d_zero", "d_minus"])),
    ("MAP[{}, 1]", (["s_abc", "s_null"],)),
    ("CARDINALITY(MAP[{}, 1, {}, 2])", (["s_abc", "s_null"], ["s_abc", "s_null"])),
    ("{}", ([*of("a"), *of("m"), *of("r")],)),
    ("{}.n", (["r_one", "r_null"],)),
    ("ARRAY[{}, {}]", (["i_one", "d_nan", "i_null"], ["l_five", "c_one"])),
]  # fmt: skip
_NUMERIC = [*WHOLE, *FLOATS, *EXACT]
_TIMES: list[tuple[str, Arguments]] = [
    *((f"EXTRACT({part} FROM {{}})", ([*DATES, *MOMENTS, *INSTANTS],)) for part in _PARTS[:7]),
    *((f"EXTRACT({part} FROM {{}})", ([*MOMENTS, *INSTANTS],)) for part in _PARTS[7:]),
    ("EXTRACT(EPOCH FROM {})", (DATES,)),
    *((f"EXTRACT({part} FROM {{}})", (TIMES,)) for part in ("HOUR", "MINUTE", "SECOND", "MILLISECOND")),
    *((f"{name}({{}})", (["tz_leap", "ts_leap", "tz_null", "tz_again"],)) for name in ("HOUR", "DAYOFWEEK", "DAYOFYEAR", "DAYOFMONTH", "WEEK", "YEAR", "SECOND", "MINUTE", "MONTH", "QUARTER")),
    ("DATE_FORMAT({}, {})", (["ts_leap", "ts_year", "ts_before", "tz_leap", "tz_null"], _PATTERNS)),
    ("DATE_FORMAT({}, {})", ([*MOMENTS, *INSTANTS], _PATTERNS[:1])),
    ("DATE_FORMAT({}, {})", (["s_moment", "s_date", "s_bad", "s_fraction"], _PATTERNS[:3])),
    *((f"FLOOR({{}} TO {unit})", ([*MOMENTS, *INSTANTS],)) for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")),
    *((f"CEIL({{}} TO {unit})", ([*MOMENTS, *INSTANTS],)) for unit in ("YEAR", "MONTH", "DAY", "HOUR", "SECOND")),
    *((f"FLOOR({{}} TO {unit})", (DATES,)) for unit in ("YEAR", "MONTH")),
    *((f"TIMESTAMPADD({unit}, {{}}, {{}})", (["1", "-25"], ["dt_month", "dt_leap", "dt_null", "ts_leap", "ts_gap", "tz_gap", "tz_leap"])) for unit in ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")),
    ("TIMESTAMPADD(DAY, CAST(NULL AS INT), {})", (["dt_leap", "ts_leap"],)),
    *((f"TIMESTAMPDIFF({unit}, {{}}, {{}})", (["dt_month", "dt_leap", "ts_leap", "ts_before", "tz_gap", "ts_null"],) * 2) for unit in ("SECOND", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")),
    *((f"{{}} + INTERVAL {amount}", (["dt_month", "dt_leap", "ts_leap", "tz_gap", "ts_gap", "tz_leap"],)) for amount in ("'1' HOUR", "'1' DAY", "'1' MONTH", "'-1' YEAR", "'0.5' SECOND")),
    ("{} = {}", (["dt_leap", "ts_epoch"], ["dt_leap", "dt_epoch", "ts_epoch"])),
    ("{} = {}", (["tz_epoch", "ts_epoch"], ["tz_epoch", "ts_epoch"])),
    ("TO_TIMESTAMP({})", (TEXTS,)),
    ("TO_DATE({})", (TEXTS,)),
    ("UNIX_TIMESTAMP({})", (TEXTS,)),
    ("TO_TIMESTAMP_LTZ({}, 0)", (["l_seconds", "l_seven", "l_zero", "l_null", "i_most", "l_most"],)),
    ("TO_TIMESTAMP_LTZ({}, 3)", (["l_millis", "l_seven", "l_null", "l_least"],)),
    ("TO_TIMESTAMP_LTZ({})", (["l_millis", "s_moment", "s_bad", "s_date"],)),
    ("FROM_UNIXTIME({})", (["l_seconds", "l_seven", "l_zero", "l_null", "i_most", "l_five"],)),
    ("FROM_UNIXTIME({}, {})", (["l_seconds", "l_null", "l_seven"], _PATTERNS)),
]  # fmt: skip


def _of(templates: list[tuple[str, Arguments]]) -> Iterator[str]:
    for template, arguments in templates:
        found = [template.format(*values) for values in product(*arguments)]
        yield from (each for each in found if _is_taken(each, len(found)))


def _is_taken(text: str, count: int) -> bool:
    """Return whether a case is one of about `_MOST` of its template: the same ones at every call."""
    return count <= _MOST or crc32(text.encode()) % count < _MOST


def _casts() -> Iterator[str]:
    for value in [
        *of("b", "y", "a", "m", "r"),
        *_NUMERIC,
        *TEXTS,
        *DATES,
        *TIMES,
        *MOMENTS,
        *INSTANTS,
    ]:
        for kind in _TYPES:
            text = f"TRY_CAST({value} AS {kind})"
            if _is_taken(text, 2 * _MOST):
                yield text
    for value in of("a", "m", "r"):
        for kind in ("ARRAY<STRING>", "ARRAY<DOUBLE>", "ARRAY<INT>", "MAP<STRING, BIGINT>"):
            yield f"TRY_CAST({value} AS {kind})"
    for value in ("l_most", "i_least", "d_nan", "d_most", "f_inf", "w_most", "s_bad", "s_great"):
        for kind in ("TINYINT", "INT", "BIGINT", "DECIMAL(10, 2)", "DATE", "TIMESTAMP(3)"):
            yield f"CAST({value} AS {kind})"


AGGREGATES = ("SUM", "AVG", "MIN", "MAX", "COUNT", "VAR_POP", "STDDEV_SAMP")
_GROUPS = [
    *(["t_least", "t_most", "t_null"], ["t_most", "t_most"], ["t_null"], ["t_zero", "t_least"]),
    *(["h_seven", "h_most", "h_most"], ["i_one", "i_two"], ["i_most", "i_most"], ["i_null"]),
    *(["i_seven", "i_two"], ["l_most", "l_five"], ["l_least", "l_seven"], ["l_five", "l_null"]),
    *(["f_one", "f_third"], ["f_most", "f_most"], ["f_nan", "f_one"], ["f_zero", "f_minus"]),
    *(["f_minus", "f_zero"], ["f_minus", "f_minus"], ["f_inf", "f_ninf"], ["f_large", "f_one"]),
    *(["f_null"], ["f_nan", "f_ninf", "f_nan"], ["d_one", "d_tenth"], ["d_most", "d_most"]),
    *(["d_nan", "d_one", "d_ninf"], ["d_zero", "d_minus"], ["d_minus", "d_zero"], ["d_null"]),
    *(["d_minus", "d_minus"], ["d_inf", "d_ninf"], ["d_nan", "d_nan"], ["c_one", "c_neg"]),
    *(["c_one", "c_half", "c_null"], ["c_null"], ["w_most", "w_seven"], ["w_seven", "w_seven"]),
    *(["k_one", "k_tiny"], ["s_abc", "s_empty", "s_null"], ["s_umlaut", "s_emoji", "s_abc"]),
    *(["dt_leap", "dt_first"], ["ts_last", "ts_before", "ts_null"], ["tz_leap", "tz_before"]),
    *(["tm_noon", "tm_zero"], ["b_yes", "b_no", "b_null"], ["y_ab", "y_null"], ["a_123", "a_hole"]),
    *(["r_one", "r_null"], ["m_ab", "m_null"]),
]


def aggregates() -> Iterator[str]:
    """Yield aggregates of some values, such as `SUM(i_one, i_two)`: each value is one of a row."""
    for name in (*(f"{each}(" for each in AGGREGATES), "COUNT(DISTINCT "):
        yield from (f"{name}{', '.join(group)})" for group in _GROUPS)


def _parsing() -> Iterator[str]:
    for text, pattern in _PARSED:
        for name in ("TO_TIMESTAMP", "TO_DATE", "UNIX_TIMESTAMP"):
            yield f"{name}({text}, {pattern})"


def _zoned() -> Iterator[str]:
    """Yield expressions whose values depend on the zone."""
    for text in [*_of(_TIMES), *_parsing()]:
        named = {word.strip("(),") for word in text.split()} | set(
            text.replace("(", " ").replace(",", " ").replace(")", " ").split()
        )
        is_zoned = any(word.startswith("tz_") for word in named)
        if is_zoned or text.startswith(("UNIX_TIMESTAMP(", "FROM_UNIXTIME(", "TO_TIMESTAMP_LTZ(")):
            yield text
    for value in INSTANTS:
        for kind in ("STRING", "DATE", "TIME", "TIMESTAMP(6)", "TIMESTAMP(3)"):
            yield f"CAST({value} AS {kind})"
    for value in [*MOMENTS, *DATES, "s_moment", "s_date", "s_fraction", "s_iso", "s_zulu"]:
        yield f"UNIX_TIMESTAMP(CAST(CAST({value} AS TIMESTAMP_LTZ(3)) AS STRING))"
        yield f"CAST({value} AS TIMESTAMP_LTZ(3))"
        yield f"TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CAST({value} AS TIMESTAMP_LTZ(3)))"


ZONES = ("America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "GMT-08:00")
"""Zones in which expressions are computed that depend on one; in UTC all are."""


def cases() -> dict[str, list[str]]:
    """Return the expressions of each zone, each once."""
    general = [*_parsing(), *_of(_TIMES), *_zoned(), *_of(_GENERAL), *_casts()]
    return {"UTC": list(dict.fromkeys(general))} | {
        zone: [each for each in dict.fromkeys(_zoned()) if _is_taken(f"{zone} {each}", 160)]
        for zone in ZONES
    }
