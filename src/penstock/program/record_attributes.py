"""Attributes of the following records of a stream (FLIP-327 §2.4).

They are elements of a stream, like watermarks. Sources send them again at the begin of each run and
worker; a checkpoint does not contain them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """Attributes of the records of a stream, up to the next attributes.

    Attributes:
        backlog: Whether the records are stale: an operator may delay its output until attributes
            without backlog arrive.
        EMPTY_RECORD_ATTRIBUTES: Attributes without values: the records are not stale.

    Examples:
        >>> RecordAttributes.EMPTY_RECORD_ATTRIBUTES == RecordAttributesBuilder([]).build()
        True
        >>> RecordAttributesBuilder([]).set_backlog(True).build().is_backlog()
        True
    """

    EMPTY_RECORD_ATTRIBUTES: ClassVar[RecordAttributes]

    backlog: bool = False

    def is_backlog(self) -> bool:
        """Return whether the records are stale."""
        return self.backlog


RecordAttributes.EMPTY_RECORD_ATTRIBUTES = RecordAttributes()


# FLIP-327, rule 10.
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
            last_record_attributes_of_inputs: The last attributes of each input, for defaults.
                Inputs without attributes are omitted.
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


# FLIP-327, rule 11.
def combined_backlog(statuses: Iterable[bool | None]) -> bool | None:
    """Return the combined backlog of several senders; None is to wait (FLIP-327 §2.9).

    It is true if any sender is in backlog; otherwise it is None until all have sent their status.
    """
    known = tuple(statuses)
    if True in known:
        return True
    return None if None in known or not known else False
