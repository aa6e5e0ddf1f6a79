"""Calls of `os._exit` by functions of a program: failures of the function, with operator and record, like `sys.exit`.

Spark sees only that the process of the worker has gone. Spark and libraries end processes of their own by the same
call, and so does a child that a function has forked: these go on to do so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from penstock.user_failure import is_of_program


@dataclass(frozen=True, slots=True)
class ExitOfWorker:
    """Stands in for `os._exit` in a worker.

    Attributes:
        ends: The real one.
        process: Id of the worker's process.
    """

    ends: Callable[[int], NoReturn]
    process: int

    def __call__(self, status: int) -> NoReturn:
        """End the process, unless a function of the program asks for it in the worker's own process.

        Raises:
            RuntimeError: It does.
        """
        if os.getpid() == self.process and is_of_program(sys._getframe(1).f_code.co_filename):
            msg = f"os._exit({status}) would end the worker, with the work of other functions and records"
            raise RuntimeError(msg)
        self.ends(status)


def refuse_exits() -> None:
    """Let functions of the program fail that would end this process, a worker."""
    known = os._exit
    if not isinstance(known, ExitOfWorker):
        os._exit = ExitOfWorker(known, os.getpid())
    elif known.process != os.getpid():
        os._exit = ExitOfWorker(known.ends, os.getpid())
