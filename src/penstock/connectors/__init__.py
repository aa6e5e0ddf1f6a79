"""Sources and sinks: where records come from and where they go."""
