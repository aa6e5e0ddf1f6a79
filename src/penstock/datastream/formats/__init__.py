"""The names of `pyflink.datastream.formats`."""
