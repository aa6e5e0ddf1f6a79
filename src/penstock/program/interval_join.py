"""What an interval join is, as a frozen value that the API writes and the runtime reads."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.types.information import TypeInformation


@dataclass(frozen=True, slots=True)
class IntervalSpec:
    """Pairs (left, right) of one key with `lower <= right time - left time <= upper`.

    Attributes:
        lower: Milliseconds, included.
        upper: Milliseconds, included; not less than `lower`.
        types: Of left and right records.
        late_tags: Of late left and right records: ids of output tags, None drops them.
    """

    lower: int
    upper: int
    types: tuple[TypeInformation, TypeInformation]
    late_tags: tuple[str | None, str | None] = (None, None)
