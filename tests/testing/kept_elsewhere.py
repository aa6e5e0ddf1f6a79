"""What functions of other modules keep: for laws about objects that are given out again."""

from __future__ import annotations

from typing import Any

TABLE: dict[int, dict[str, Any]] = {}


class Held:
    """Keeps one record for all."""

    record: dict[str, Any] = {}  # noqa: RUF012 - that is the point

    @staticmethod
    def same(value: dict[str, Any]) -> dict[str, Any]:
        return filled(Held.record, value)


def filled(own: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """Give one object again, with what is in another."""
    own.clear()
    own.update(value)
    own["tags"] = list(value["tags"])
    return own


def same(value: dict[str, Any]) -> dict[str, Any]:
    return filled(TABLE.setdefault(0, {}), value)


def of_key(value: dict[str, Any]) -> dict[str, Any]:
    """Look a record up that others change."""
    return TABLE.setdefault(value["k"] + 10, {"k": value["k"], "n": 0, "tags": []})
