"""`ConfigOptions`: options that a program declares, for `Configuration.get` and `set`."""

from __future__ import annotations

from typing import Generic, TypeVar

from penstock.config.option import ConfigOption
from penstock.config.parse import BOOLEAN, INTEGER, NUMBER, STRING, Parser

T = TypeVar("T")


class ConfigOptions:
    """Declares options of a program.

    Example:
        >>> ConfigOptions.key("my.size").int_type().default_value(3).default
        3
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Return a builder for the option with the key `key`."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """A key that needs a type."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Declare `true` or `false`."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, BOOLEAN)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Declare an integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, INTEGER)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Declare an integer."""
            return self.int_type()

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Declare a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, NUMBER)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Declare a number."""
            return self.float_type()

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Declare text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, STRING)

    class TypedConfigOptionBuilder(Generic[T]):
        """A key with a type that may have a default."""

        def __init__(self, key: str, parse: Parser[T]) -> None:
            self._key = key
            self._parse = parse

        def default_value(self, value: T) -> ConfigOption[T]:
            """Return the option; its value is `value` if the key is not set."""
            return ConfigOption(self._key, self._parse, value, "An option of the program.")

        def no_default_value(self) -> ConfigOption[T | None]:
            """Return the option; its value is None if the key is not set."""
            return ConfigOption(self._key, self._parse, None, "An option of the program.")
