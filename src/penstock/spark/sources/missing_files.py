"""Refuses missing files before any record is read."""

from __future__ import annotations

from penstock.errors import SourceError
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.spark.sources.file_paths import has_glob, local_path
from penstock.spark.sources.table import files_of


def check_files_there(plan: PhysicalPlan, run: RunPlan) -> None:
    """Refuse a run that reads a missing path, if that can be known.

    Raises:
        SourceError: A local path without glob characters does not exist.
    """
    for reading in run.readings:
        source = plan.source(reading.source)
        for part in (source.parts[number] for number in reading.parts):
            files = files_of(part)
            here = None if files is None else local_path(files.path)
            if here is None or here.exists() or has_glob(here):
                continue
            raise SourceError(
                f"{part.describe()} cannot be read: there is no {here}",
                hint="Create the directory, empty if nothing has arrived yet, or correct the path.",
                origin=source.origin,
            )
