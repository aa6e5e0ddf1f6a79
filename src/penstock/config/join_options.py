"""Options about joins over unbounded state."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption, Limit
from penstock.config.parse import DURATION

STATE_TTL: ConfigOption[timedelta] = ConfigOption(
    key="table.exec.state.ttl",
    parse=DURATION,
    default=timedelta(0),
    description=(
        "Time after which a regular join forgets a row that did not change any more. Such a row "
        "matches nothing that comes later, and what was put out about it stays. 0 keeps rows for "
        "ever."
    ),
    check=Limit("must not be negative", lambda value: value >= timedelta(0)),
)

JOIN_OPTIONS: tuple[ConfigOption[Any], ...] = (STATE_TTL,)
