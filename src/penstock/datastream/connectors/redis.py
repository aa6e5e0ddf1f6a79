"""Source and sink of Redis and Valkey, which PyFlink does not have."""

from penstock.connectors.redis.redis_sink import RedisSink
from penstock.connectors.redis.redis_source import RedisEntry, RedisSource

__all__ = ["RedisEntry", "RedisSink", "RedisSource"]
