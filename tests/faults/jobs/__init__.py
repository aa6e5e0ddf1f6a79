"""Programs that are broken on purpose while they run."""
