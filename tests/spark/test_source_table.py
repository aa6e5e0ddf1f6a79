"""The table of sources has one row for whatever Spark reads, and says what was recorded before."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.data_generator import NumberSequenceSource
from penstock.connectors.spark_source import SparkSource
from penstock.errors import SourceError
from penstock.graph.endpoints import Source
from penstock.graph.hybrid import HybridSource
from penstock.graph.query_source import QuerySource
from penstock.spark.sources.source_row import SourceKind
from penstock.spark.sources.table import SOURCES, files_of, row_named, row_of
from penstock.types import Types
from tests.connectors.source_classes import source_classes
from tests.log_world import WorldLog

AS_PARTS = {HybridSource, QuerySource}
"""What is read as its parts, each a source."""


class Frame:
    mapInArrow = None  # noqa: N815 - as in Spark

    def __init__(self, *, is_streaming: bool) -> None:
        self.isStreaming = is_streaming


class Elsewhere(Source):
    kind = "elsewhere"
    is_bounded = True

    def get_produced_type(self):
        return Types.PICKLED_BYTE_ARRAY()


HISTORY = FileSource("in", "text")
BATCH, STREAMING = (SparkSource(Frame(is_streaming=each)) for each in (False, True))


@pytest.mark.parametrize("source", source_classes(), ids=lambda cls: cls.__name__)
def test_the_table_is_total(source):
    ends = Counter(
        end
        for row in SOURCES
        if issubclass(source, row.source)
        for end in ((True, False) if row.is_bounded is None else (row.is_bounded,))
    )
    assert ends == ({} if source in AS_PARTS else {True: 1, False: 1})


def test_every_name_has_one_row():
    assert [row.kind for row in SOURCES] == list(SourceKind)
    assert all(row_named(row.kind.name) is row for row in SOURCES)


def test_names_are_those_that_are_recorded():
    recorded = ["SPLITS", "BOUNDED_FILES", "FILES", "WRITTEN_FRAME", "FOREIGN", "LOGS"]
    assert [kind.name for kind in SourceKind] == recorded


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (NumberSequenceSource(1, 2), SourceKind.SPLITS),
        (HISTORY, SourceKind.BOUNDED_FILES),
        (HISTORY.monitor_continuously(), SourceKind.FILES),
        (BATCH, SourceKind.WRITTEN_FRAME),
        (STREAMING, SourceKind.FOREIGN),
        (WorldLog.of({}), SourceKind.LOGS),
        (HybridSource.until_head(WorldLog.of({})).parts[0], SourceKind.LOGS),
    ],
)
def test_a_part_has_the_row_of_its_class_and_end(part, kind):
    assert row_of(part).kind is kind


def test_positions_are_read_where_no_rows_are():
    positions = [SourceKind.SPLITS, SourceKind.LOGS]
    assert [row.kind for row in SOURCES if row.batch is None] == positions
    assert [row.kind for row in SOURCES if row.in_loop is None] == positions


def test_files_of_a_path_are_told_from_files_we_write():
    live = HISTORY.monitor_continuously()
    parts = [HISTORY, live, BATCH, STREAMING, Elsewhere(), NumberSequenceSource(1, 2)]
    assert [files_of(part) for part in parts] == [HISTORY, live, None, None, None, None]


def test_what_spark_cannot_read_is_refused():
    with pytest.raises(SourceError, match="Elsewhere is neither a SplitSource, a FileSource"):
        row_of(Elsewhere())


def test_what_was_recorded_says_where_reading_goes_on():
    splits = row_named("SPLITS").resume({"splits": [[3, 7], [1, None]]})
    assert splits is not None
    assert splits.splits == [(3, 7), (1, None)]
    log = row_named("LOGS").resume({"splits": [[3, None]], "names": ["a"]})
    assert log is not None
    assert (log.splits, log.names) == ([(3, None)], ("a",))
    left = row_named("BOUNDED_FILES").resume(
        {"left": {"files": {"file:///in/a": [3, 5]}, "schema": "{}"}}
    )
    assert left is not None
    assert left.left is not None
    assert left.left.files == {"file:///in/a": (3, 5)}
    read = row_named("WRITTEN_FRAME").resume({"rows_left": False})
    assert read is not None
    assert read.is_read
    assert row_named("WRITTEN_FRAME").resume({"rows_left": True}) is None
    assert row_named("FOREIGN").resume({"offsets": ["7"]}) is None
