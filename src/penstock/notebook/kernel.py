"""The notebook that this process is the kernel of, if it is one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_is_unseen: ContextVar[bool] = ContextVar("is_unseen", default=False)


@contextmanager
def unseen() -> Iterator[None]:
    """Show nothing of jobs that are started inside the context: they are a part of something else."""
    before = _is_unseen.set(True)
    try:
        yield
    finally:
        _is_unseen.reset(before)


def shows_jobs() -> bool:
    """Return whether jobs that are started here have a live view."""
    return not _is_unseen.get() and display_of_notebook() is not None


def display_of_notebook() -> Any:
    """Return IPython's `display`, None if this is no kernel of a notebook.

    IPython is not imported: who is in a notebook has it imported.
    """
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    if getattr(shell, "kernel", None) is None:
        return None
    return sys.modules["IPython.display"].display
