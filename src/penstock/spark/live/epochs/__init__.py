"""The engine `jobs` of a live run: a loop of epochs, each one Spark job and one record."""
