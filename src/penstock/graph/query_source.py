"""A source whose records are the rows of a query: what the planner puts in the place of operators that Spark SQL computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.expressions.queries import Query
from penstock.expressions.steps import ExpressionChain
from penstock.graph.dataset import Dataset
from penstock.graph.source import Source
from penstock.types.information import TypeInformation
from penstock.types.records import RowTypeInfo


@dataclass(frozen=True, slots=True)
class QueryRead:
    """A read of a query.

    Attributes:
        name: Of the source, for people.
        source: The source.
        type_info: Type of its records, as the program declares it.
        chain: What is selected of them first; None takes them as they are.
    """

    name: str
    source: Source
    type_info: TypeInformation
    chain: ExpressionChain | None = None


@dataclass(frozen=True, slots=True)
class WholeQuery:
    """Query of Spark SQL in the place of an operator and of those that lead to it.

    Attributes:
        query: The query; None if Spark SQL would not have the same rows.
        reads: What it reads, by its numbers.
        because: Why there is no query; empty if there is one.
    """

    query: Query | None
    reads: tuple[QueryRead, ...] = ()
    because: str = ""


@dataclass(frozen=True, slots=True)
class QuerySource(Source):
    """The rows that Spark SQL computes of other sources, in a batch run.

    Attributes:
        query: What is computed.
        parts: The sources that it reads, by their numbers; Spark reads each as columns.
        chains: What is selected of each first; None takes its rows as they are.
        row_type: Type of the rows.
    """

    kind: ClassVar[str] = "query"
    makes_records_anew: ClassVar[bool] = True
    is_internal: ClassVar[bool] = True
    query: Query
    parts: tuple[Source, ...]
    chains: tuple[ExpressionChain | None, ...]
    row_type: RowTypeInfo

    @property
    def query_parts(self) -> tuple[Source, ...]:
        """The reads of the query."""
        return self.parts

    @property
    def is_bounded(self) -> bool:
        """True if the query ends: it reads what ends."""
        return True

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self.row_type

    def describe(self) -> str:
        """Return what is read."""
        return f"a query of {', '.join(part.describe() for part in self.parts)}"

    def datasets(self) -> Sequence[Dataset]:
        """Return what the query reads."""
        return tuple(each for part in self.parts for each in part.datasets())
