"""Equal values have equal bytes, hashes and digests."""
