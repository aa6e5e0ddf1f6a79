"""Records whose class refuses what it has pickled: operator, class and line are named, in every mode."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.datastream import KeyedProcessFunction
from penstock.datastream.connectors import CollectionSource
from penstock.errors import DecodeError
from penstock.testing import run_in_process
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    encode_records,
    read_header,
    unpickled,
)
from tests.runtime.jobs import BATCH, STREAMING, job


class Coded(Exception):  # noqa: N818 - an exception, because Python pickles them so
    """Cannot be unpickled: Python calls it with the message alone."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Refuses:
    def __init__(self) -> None:
        self.amount = 1

    def __setstate__(self, state: Any) -> None:
        raise ValueError("no amount below 2")


class _Passes(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


CLASSES = {"constructor": (lambda: Coded(1, "x"), Coded), "method": (Refuses, Refuses)}


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
@pytest.mark.parametrize("name", CLASSES)
def test_operator_class_and_line_are_named(name: str, mode: dict[str, str]) -> None:
    make, made = CLASSES[name]

    def build(stream: Any) -> Any:
        objects = stream.map(lambda _: make()).name("makes")
        return objects.key_by(lambda _: 1).process(_Passes()).name("takes")

    with pytest.raises(DecodeError) as refused:
        run_in_process(
            job(
                mode | {"pipeline.object-reuse": "true"},
                CollectionSource.of([("a", 1), ("a", 2)]),
                build,
            )
        )
    problem = refused.value.problem
    assert "operator 'takes'" in problem
    assert f"class {__name__}.{made.__name__} was pickled and cannot be unpickled" in problem
    assert "damaged" not in problem
    assert "__reduce__" in refused.value.hint
    assert refused.value.is_permanent
    if made is Refuses:
        assert "no amount below 2" in problem
        assert "__setstate__" in str(refused.value.origin)
    else:
        assert "missing 1 required positional argument" in problem


def test_damaged_bytes_are_no_fault_of_a_class() -> None:
    header = FrameHeader(0, 0, 2, 1, FrameKind.RECORDS, 1)
    frame = encode_records(header, [1], None)
    with pytest.raises(DecodeError, match="a frame is damaged"):
        decode_records(read_header(frame), frame[:-2])
    with pytest.raises(pickle.UnpicklingError):
        unpickled(b"no pickle")
