"""Where the demo keeps its files.

    <data_dir>/
      penstock-demo.json         what was prepared; marks the directory as the demo's
      history/2013-01-01.parquet January to October, a file per day
      feed/2013-11-01.parquet    November and December, a file per day
      live/                      the files of feed/, as they arrive while the job runs
      checkpoint/                progress and state of the job
      out/<result>/              results, Parquet
      compare/<mode>/            results of `--compare`
      demo.png                   the picture

The prepared files stay from one demo to the next, the others are made anew.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths below the data directory.

    Attributes:
        root: The data directory, absolute: Spark's workers have working directories of
            their own.
    """

    root: Path

    @classmethod
    def below(cls, data_dir: Path) -> Layout:
        """Return the layout of `data_dir`, which need not exist."""
        return cls(data_dir.expanduser().resolve())

    @property
    def manifest(self) -> Path:
        """What was prepared."""
        return self.root / "penstock-demo.json"

    @property
    def history(self) -> Path:
        """Files that exist before the job starts."""
        return self.root / "history"

    @property
    def feed(self) -> Path:
        """Files that will arrive while the job runs."""
        return self.root / "feed"

    @property
    def live(self) -> Path:
        """Directory the job watches."""
        return self.root / "live"

    @property
    def checkpoint(self) -> Path:
        """Progress and state of the job."""
        return self.root / "checkpoint"

    @property
    def out(self) -> Path:
        """Results of the job."""
        return self.root / "out"

    @property
    def compare(self) -> Path:
        """Results of the runs that are compared."""
        return self.root / "compare"

    @property
    def picture(self) -> Path:
        """The picture."""
        return self.root / "demo.png"

    def feed_files(self) -> list[Path]:
        """Return the files to arrive, in order of their day."""
        return sorted(self.feed.glob("*.parquet"))

    def clear_run(self) -> None:
        """Delete what an earlier run of the job left; the prepared data stays."""
        for directory in (self.live, self.checkpoint, self.out, self.compare):
            if directory.exists():
                shutil.rmtree(directory)
        self.picture.unlink(missing_ok=True)
        self.live.mkdir(parents=True)
