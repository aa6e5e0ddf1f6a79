"""What the user can choose about the demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_DATA_DIR = Path("demo-data")


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Options of `penstock demo`.

    Attributes:
        data_dir: Directory of everything the demo writes; new, empty, or of an earlier demo.
        compare: Whether to also run the program in BATCH and in STREAMING mode, for speed.
        parallelism: Subtasks of every operator; None is one per core.
        fresh: Whether to prepare the data again although it is there.
    """

    data_dir: Path = DEFAULT_DATA_DIR
    compare: bool = False
    parallelism: int | None = None
    fresh: bool = False
