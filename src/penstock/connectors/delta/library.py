"""The library `deltalake`, which is imported when a table is opened, and its failures as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from penstock.errors import CallSite, MissingConnectorError, PenstockError
from penstock.user_failure import raise_interrupt

_LIBRARY = "deltalake"


def check_installed(what: str) -> None:
    """Check that the library can be imported, without importing it.

    Args:
        what: What needs it.

    Raises:
        MissingConnectorError: It cannot.
    """
    if find_spec(_LIBRARY) is None:
        raise MissingConnectorError.here(
            f"{what} needs the package deltalake, which is not installed",
            hint="Install it here and for the workers: pip install 'penstock[delta]'.",
        )


def library() -> Any:
    """Return the module `deltalake`.

    Raises:
        MissingConnectorError: It is not installed.
    """
    check_installed("a Delta table")
    return import_module(_LIBRARY)


@contextmanager
def delta_errors(
    made: type[PenstockError], directory: Path, doing: str, origin: CallSite | None = None
) -> Iterator[None]:
    """Turn a failure of the library, or of the file system, into one of ours.

    The library raises bare `Exception` for failures of its core, so nothing narrower can be caught.

    Args:
        made: The class of the error.
        directory: The table.
        doing: What fails, e.g. `open`.
        origin: The user's line.

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
