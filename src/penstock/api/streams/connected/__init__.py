"""Streams that are read together by one operator that tells them apart."""
