"""Fields of a row type that had another name in an earlier version of the program.

    renamed={"total": "totals"}                    rows that were stored with `total` have it as `totals`
    renamed={"total": "totals", "totals": "sum"}   so have rows of both earlier versions, as `sum`
    renamed={"note": None}                         `note` was removed, no new field took its place

A renaming is of no account for rows that were stored with the new name: they are younger than it. So it stays
in the program as long as older rows may be read.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import ArgumentError, did_you_mean

Renamed = tuple[tuple[str, str | None], ...]
"""(earlier name, name in a later version, or None of a removed field), distinct, ascending."""


def checked_renamed(names: tuple[str, ...], renamed: Mapping[str, str | None] | None) -> Renamed:
    """Return a declaration of renamed fields as a value.

    Args:
        names: Names of the fields that there are.
        renamed: Earlier to later name; None for a removed field.

    Raises:
        ArgumentError: A name is no string, a field becomes itself by way of others, a name leads to no field, or a field
            that there is was removed.
    """
    later = dict(renamed or {})
    for name, following in later.items():
        if not isinstance(name, str) or not isinstance(following, str | None):
            hint = 'Pass names, e.g. renamed={"earlier": "later"}.'
            raise _refusal(f"{name!r}: {following!r}", "is no pair of names", hint)
    for name in later:
        _check_end(name, later, names)
    return tuple(sorted(later.items()))


def _check_end(name: str, later: Mapping[str, str | None], names: tuple[str, ...]) -> None:
    """Check that an earlier name leads to a field, or to none."""
    path = [name]
    while path[-1] in later:
        following = later[path[-1]]
        if following is None:
            if path[-1] in names:
                hint = f"Leave {path[-1]!r} out of renamed, or give the field a name that no earlier version had."
                raise _refusal(f"{path[-1]!r}: None", "removes a field that there is", hint)
            return
        if following in path:
            hint = "Give fields that exchange names new ones, which no earlier version had."
            raise _refusal(_arrows([*path, following]), "leads back to an earlier name", hint)
        path.append(following)
    if path[-1] not in names:
        reason = f"leads to {path[-1]!r}, which is no field{did_you_mean(path[-1], names)}"
        hint = f"Use one of {', '.join(names)}, or None for a field that was removed."
        raise _refusal(_arrows(path), reason, hint)


def _arrows(path: list[str]) -> str:
    return " to ".join(map(repr, path))


def _refusal(what: str, reason: str, hint: str) -> ArgumentError:
    return ArgumentError(f"Row type got renamed with {what}, which {reason}", hint=hint)
