"""Canonical encodings: equal values have equal bytes, hashes and digests."""
