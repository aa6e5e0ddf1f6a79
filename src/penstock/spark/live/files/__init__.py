"""Files in a loop of epochs: the driver plans them, Spark reads them, workers make records."""
