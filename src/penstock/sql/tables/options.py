"""Options of WITH: declared in tables, read and checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from penstock.config.parse import Parser
from penstock.errors import ConfigError, SqlError, did_you_mean
from penstock.sql.place import TextPlace

T = TypeVar("T")

FAMILY = ".*"
"""A key that ends so stands for all keys with its begin."""


@dataclass(frozen=True, slots=True)
class TableOption(Generic[T]):
    """An option of a connector or format.

    Attributes:
        key: Its name, which is Flink's unless the description begins with "Ours".
        description: For messages and docs/sql.md.
        default: The value when it is not there; None is none.
        is_required: True if it has to be there.
        choices: The only texts that it may have; empty is any.
    """

    key: str
    parse: Parser[T]
    description: str
    default: T | None = None
    is_required: bool = False
    choices: tuple[str, ...] = ()

    def names(self, key: str) -> bool:
        """Return whether a key of a statement is this option."""
        if self.key.endswith(FAMILY):
            return key.startswith(self.key[:-1])
        return key == self.key


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of one table.

    Attributes:
        owner: Their owner, for messages: `table 'orders' (line 3, column 1)`.
        given: Key to text, as in the statement.
    """

    owner: str
    given: Mapping[str, str]

    def get(self, option: TableOption[T]) -> T | None:
        """Return the value of an option, its default if it is not there."""
        text = self.given.get(option.key)
        if text is None:
            return option.default
        if option.choices and text not in option.choices:
            raise self.wrong(
                f"has {option.key!r} = {text!r}", f"Use one of: {', '.join(option.choices)}."
            )
        try:
            return option.parse(text)
        except ConfigError as cause:
            raise self.wrong(
                f"has {option.key!r} = {text!r}: {cause.problem}", cause.hint
            ) from cause

    def value(self, option: TableOption[T]) -> T:
        """Return the value of an option that is required or has a default."""
        return cast("T", self.get(option))

    def family(self, option: TableOption[Any]) -> dict[str, str]:
        """Return the options of a family, without what their keys begin with."""
        begin = option.key[:-1]
        return {
            key.removeprefix(begin): text
            for key, text in self.given.items()
            if key.startswith(begin)
        }

    def needed(self, option: TableOption[T], because: str) -> T:
        """Return the value of an option that something else makes necessary."""
        value = self.get(option)
        if value is None:
            raise self.wrong(
                f"lacks the option {option.key!r}, which is needed {because}", "Add it to WITH."
            )
        return value

    def wrong(self, problem: str, hint: str) -> SqlError:
        """Return an error about the options of the table."""
        return SqlError.here(f"{self.owner} {problem}", hint=hint)


def checked_options(
    owner: str, given: Sequence[tuple[str, str]], declared: Sequence[TableOption[Any]]
) -> TableOptions:
    """Return the options of a table."""
    options = TableOptions(owner, dict(given))
    if len(options.given) < len(given):
        keys = [key for key, _ in given]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise options.wrong(f"has the option {twice!r} twice", "Remove one of them.")
    for key in options.given:
        if not any(option.names(key) for option in declared):
            known = tuple(option.key for option in declared)
            near = did_you_mean(key, known)
            raise options.wrong(
                f"has the option {key!r}, which there is not{near}",
                f"Use some of: {', '.join(sorted(known))}.",
            )
    for option in declared:
        if option.is_required and option.key not in options.given:
            raise options.wrong(f"lacks the option {option.key!r}", f"Add it: {option.description}")
        options.get(option)  # a text that is no value is refused now
    return options


def owner_of(name: Sequence[str], place: TextPlace) -> str:
    """Return the name of a table in messages."""
    return f"table {'.'.join(name)!r} ({place})"
