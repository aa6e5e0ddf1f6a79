"""A live run as a loop of epochs, each one Spark job and one record."""
