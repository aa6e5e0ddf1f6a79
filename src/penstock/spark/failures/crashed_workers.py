"""Python workers that ended without an exception: crashes of extension modules, and processes that exit.

Python's fault handler, which our sessions switch on, writes the frames of a crash, the innermost first:

    Python worker exited unexpectedly (crashed): Fatal Python error: Segmentation fault

    Current thread 0x00007f… (most recent call first):
      File "/jobs/job.py", line 12 in parse
"""

from __future__ import annotations

import re

from penstock.errors import CallSite, JobFailedError
from penstock.user_failure import is_of_program

_CRASHED = re.compile(r"Python worker exited unexpectedly \(crashed\)")
_FATAL = re.compile(r"Fatal Python error: ([^\n]+)")
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+) in (\S+)', re.MULTILINE)


def crashed_worker(text: str, doing: str) -> JobFailedError | None:
    """Return our error about a Python worker that ended, None for any other failure."""
    crashed = _CRASHED.search(text)
    if crashed is None:
        return None
    dump = text[crashed.end() :]
    fatal = _FATAL.search(dump)
    if fatal is None:
        return JobFailedError(
            f"{doing} failed: the process of a Python worker has ended, without an exception",
            hint="Find the library that ends it, or what has killed it: the system's log names "
            "processes that were killed for lack of memory, and fewer tasks at once (parallelism.default) need less.",
        )
    frames = (CallSite(file, int(line), name) for file, line, name in _FRAME.findall(dump))
    site = next((frame for frame in frames if is_of_program(frame.filename)), None)
    return JobFailedError(
        f"{doing} failed: a Python worker has crashed: {fatal[1]}",
        hint="Correct the function, or the extension module that it calls.",
        origin=site,
    )
