"""The columns of live files, looked at before anything computed from them is visible."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.connectors.files.file_source import FileSource
from penstock.spark.sources.file_columns import FileColumns, check_of
from penstock.spark.sources.source_reads import ReadContext, row_schema


class LiveColumns:
    """Looks at the files of each micro-batch of one live run."""

    def __init__(self, context: ReadContext) -> None:
        """Begin before the first query.

        Args:
            context: Of the run.
        """
        self._context = context
        self._parts = [
            (source, part, described)
            for source, part, described in context.parts()
            if isinstance(described, FileSource) and check_of(described) is not None
        ]

    def check(self, files: Mapping[int, set[str]]) -> None:
        """Look at the files of a micro-batch that is to be run.

        Args:
            files: Source id to URIs.

        Raises:
            SourceError: One has columns that would be lost; names it.
        """
        for source, part, described in self._parts:
            if files.get(source):
                schema = row_schema(self._context, source, part, described)
                origin = self._context.plan.source(source).origin
                columns = FileColumns(self._context.session, described, schema, origin)
                columns.check(sorted(files[source]))
