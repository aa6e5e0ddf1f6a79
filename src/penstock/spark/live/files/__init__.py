"""How a loop of epochs reads files: the driver plans them, Spark reads them, workers make records."""
