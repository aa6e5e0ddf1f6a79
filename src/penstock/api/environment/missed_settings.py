"""Settings of Flink that have no effect here: they are logged when the job starts."""

from __future__ import annotations

import logging

from penstock.config.accepted_options import ACCEPTED_PREFIXES, MISSED_PREFIXES
from penstock.config.configuration import Configuration

_logger = logging.getLogger("penstock")
_told: set[str] = set()
"""Prefixes this process has told of."""


def tell_of_missed(configuration: Configuration) -> None:
    """Log a warning for each prefix of settings that somebody would miss, once per process."""
    keys = sorted(configuration.to_dict())
    for prefix in MISSED_PREFIXES:
        found = [key for key in keys if key.startswith(prefix)]
        if found and prefix not in _told:
            _told.add(prefix)
            _logger.warning("%s: %s", ", ".join(found), ACCEPTED_PREFIXES[prefix].lower())
