"""Checks the columns of live files before results of these files become visible."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from penstock.spark.sources.file_columns import FileColumns
from penstock.spark.sources.file_paths import facts_of
from penstock.spark.sources.file_reads import row_schema
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.table import files_of


class LiveColumns:
    """Checks the files of each micro-batch of one live run."""

    def __init__(self, context: ReadContext) -> None:
        """Begin before the first query.

        Args:
            context: Read context of the run.
        """
        self._context = context
        self._begun: set[tuple[int, int]] = set()
        self._parts = [
            (source, part, files)
            for source, part, described in context.parts()
            if (files := files_of(described)) is not None
        ]

    def check(self, files: Mapping[int, set[str]]) -> None:
        """Check the files of a micro-batch before it runs.

        Args:
            files: Source id to URIs.

        Raises:
            SourceError: A file has columns that would be lost; the error names it.
        """
        for source, part, described in self._parts:
            if files.get(source):
                schema = row_schema(self._context, source, part, described)
                origin = self._context.plan.source(source).origin
                columns = FileColumns(self._context.session, described, schema, origin)
                columns.check(self._sizes(files[source]))

    def _sizes(self, uris: set[str]) -> dict[str, int]:
        """Return the bytes of files; those that are gone are left out, because the reader names them."""
        sizes = {}
        for uri in sorted(uris):
            with suppress(FileNotFoundError):
                sizes[uri] = facts_of(self._context.session, uri)[0]
        return sizes
