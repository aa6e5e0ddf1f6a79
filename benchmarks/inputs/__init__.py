"""What programs read: generated records, files of a feed, change records."""
