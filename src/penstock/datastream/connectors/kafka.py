"""PyFlink's `kafka` connector is missing; importing a name raises an error with the alternative."""

from penstock.connectors.absent import absent

__getattr__ = absent("kafka")
