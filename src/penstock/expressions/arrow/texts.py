"""Kernels of texts; positions count code points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.tree import Call


def concat(_: Call, left: Any, right: Any) -> Any:
    """Return texts one behind the other."""
    return pc.binary_join_element_wise(left, right, "")


def strip(kernel: Callable[..., Any]) -> Callable[[Call, Any], Any]:
    """Return the kernel of texts without some characters at one end, or both."""

    def stripped(call: Call, value: Any) -> Any:
        (characters,) = call.parameters
        return kernel(value, characters=characters) if characters else value

    return stripped


def pad(kernel: Callable[..., Any]) -> Callable[[Call, Any], Any]:
    """Return the kernel of texts that are filled up at one end."""

    def padded(call: Call, value: Any) -> Any:
        width, character = call.parameters
        return kernel(value, width=width, padding=character)

    return padded


def repeat(call: Call, value: Any) -> Any:
    """Return texts several times."""
    return pc.binary_repeat(value, call.parameters[0])


def find(call: Call, value: Any) -> Any:
    """Return the position of a constant, -1 if it is not there; pyarrow's kernel counts bytes."""
    (part,) = call.parameters
    before = pc.list_element(pc.split_pattern(value, pattern=part, max_splits=1), 0)
    is_there = pc.match_substring(value, pattern=part)
    return pc.if_else(is_there, pc.utf8_length(before), pa.scalar(-1, pa.int32()))


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
