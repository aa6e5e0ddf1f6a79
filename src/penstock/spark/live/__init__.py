"""A live run: a loop of epochs (`epochs`), its interval, progress and pending input."""
