"""Whole queries: relations that Spark SQL may compute in the place of operators, and the source that is then in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.expressions.steps import ExpressionChain
from penstock.graph.dataset import Dataset
from penstock.graph.source import Source
from penstock.relation.tree import Relation, Scan, relations_of
from penstock.types import TypeInformation
from penstock.types.records import RowTypeInfo


@dataclass(frozen=True, slots=True)
class QueryRead:
    """A read of a query.

    Attributes:
        name: Name of the source, for people.
        type_info: Type of its records, as the program declares it.
    """

    name: str
    source: Source
    type_info: TypeInformation


@dataclass(frozen=True, slots=True, eq=False)
class ScanRead:
    """The rows of a scan.

    Attributes:
        rows: Columns of a source, or another query; a text is the reason why they are neither.
        chain: Expressions whose results are scanned, computed over these; None takes them as they are.
        required: Position of the column that is never NULL, because it is the time of the rows; None if there is none.
    """

    scan: Scan
    rows: QueryRead | WholeQuery | str
    chain: ExpressionChain | None = None
    required: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WholeQuery:
    """Relation that an operator computes, with those that lead to it.

    Attributes:
        reads: The rows of its scans.
        forgets: Whether operators forget state after a time.
    """

    relation: Relation
    reads: tuple[ScanRead, ...]
    forgets: bool = False

    def read(self, scan: Scan) -> ScanRead:
        """Return the rows of a scan."""
        return next(read for read in self.reads if read.scan is scan)

    def relations(self, top: Relation | None = None) -> Iterator[tuple[Relation, WholeQuery]]:
        """Yield the relations that lead to one, those of queries that it reads included, each behind its inputs and with its query."""
        for relation in relations_of(top or self.relation):
            rows = self.read(relation).rows if isinstance(relation, Scan) else None
            if isinstance(rows, WholeQuery):
                yield from rows.relations()
            yield relation, self

    @property
    def sources(self) -> tuple[QueryRead, ...]:
        """Reads of sources, each once."""
        reads: list[QueryRead] = []
        for relation, query in self.relations():
            rows = query.read(relation).rows if isinstance(relation, Scan) else None
            if isinstance(rows, QueryRead) and all(
                read.source is not rows.source for read in reads
            ):
                reads.append(rows)
        return tuple(reads)


@dataclass(frozen=True, slots=True)
class QuerySource(Source):
    """The rows that Spark SQL computes of other sources, in a batch run."""

    kind: ClassVar[str] = "query"
    makes_records_anew: ClassVar[bool] = True
    is_internal: ClassVar[bool] = True
    query: WholeQuery
    row_type: RowTypeInfo

    @property
    def query_parts(self) -> tuple[Source, ...]:
        """The reads of the query, in order; Spark reads each as columns."""
        return tuple(read.source for read in self.query.sources)

    @property
    def is_bounded(self) -> bool:
        """True if the query ends: it reads what ends."""
        return True

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self.row_type

    def describe(self) -> str:
        """Return what is read."""
        return f"a query of {', '.join(part.describe() for part in self.query_parts)}"

    def datasets(self) -> Sequence[Dataset]:
        """Return what the query reads."""
        return tuple(dataset for part in self.query_parts for dataset in part.datasets())
