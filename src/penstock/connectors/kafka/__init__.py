"""Source and sink of Apache Kafka."""
