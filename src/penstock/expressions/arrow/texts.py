"""Kernels of texts; positions count code points."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from penstock.expressions.tree import Call


def concat(_: Call, left: Any, right: Any) -> Any:
    """Return texts one behind the other."""
    return pc.binary_join_element_wise(left, right, "")


def strip(call: Call, value: Any) -> Any:
    """Return texts without some characters at their ends."""
    (characters,) = call.parameters
    return pc.utf8_trim(value, characters=characters) if characters else value


def cut(call: Call, value: Any) -> Any:
    """Return parts of texts."""
    start, stop = call.parameters
    return pc.utf8_slice_codeunits(value, start, max(start, stop))


def starts_with(call: Call, value: Any) -> Any:
    """Return whether texts start with a constant."""
    return pc.starts_with(value, pattern=call.parameters[0])


def ends_with(call: Call, value: Any) -> Any:
    """Return whether texts end with a constant."""
    return pc.ends_with(value, pattern=call.parameters[0])


def contains(call: Call, value: Any) -> Any:
    """Return whether texts contain a constant."""
    return pc.match_substring(value, pattern=call.parameters[0])


def replace(call: Call, value: Any) -> Any:
    """Return texts with a constant replaced."""
    old, new = call.parameters
    return pc.replace_substring(value, pattern=old, replacement=new)


def split(call: Call, value: Any) -> Any:
    """Return the texts between separators."""
    return pc.split_pattern(value, pattern=call.parameters[0])
