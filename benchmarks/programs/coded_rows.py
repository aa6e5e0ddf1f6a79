"""`coded-rows`: bytes and time per row of the encodings that state can have.

A micro benchmark: one process, one core, CPU time, no Spark. Every shape of rows is a case.

    narrow   8 small integers, as counters and ids are
    wide     21 strings and a number, one row of `coded-join`
    nested   an id, a row in a row, and a row of four fields in it
    maps     an id and a map of 8 strings to numbers
"""

from __future__ import annotations

import gc
import hashlib
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.encodings import row_encodings
from benchmarks.encodings.row_encodings import RowEncoding
from benchmarks.measuring.case_run import Say
from benchmarks.model.errors import SystemMissingError
from benchmarks.model.measurement import Measurement, Skipped
from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from penstock.state.log.blob import Compression
from penstock.types import RowTypeInfo, Types

_LONG, _STRING = Types.LONG(), Types.STRING()
_CITY = Types.ROW_NAMED(["name", "zip"], [_STRING, Types.INT()])
_ADDRESS = Types.ROW_NAMED(
    ["street", "number", "city", "floor"], [_STRING, Types.INT(), _CITY, Types.SHORT()]
)


def _narrow(at: int) -> Any:
    return [at % 100, at % 7, 0, -(at % 50), at % 1000, at, None if at % 4 else 1, at % 2]


def _wide(at: int) -> Any:
    return [f"{'value-and-more'[: 3 + (at + n) % 12]}{at * n % 9973}" for n in range(21)] + [at]


def _nested(at: int) -> Any:
    city = {"name": f"city {at % 500}", "zip": 10_000 + at % 500}
    return [at, {"street": f"street {at % 997}", "number": at % 200, "city": city, "floor": at % 9}]


def _maps(at: int) -> Any:
    return [at, {f"name {n}": at * n % 10_007 for n in range(8)}]


SHAPES: dict[str, tuple[RowTypeInfo, Callable[[int], Any]]] = {
    "narrow": (Types.ROW([Types.INT()] * 8), _narrow),
    "wide": (Types.ROW([*[_STRING] * 21, _LONG]), _wide),
    "nested": (Types.ROW_NAMED(["id", "address"], [_LONG, _ADDRESS]), _nested),
    "maps": (Types.ROW_NAMED(["id", "counts"], [_LONG, Types.MAP(_STRING, _LONG)]), _maps),
}
"""Name to type, and to what makes the fields of a row of its number."""

_ENCODINGS: dict[str, tuple[Callable[[RowTypeInfo], RowEncoding], bool, str]] = {
    "pickle": (row_encodings.pickled, True, "plain rows, one pickle each"),
    "pickle-together": (row_encodings.pickled_together, True, "plain rows, one pickle for all"),
    "msgspec": (row_encodings.msgspec_rows, True, "MessagePack arrays"),
    "avro-fastavro": (
        row_encodings.avro,
        True,
        "stands in for Spark's to_avro: the same bytes, but written by fastavro from dicts",
    ),
    "avro-spark": (row_encodings.spark_avro, True, ""),
    "fixed-slots": (row_encodings.fixed_slots, True, "BinaryRowData's layout, in Python"),
    "coded": (row_encodings.coded, False, "coded rows, one by one"),
    "coded-together": (row_encodings.coded_together, False, "coded rows in one pickle"),
} | {
    f"{name} {compression.value}": (
        row_encodings.compressed(make, compression),
        is_peer,
        f"the same, compressed with {compression.value}",
    )
    for name, make, is_peer in (
        ("pickle-together", row_encodings.pickled_together, True),
        ("coded-together", row_encodings.coded_together, False),
    )
    for compression in (Compression.LZ4, Compression.ZSTD)
}
"""Name to encoding, whether it is a peer, and what to know."""


class _NoProcess(Workload):
    """There is nothing to tell a process."""

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Return no outputs."""
        return Outputs(0, "")


def measure(
    case: Case, systems: Sequence[BenchSystem], say: Say
) -> tuple[list[Measurement], list[Skipped]]:
    """Measure all systems at all shapes, in turn, in this process."""
    measurements: list[Measurement] = []
    skipped: list[Skipped] = []
    for shape, (row_type, fields_of) in SHAPES.items():
        rows = row_type.coerce_batch([fields_of(at) for at in range(case.records)])
        expected = Outputs(len(rows), _digest(rows))
        ready: dict[str, RowEncoding] = {}
        for system in systems:
            try:
                ready[system.name] = _ENCODINGS[system.name][0](row_type)
            except SystemMissingError as error:
                left_out = f"{shape} {system.name}"
                skipped.append(Skipped(left_out, case.keys, error.problem, is_failure=False))
        rounds: dict[str, list[Mapping[str, Any]]] = {name: [] for name in ready}
        for number in range(case.rounds + 1):
            for name, encoding in ready.items():
                rounds[name].append(_round(encoding, rows))
            say(f"{shape}: {f'round {number} of {case.rounds}' if number else 'warm-up'}")
        for system in systems:
            if system.name in ready:
                found = ready[system.name].decode(ready[system.name].encode(rows))
                named = replace(system, name=f"{shape} {system.name}", options={"shape": shape})
                measurements.append(
                    Measurement(
                        system=named,
                        case=replace(case, settings={**case.settings, "shape": shape}),
                        rounds=tuple(rounds[system.name][1:]),
                        warm_up={"cold_seconds": rounds[system.name][0]["seconds"]},
                        outputs=Outputs(len(found), _digest(found)),
                        expected=expected,
                        peak_memory_bytes={"driver": _peak_bytes(), "jvm": 0, "workers": 0},
                    )
                )
    return measurements, skipped


def _round(encoding: RowEncoding, rows: list[Any]) -> dict[str, Any]:
    """Return what one pass over the rows took, in CPU time."""
    gc.collect()
    gc.disable()  # as it is in workers while records are processed
    try:
        start = time.process_time_ns()
        encoded = encoding.encode(rows)
        middle = time.process_time_ns()
        encoding.decode(encoded)
        end = time.process_time_ns()
    finally:
        gc.enable()
    return {
        "records": len(rows),
        "seconds": (end - start) / 1e9,
        "bytes_per_row": round(encoded.size_bytes / len(rows), 2),
        "encode_ns_per_row": round((middle - start) / len(rows), 1),
        "decode_ns_per_row": round((end - middle) / len(rows), 1),
    }


def _digest(rows: list[Any]) -> str:
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def _peak_bytes() -> int:
    """Return the peak memory of this process, which all systems share."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _command() -> list[str]:
    raise SystemMissingError("it has no process", hint="It runs in this one.")


PROGRAM = BenchProgram(
    name="coded-rows",
    summary="bytes, and CPU time to encode and decode rows, of coded rows and others",
    systems=tuple(
        BenchSystem(name, _command, is_peer=is_peer, mode="CPU", note=note)
        for name, (_, is_peer, note) in _ENCODINGS.items()
    ),
    reference="coded",
    records=10_000,
    keys=1,
    options={},
    prepare=lambda _case, _directory: _NoProcess(),
    measure=measure,
)
