"""Which files a source has now, and which of them a live run reads in which order."""
