"""Function classes of users and the contexts of their methods."""
