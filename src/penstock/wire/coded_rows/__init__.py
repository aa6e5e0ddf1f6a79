"""Coded rows: typed values as tag, length and value, with varint and zigzag numbers.

The wire types and the type mapping are those of the proposal CodedRowData (4.3). This page decides
what the proposal leaves open. Any protobuf decoder reads rows of wire types 0, 1, 2 and 5.

A row is a message: its fields that are not None, in the order of their numbers, a tag before each.

    tag      varint of (field number << 3 | wire type)
    varint   seven bits per byte, lowest first; the high bit is set if another byte follows
    zigzag   0, -1, 1, -2 are 0, 1, 2, 3

    Row(id: Long, name: String, tags: List(String))      Row(-1, "ab", ["x", None])

    08 01          field 1, VARINT, zigzag of -1
    12 02 61 62    field 2, LENGTH_DELIMITED, 2 bytes, "ab"
    1a 01 78       field 3, LENGTH_DELIMITED, 1 byte, "x"
    1b             field 3, NULL: an element that is None

Field numbers are positions from 1, without 19000 to 19999, which protobuf reserves. Fields
1 to 15 have tags of one byte, fields 16 to 2047 of two.

    type                     wire type   payload
    Byte Short Integer Long  0 VARINT    zigzag
    Boolean                  0 VARINT    0 or 1
    SqlDate                  0 VARINT    zigzag of days since 1970-01-01
    SqlTime                  0 VARINT    microseconds since midnight; + 86,400,000,000 if fold is 1
    Double                   1 FIXED64   little-endian IEEE 754
    Float                    5 FIXED32   little-endian IEEE 754
    String Char              2           length, UTF-8; lone surrogates as three bytes each
    PrimitiveArray(Byte)     2           length, the bytes
    BigInteger               2           length, big-endian two's complement, as short as possible
    Row Tuple                2           length, the message
    Pickled                  2           length, pickle (protocol 5)
    BigDecimal               6 DECIMAL   zigzag varint scale, length, unscaled value as BigInteger;
                                         length 0 is minus zero
    SqlTimestamp Instant     7 TIMESTAMP zigzag varint milliseconds since 1970, varint nanoseconds
    TimestampLtz                         within the millisecond; + 1,000,000 if fold is 1
    List and arrays          of element  one field per element, all with the number of the list
    Map                      2           one message per pair: key is field 1, value is field 2
    interval                 0 VARINT    as a Long: months, or milliseconds (no type has them)
    multiset                 2           as Map(element, Integer)

None. A field, or the value of a pair, that is None is omitted. So an added column is None in old
bytes. Readers skip fields with unknown numbers. An element that is None is a tag of wire type 3,
without payload. An empty list or map, which would otherwise equal None, is a tag of wire type 3 and
one of wire type 4: to protobuf an empty group.

    Row(a: List(Long))    Row(None)  nothing      Row([])  0b 0c      Row([None])  0b

A list or map that is an element of a list, or a whole value, is a message with its elements or pairs
as field 1; an empty message is then an empty list.

The kind of a row that is no INSERT is the last field of its message, number 536,870,911, VARINT:
1 is -U, 2 is +U, 3 is -D. It is the greatest field number: no column ever has it.

    Row(-1) of Row(id: Long), a DELETE      08 01 f8 ff ff ff 0f 03

There are two forms. The form of values is exact: decoding restores minus zero, the sign of NaN, the
trailing zeros of a decimal and the order of a map, because a program can see them. The form of keys
is canonical: equal keys, and only those, have equal bytes. In it minus zero is zero, NaN is the quiet
one with all other bits zero, decimals lose trailing zeros, `fold` is dropped, and pairs are sorted
by their bytes. Pickled values have no canonical form. Decoders read both forms.

Varints are as short as possible, and fields are in order; decoders refuse any other bytes, so each
value has one encoding. Arbitrary bytes decode to a value or raise `DecodeError`, except of a type
that contains Pickled: unpickling runs code of the pickle.
"""

from __future__ import annotations

from penstock.wire.coded_rows.codec import CodedCodec, coded_codec, has_coded_form

__all__ = ["CodedCodec", "coded_codec", "has_coded_form"]
