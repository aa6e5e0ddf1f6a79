"""The names of `pyflink.common.config_options`."""

from penstock.api.environment.config_options import ConfigOptions
from penstock.config.option import ConfigOption

__all__ = ["ConfigOption", "ConfigOptions"]
