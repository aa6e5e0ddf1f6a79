"""Relations: what a query asks for, as a frozen tree with types, keys and changelog modes."""
