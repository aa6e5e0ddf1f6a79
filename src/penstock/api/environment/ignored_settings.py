"""Settings that have no effect: they are logged when the job starts."""

from __future__ import annotations

import logging

from penstock.config.accepted_options import ACCEPTED_PREFIXES, IGNORED_PREFIXES
from penstock.config.configuration import Configuration
from penstock.config.flink_reporters import flink_reporters

_logger = logging.getLogger("penstock")
_logged: set[str] = set()
"""Prefixes, and names of reporters, that this process has logged."""


def log_ignored_settings(configuration: Configuration) -> None:
    """Log a warning for each prefix of settings whose effect a user would expect, once per process."""
    keys = sorted(configuration.to_dict())
    for prefix in IGNORED_PREFIXES:
        found = [key for key in keys if key.startswith(prefix)]
        if found and prefix not in _logged:
            _logged.add(prefix)
            _logger.warning("%s: %s", ", ".join(found), ACCEPTED_PREFIXES[prefix].lower())
    for name, instead in flink_reporters(configuration).ineffective.items():
        if name not in _logged:
            _logged.add(name)
            _logger.warning("reporter of metrics %s has no effect: %s", name, instead)
