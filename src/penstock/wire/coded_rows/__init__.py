"""Coded rows: typed values as tag, length and value, with varint and zigzag numbers.

The wire types and the type mapping are those of the proposal CodedRowData (4.3). What it leaves
open is decided here. Rows of wire types 0, 1, 2 and 5 are read by any protobuf decoder.

A row is a message: its fields that are not None, in the order of their numbers, each behind a tag.

    tag      varint of (field number << 3 | wire type)
    varint   seven bits per byte, lowest first; the high bit says another byte follows
    zigzag   0, -1, 1, -2 are 0, 1, 2, 3

    Row(id: Long, name: String, tags: List(String))      Row(-1, "ab", ["x", None])

    08 01          field 1, VARINT, zigzag of -1
    12 02 61 62    field 2, LENGTH_DELIMITED, 2 bytes, "ab"
    1a 01 78       field 3, LENGTH_DELIMITED, 1 byte, "x"
    1b             field 3, NULL: an element that is None

Field numbers are positions from 1, without 19000 to 19999, which protobuf keeps for itself. Fields
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

None. A field, or the value of a pair, that is None is left out; so a column that was added reads
as None from old bytes, and fields with numbers the reader does not know are skipped. An element
that is None is a tag of wire type 3, without payload. A list or map that is empty, which would
otherwise look like None, is a tag of wire type 3 and one of wire type 4: to protobuf an empty group.

    Row(a: List(Long))    Row(None)  nothing      Row([])  0b 0c      Row([None])  0b

Lists and maps where one field is all there is, as elements of lists and as whole values, are
messages themselves, with the elements or pairs as field 1; then nothing at all is an empty list.

The kind of a row that is no INSERT is the last field of its message, number 536,870,911, VARINT:
1 is -U, 2 is +U, 3 is -D. It is the greatest number there is: no column ever has it.

    Row(-1) of Row(id: Long), a DELETE      08 01 f8 ff ff ff 0f 03

There are two forms. Values are kept exactly: minus zero, the sign of NaN, the trailing zeros of a
decimal and the order of a map come back, because a program can see them. Keys are canonical: equal
keys, and only those, have equal bytes. For that, minus zero is zero, NaN is the quiet one with
all other bits zero, decimals lose trailing zeros, `fold` is dropped and pairs are sorted by their
bytes. Pickled values have no canonical form. A canonical message is a message: it is read the same.

Varints are as short as possible, and fields in order; anything else is refused, so that bytes have
one meaning. Bytes from elsewhere give a value or `DecodeError`, never anything else, unless the
type has Pickled in it: to unpickle is to run what was pickled.
"""

from __future__ import annotations

from penstock.wire.coded_rows.codec import CodedCodec, coded_codec, has_coded_form

__all__ = ["CodedCodec", "coded_codec", "has_coded_form"]
