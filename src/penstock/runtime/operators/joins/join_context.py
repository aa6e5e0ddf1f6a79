"""The context of the function of an interval join."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import ArgumentError
from penstock.types.output_tag import OutputTag


class InternalJoinContext:
    """Implements `ProcessJoinFunction.Context`.

    Attributes:
        left: Time of the left record.
        right: Time of the right record.
        aside: (tag, value) pairs for side outputs that the operator has not taken yet.
    """

    __slots__ = ("_copy", "aside", "left", "right")

    def __init__(self, copy: Callable[[Any], Any] | None) -> None:
        """Begin without a pair.

        Args:
            copy: Copies an emitted value for its readers; None if they get the value itself.
        """
        self._copy = copy
        self.left = 0
        self.right = 0
        self.aside: list[tuple[OutputTag, Any]] = []

    def get_left_timestamp(self) -> int:
        """Return the time of the left record in epoch milliseconds."""
        return self.left

    def get_right_timestamp(self) -> int:
        """Return the time of the right record in epoch milliseconds."""
        return self.right

    def get_timestamp(self) -> int:
        """Return the time of the results: the later of the two."""
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit to a side output.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
        """
        if not isinstance(output_tag, OutputTag):
            raise ArgumentError(
                f"output got {output_tag!r}", hint="Pass an OutputTag, then the value."
            )
        self.aside.append((output_tag, value if self._copy is None else self._copy(value)))
