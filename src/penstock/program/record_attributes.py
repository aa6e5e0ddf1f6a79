"""What is known about the records that follow in a stream (FLIP-327 §2.4).

Attributes travel between the records of a stream. Sources say them anew whenever a run or a
worker begins; they are never part of a checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """Attributes of the records that follow in a stream, until the next attributes.

    Attributes:
        backlog: The records are stale, as history is: an operator may delay its output until
            attributes arrive without backlog.
    """

    backlog: bool = False

    def is_backlog(self) -> bool:
        """Whether the records are stale."""
        return self.backlog


class RecordAttributesBuilder:
    """Builds `RecordAttributes`; what is not set gets its default, logged at DEBUG.

    Examples:
        >>> stale = RecordAttributesBuilder([]).set_backlog(True).build()
        >>> RecordAttributesBuilder([stale, RecordAttributes()]).build().is_backlog()
        True
    """

    def __init__(self, last_record_attributes_of_inputs: Sequence[RecordAttributes] = ()) -> None:
        """Start without any attribute set.

        Args:
            last_record_attributes_of_inputs: What each input said last, for defaults. Inputs
                that said nothing are left out.
        """
        self._last = tuple(last_record_attributes_of_inputs)
        self._backlog: bool | None = None

    def set_backlog(self, backlog: bool) -> RecordAttributesBuilder:  # noqa: FBT001 - as in Flink
        """Set whether the records are stale; by default they are if those of any input are."""
        self._backlog = backlog
        return self

    def build(self) -> RecordAttributes:
        """Return the attributes."""
        backlog = self._backlog
        if backlog is None:
            backlog = any(attributes.backlog for attributes in self._last)
            logger.debug("backlog is not set, so it is %s", backlog)
        return RecordAttributes(backlog)


def combined_backlog(said: Iterable[bool | None]) -> bool | None:
    """Return what several speakers say together; None is to wait (FLIP-327 §2.9).

    One that is in backlog decides; else one that has not spoken is waited for.
    """
    known = tuple(said)
    if True in known:
        return True
    return None if None in known or not known else False
