"""The options of log lines."""

from __future__ import annotations

from typing import Any

from penstock.config.option import ConfigOption, one_of
from penstock.config.parse import Parser

LOGGING_FORMAT: ConfigOption[str] = ConfigOption(
    key="logging.format",
    parse=Parser("format", lambda text: text.strip().lower()),
    default="text",
    description=(
        "Form of the log lines of the driver. `text` leaves them to the program's own configuration of "
        "`logging`. `json` writes one JSON object per line to stderr, with the event that a line is about; "
        "`penstock run` with `-D logging.format=json` writes these lines in place of its progress."
    ),
    check=one_of("text", "json"),
)

LOGGING_OPTIONS: tuple[ConfigOption[Any], ...] = (LOGGING_FORMAT,)
"""The options of this module, in the order of the reference page."""
