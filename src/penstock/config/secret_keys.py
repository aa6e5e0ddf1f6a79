"""Names of secret settings."""

from __future__ import annotations

HIDDEN = "******"
"""Text in place of a secret."""

_SECRET_WORDS = (
    *("password", "secret", "token", "credential", "access.key", "access-key", "accesskey"),
    *("account.key", "apikey", "api-key", "service-key", "auth-params", "basic-auth", "jaas"),
    *("passphrase", "key.pem", "oauthbearer.config", "oauthbearer.extensions"),
)
"""Parts of the names of keys whose values are hidden; those of Flink, Spark and Kafka's clients."""


def is_secret(key: str) -> bool:
    """Return whether the name of a key says that its value is secret."""
    return any(word in key.lower() for word in _SECRET_WORDS)
