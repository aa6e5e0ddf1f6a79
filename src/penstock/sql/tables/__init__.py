"""Tables of connectors: from the options of CREATE TABLE to sources and sinks."""
