"""From the trees of sqlglot to typed scalar expressions: what names mean, and which functions take what."""
