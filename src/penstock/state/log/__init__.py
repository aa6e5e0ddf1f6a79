"""The change log of keyed state, and the bytes in it."""
