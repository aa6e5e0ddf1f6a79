"""From the trees of sqlglot to relations: queries, with types, keys and changelog modes."""
