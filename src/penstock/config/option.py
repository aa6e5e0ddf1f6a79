"""The declaration of an option. Its key stands nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.config.parse import Parser

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Limit(Generic[T_contra]):
    """A condition on the value of an option, enforced and documented from here.

    Attributes:
        requirement: Completes "the value …": `must be 1 or more`.
    """

    requirement: str
    holds: Callable[[T_contra], bool]

    def __call__(self, value: T_contra) -> str | None:
        """Return why `value` is refused, or None."""
        return None if self.holds(value) else self.requirement


ANY_VALUE: Limit[object] = Limit("may be anything", lambda _: True)
"""The limit of an option without one."""


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """One declared setting.

    Attributes:
        key: Dotted, kebab-case, without the unit: `execution.checkpointing.interval`.
        parse: Turns the text form into `T`.
        default: The value when the key is not set.
        description: Full sentences, for the reference page.
        check: Refuses values; a limit written only in `description` is not a limit.
        fallback_keys: Other names of the option, tried in order after `key`.
        deprecated: Reason and replacement, a full sentence, if the option will go; `Configuration.validate` warns of it.
    """

    key: str
    parse: Parser[T]
    default: T
    description: str
    check: Limit[T] = ANY_VALUE
    fallback_keys: tuple[str, ...] = ()
    deprecated: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Every name of the option, in the order they are tried."""
        return (self.key, *self.fallback_keys)


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on several options together.

    Attributes:
        requirement: The condition in words, with the keys.
        holds: Takes the values in the order of `options`.
    """

    options: Sequence[ConfigOption[Any]]
    requirement: str
    holds: Callable[..., bool]


def between(minimum: int, maximum: int) -> Limit[int]:
    """Return the limit `minimum <= value <= maximum`."""
    return Limit(
        f"must be between {minimum:,} and {maximum:,}", lambda value: minimum <= value <= maximum
    )


def one_of(*names: str) -> Limit[str]:
    """Return the limit that allows only the strings `names`."""
    return Limit(f"must be one of {', '.join(names)}", lambda value: value in names)


NOT_BLANK: Limit[str | None] = Limit(
    "must not be blank", lambda value: value is None or bool(value.strip())
)
"""Refuses empty and blank text; allows None."""
