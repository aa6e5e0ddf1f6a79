"""The library `deltalake`, which is imported when a table is opened, and its failures as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import CallSite, PenstockError
from penstock.extras import EXTRAS
from penstock.user_failure import raise_interrupt

_LIBRARY = EXTRAS["delta"]
check_installed, library = _LIBRARY.check_installed, _LIBRARY.load


@contextmanager
def delta_errors(
    made: type[PenstockError], directory: Path, doing: str, origin: CallSite | None = None
) -> Iterator[None]:
    """Turn a failure of the library, or of the file system, into one of ours.

    The library raises bare `Exception` for failures of its core, so nothing narrower can be caught.

    Raises:
        PenstockError: The block raised.
    """
    try:
        yield
    except PenstockError:
        raise
    except BaseException as cause:
        raise_interrupt(cause)
        raise made(
            f"cannot {doing} the Delta table {directory}: {_first_line(cause)}",
            hint="Check the path, and that nothing but Delta writers changes what is in it. The job goes "
            "on where it was.",
            origin=origin,
        ) from cause


def _first_line(cause: BaseException) -> str:
    """Return the first line of a message; behind it the library gives frames of its own."""
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
