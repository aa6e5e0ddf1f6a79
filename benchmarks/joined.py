"""Joins results of one program that were measured in pieces to the result of one run.

    python -m benchmarks.joined PIECES.jsonl >> benchmarks/results/nexmark.jsonl

Pieces are parts of a round, whose times add up (`nexmark -o part=1`), or rounds of single systems, which follow one another
(`coded-join -o once=1 --runs 1`). Of a part the newest line counts. How long processes took to start is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.catalog import PROGRAMS
from benchmarks.model.digest import MODULUS, as_text
from benchmarks.model.errors import BenchRequestError
from benchmarks.model.measurement import Measurement
from benchmarks.model.program import Case, Outputs
from benchmarks.programs.nexmark import PART, PARTS
from benchmarks.reporting.results import BenchResult

_SAME = ("name", "records", "keys", "machine", "versions", "commit", "runs", "settings")
_SECONDS = "_seconds"
_WRONG = Outputs(0, "")

Result = Mapping[str, Any]
Answer = dict[str, Any]


def joined(pieces: Sequence[Result]) -> dict[str, Any]:
    """Return the result of all pieces, oldest first.

    Raises:
        BenchRequestError: One is missing, or they were not measured alike.
    """
    is_parts = PART in pieces[0]["options"]
    chosen = _parts(pieces) if is_parts else pieces
    first = chosen[0]
    names = _SAME if is_parts else (*_SAME, "options")
    for name in names:
        if any(each[name] != first[name] for each in chosen):
            raise BenchRequestError(
                f"the pieces have not the same {name}",
                hint="Measure all of them with the same options, at one commit, on one machine.",
            )
    systems = dict.fromkeys(each["system"] for piece in chosen for each in piece["results"])
    measured = [_measurement(name, chosen, is_parts=is_parts) for name in systems]
    if len({len(each.rounds) for each in measured}) > 1:
        raise BenchRequestError(
            "the systems have not the same number of rounds",
            hint="Measure the rounds that are missing, or leave some out.",
        )
    seconds = round(sum(each["wall_seconds"] for each in chosen), 1)
    made = BenchResult(
        PROGRAMS[first["name"]],
        [measured[0].case],
        first["machine"],
        first["versions"],
        first["commit"],
        measured,
        (),
        wall_seconds=seconds,
    ).to_json()
    return {**made, "skipped": [each for piece in chosen for each in piece["skipped"]]}


def _parts(pieces: Sequence[Result]) -> list[Result]:
    newest = {each["options"][PART]: each for each in pieces}
    missing = set(range(1, PARTS + 1)) - newest.keys()
    if missing:
        raise BenchRequestError(
            f"there is no result of part {', '.join(map(str, sorted(missing)))}",
            hint=f"Measure it: python -m benchmarks nexmark -o {PART}={min(missing)}",
        )
    return [newest[number] for number in range(1, PARTS + 1)]


def _measurement(name: str, pieces: Sequence[Result], *, is_parts: bool) -> Measurement:
    found = [each for piece in pieces for each in piece["results"] if each["system"] == name]
    runs = pieces[0]["runs"]
    if is_parts:
        by_part = [_rounds(each, runs) for each in found]
        rounds = [_added(some) for some in zip(*by_part, strict=True)]
        outputs = _added_outputs(found)
    else:
        rounds = [answer for each in found for answer in _rounds(each, runs)]
        outputs = Outputs(**found[0]["outputs"])
    is_right = all(each["outputs_equal"] for each in found)
    roles = sorted({role for each in found for role in each["peak_memory_bytes"]})
    options = pieces[0]["options"]
    return Measurement(
        system=next(each for each in PROGRAMS[pieces[0]["name"]].systems if each.name == name),
        case=Case(
            records=pieces[0]["records"],
            keys=pieces[0]["keys"],
            parallelism=found[0]["options"]["parallelism"],
            rounds=len(rounds),
            options={**options, PART: 0} if is_parts else options,
            settings=pieces[0]["settings"],
        ),
        rounds=rounds,
        warm_up={},
        outputs=outputs,
        expected=outputs if is_right else _WRONG,
        peak_memory_bytes={
            role: max(each["peak_memory_bytes"].get(role, 0) for each in found) for role in roles
        },
    )


def _rounds(measured: Result, runs: int) -> list[Answer]:
    """Return the answers to the rounds of a system. Of several, results tell the seconds of queries only."""
    told = {name: some for name, some in measured["details"].items() if isinstance(some, list)}
    answers = [{name: some[at] for name, some in told.items()} for at in range(runs)]
    for answer in answers:
        parts = [some for name, some in answer.items() if name.endswith(_SECONDS)]
        seconds = measured["seconds"]["median"] if runs == 1 else sum(parts)
        answer |= {"records": measured["records"], "seconds": seconds}
    return answers


def _added(answers: Sequence[Answer]) -> Answer:
    told = {name: value for answer in answers for name, value in answer.items()}
    made = {name: told[name] for name in sorted(told, key=lambda name: (len(name), name))}
    totals = {name: sum(answer[name] for answer in answers) for name in ("records", "seconds")}
    return {**made, **totals}


def _added_outputs(found: Sequence[Result]) -> Outputs:
    count = sum(each["outputs"]["count"] for each in found)
    digest = sum(int(each["outputs"]["digest"], 16) for each in found)
    return Outputs(count, as_text(digest % MODULUS))


def main(arguments: list[str]) -> int:
    """Print the joined result of a file of pieces."""
    lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    sys.stdout.write(json.dumps(joined([json.loads(line) for line in lines])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
