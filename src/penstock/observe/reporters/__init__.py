"""Reports of a job to other systems: OpenTelemetry, and the log. All of it is made of events."""
