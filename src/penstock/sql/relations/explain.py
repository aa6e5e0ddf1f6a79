"""Relations as text: what EXPLAIN shows."""

from __future__ import annotations

from penstock.sql.relations.tree import SqlRelation


def explained(relation: SqlRelation, depth: int = 0) -> str:
    """Return a relation and its inputs, one per line: its changelog mode, and what it keeps.

    Args:
        relation: The relation.
        depth: How far to indent it.
    """
    kept = "" if relation.state is None else f", state: {relation.state}"
    line = f"{'  ' * depth}{relation} [{relation.changelog.value}{kept}]"
    return "\n".join([line, *(explained(each, depth + 1) for each in relation.inputs)])
