"""The names of `pyflink.datastream.formats`."""

__all__: tuple[str, ...] = ()
