"""Tells other systems of a job: OpenTelemetry, and the log. All of it is made of events."""
