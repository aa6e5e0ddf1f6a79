"""Orders in files, then in Kafka: a program, and what it needs to be shown."""
