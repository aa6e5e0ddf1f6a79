"""Key groups of a batch run that do not fit in memory."""
