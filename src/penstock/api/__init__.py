"""The API users write programs against; `penstock.datastream` exports it."""
