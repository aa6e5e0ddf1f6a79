"""The fold plan: the legal places of each fold, the chosen ones, and the programs that follow."""
