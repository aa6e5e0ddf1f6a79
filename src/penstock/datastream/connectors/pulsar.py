"""PyFlink's `pulsar` connector is not here; importing a name from it says what is."""

from penstock.connectors.absent import absent

__getattr__ = absent("pulsar")
