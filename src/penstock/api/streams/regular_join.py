"""Joins of two streams over all records, without windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.program.join import JoinKind, JoinSpec
from penstock.program.operators import KEYED_REGULAR_JOIN
from penstock.types import Types
from penstock.types.inferred import enforced

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.joined_rows import JoinedRows


FIELDS = ["left", "right"]


class RegularJoinForms:
    """The four joins over all records, of what `a.join(b).where(f).equal_to(g)` returns.

    Both sides are changelogs: a `Row` of kind INSERT or UPDATE_AFTER is added to its side, one of
    kind UPDATE_BEFORE or DELETE removes an equal one; other records are added. A row may be
    there any number of times. All rows stay in state, unless `table.exec.state.ttl` is set.

    A key that is None, or a tuple or row with a None in it, matches nothing.
    """

    def keyed_sides(self) -> tuple[DataStream[Any], DataStream[Any]]:
        """Return both streams, each with its key."""
        raise AssertionError(type(self).__name__)

    def inner(self) -> JoinedRows:
        """Return every pair of rows with the same key, as a changelog.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).inner()
            >>> [(row.left, row.right) for row in collect(pairs)]
            [(2, 2)]
        """
        return _joined(*self.keyed_sides(), JoinKind.INNER)

    def left(self) -> JoinedRows:
        """Return the pairs, and left rows without a match beside None.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).left()
            >>> sorted((row.left, str(row.right)) for row in collect(pairs))
            [(1, 'None'), (2, '2')]
        """
        return _joined(*self.keyed_sides(), JoinKind.LEFT)

    def right(self) -> JoinedRows:
        """Return the pairs, and right rows without a match beside None.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).right()
            >>> sorted((str(row.left), row.right) for row in collect(pairs))
            [('2', 2), ('None', 3)]
        """
        return _joined(*self.keyed_sides(), JoinKind.RIGHT)

    def full(self) -> JoinedRows:
        """Return the pairs, and rows of either side without a match beside None.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).full()
            >>> sorted((str(row.left), str(row.right)) for row in collect(pairs))
            [('1', 'None'), ('2', '2'), ('None', '3')]
        """
        return _joined(*self.keyed_sides(), JoinKind.FULL)


def _joined(left: DataStream[Any], right: DataStream[Any], kind: JoinKind) -> JoinedRows:
    types = (enforced(left.get_type()), enforced(right.get_type()))
    rows = left.join_with(
        right,
        KEYED_REGULAR_JOIN,
        f"{kind.name.lower()} join",
        Types.ROW_NAMED(FIELDS, list(types)),
        join=JoinSpec(kind, types),
    )
    return cast("JoinedRows", rows)
