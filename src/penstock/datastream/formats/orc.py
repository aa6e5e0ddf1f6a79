"""PyFlink's `orc` format is missing; importing a name raises an error with the alternative."""

from penstock.connectors.absent import absent

__getattr__ = absent("formats.orc")
