"""PyFlink's `rabbitmq` connector is missing; importing a name raises an error with the alternative."""

from penstock.connectors.absent import absent

__all__: tuple[str, ...] = ()

__getattr__ = absent("rabbitmq")
