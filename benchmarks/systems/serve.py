"""The side of the protocol that runs in the process of a system. Standard library only.

One JSON object a line. The runner writes commands to standard input and reads one answer to each
from what was standard output when the process began; whatever the system itself prints goes to
standard error.

    {"do": "start", "specification": {...}}   -> {"ok": {}}
    {"do": "warm_up"}                         -> {"ok": {"cold_seconds": 9.1, ...}}
    {"do": "round"}                           -> {"ok": {"records": 2000000, "seconds": 5.2, ...}}
    {"do": "check"}                           -> {"ok": {"count": 200000, "digest": "..."}}
    {"do": "close"}                           -> {"ok": {}}, and the process ends

An exception is answered as {"error": "its text"}; the runner then gives the system up.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, Protocol, TextIO


class Served(Protocol):
    """A system. Methods are called in the order in which they are listed, `round` repeatedly.

    A process may be stopped (SIGSTOP) for any time between two calls.
    """

    def warm_up(self) -> dict[str, Any]:
        """Reach the state in which it is measured.

        Returns:
            `cold_seconds`, from the start of the process to its first committed output, and
            whatever else is worth telling.
        """

    def round(self) -> dict[str, Any]:
        """Run one measured round.

        Returns:
            `records` and `seconds`; `latencies` (seconds of each micro-batch) if it has any;
            whatever else is worth telling.
        """

    def check(self) -> dict[str, Any]:
        """Return `count` and `digest` of the outputs; not measured."""

    def close(self) -> None:
        """Stop everything."""


def serve(make: Callable[[dict[str, Any]], Served]) -> None:
    """Answer commands until `close` or the end of standard input.

    Args:
        make: Gets the specification and returns the system; called at `start`.
    """
    answers = _take_standard_output()
    served: Served | None = None
    for line in sys.stdin:
        command = json.loads(line)
        result: dict[str, Any]
        answer: dict[str, Any]
        try:
            if command["do"] == "start":
                served = make(command["specification"])
                result = {}
            else:
                assert served is not None, "the first command is start"
                result = getattr(served, command["do"])() or {}
        except BaseException as error:  # noqa: BLE001 - told to the runner, which decides
            traceback.print_exc()
            answer = {"error": str(error).strip() or type(error).__name__}
        else:
            answer = {"ok": result}
        answers.write(f"{json.dumps(answer)}\n")
        answers.flush()
        if command["do"] == "close":
            return


def _take_standard_output() -> TextIO:
    """Keep standard output for answers; what is printed from now on goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
