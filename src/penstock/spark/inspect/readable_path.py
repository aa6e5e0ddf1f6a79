"""The path by which Spark's reader of state finds a checkpoint.

Spark 4 spells the path as a URI, and takes that for a path again: `a b` is looked for as `a%20b`. So a link is made whose path a
URI spells as it is. Executors on other hosts would not see it.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from penstock.spark.session.temporary_directory import PLAIN_PATH
from penstock.spark.sources.file_paths import uri_of


@lru_cache(maxsize=256)
def readable_path(path: Path) -> str:
    """Return the path of a checkpoint, or of a link to it, which lasts as long as this process."""
    if uri_of(str(path)) == f"file://{path}":
        return str(path)
    made = Path(tempfile.mkdtemp(prefix="penstock-state-", dir=PLAIN_PATH))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    link = made / "checkpoint"
    link.symlink_to(path.absolute(), target_is_directory=True)
    return str(link)
