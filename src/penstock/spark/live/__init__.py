"""A live run: a loop of epochs (`epochs`), or a streaming query; its admission, interval and pending input."""
