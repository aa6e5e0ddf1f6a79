"""The attributes of an operator. The planner saves work that an attribute makes unnecessary.

Every attribute has a safe default: without attributes an operator is only slower. Sources:
FLIP-327 (internal sorter), FLIP-329 (storing of records) and FLIP-331 (output at the end).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)


# FLIP-327, rule 12.
@dataclass(frozen=True, slots=True)
class OperatorAttributes:
    """The attributes of one operator.

    Attributes:
        output_stream_record_value_stored: Whether the operator may keep or use a value it has
            already emitted. False is a promise not to (FLIP-329).
        input_stream_record_stored: Whether it may keep or use the record object (value and
            timestamp) it was given, after the call. False is a promise not to (FLIP-329). It has no
            effect: an operator is given a value, and a context that is the same in all calls.
        internal_sorter_supported: Whether it groups its input by key itself, so that the runtime
            does not (FLIP-327).
        output_only_after_end_of_stream: Whether it emits nothing before all its inputs have
            ended (FLIP-331).

    Example:
        >>> attributes = OperatorAttributesBuilder().build()
        >>> attributes.is_output_stream_record_value_stored()
        True
        >>> attributes.is_input_stream_record_stored()
        True
        >>> attributes.is_internal_sorter_supported()
        False
        >>> attributes.is_output_only_after_end_of_stream()
        False
    """

    output_stream_record_value_stored: bool = True
    input_stream_record_stored: bool = True
    internal_sorter_supported: bool = False
    output_only_after_end_of_stream: bool = False

    def is_output_stream_record_value_stored(self) -> bool:
        """Return whether emitted values may be kept or used again."""
        return self.output_stream_record_value_stored

    def is_input_stream_record_stored(self) -> bool:
        """Return whether the record object given may be kept or used after the call."""
        return self.input_stream_record_stored

    def is_internal_sorter_supported(self) -> bool:
        """Return whether the operator groups its input by key itself."""
        return self.internal_sorter_supported

    def is_output_only_after_end_of_stream(self) -> bool:
        """Return whether the operator emits only after all inputs have ended."""
        return self.output_only_after_end_of_stream


@dataclass(slots=True)
class OperatorAttributesBuilder:
    """Builds `OperatorAttributes`; what is not set gets its default, logged at DEBUG.

    Examples:
        >>> builder = OperatorAttributesBuilder().set_output_only_after_end_of_stream(True)
        >>> builder.build().is_output_only_after_end_of_stream()
        True
        >>> builder = OperatorAttributesBuilder().set_output_stream_record_value_stored(False)
        >>> builder = builder.set_input_stream_record_stored(False)
        >>> attributes = builder.set_internal_sorter_supported(True).build()
        >>> attributes.is_internal_sorter_supported()
        True
    """

    _values: dict[str, bool] = field(default_factory=dict)

    def set_output_stream_record_value_stored(self, stored: bool) -> OperatorAttributesBuilder:  # noqa: FBT001
        """Set whether the operator may store emitted values; default True."""
        self._values["output_stream_record_value_stored"] = stored
        return self

    def set_input_stream_record_stored(self, stored: bool) -> OperatorAttributesBuilder:  # noqa: FBT001
        """Set whether the operator may store its input records; default True. It has no effect."""
        self._values["input_stream_record_stored"] = stored
        return self

    def set_internal_sorter_supported(self, supported: bool) -> OperatorAttributesBuilder:  # noqa: FBT001
        """Set whether the operator groups its input by key itself; default False."""
        self._values["internal_sorter_supported"] = supported
        return self

    def set_output_only_after_end_of_stream(self, only: bool) -> OperatorAttributesBuilder:  # noqa: FBT001
        """Set whether the operator emits only after all inputs have ended; default False."""
        self._values["output_only_after_end_of_stream"] = only
        return self

    def build(self) -> OperatorAttributes:
        """Return the attributes."""
        attributes = OperatorAttributes(**self._values)
        for name in OperatorAttributes.__dataclass_fields__:
            if name not in self._values:
                logger.debug("%s is not set, so it is %s", name, getattr(attributes, name))
        return attributes
