"""What developers need and users do not: the layers of the package, the table of its API."""
