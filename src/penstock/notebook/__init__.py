"""How objects are shown in a notebook."""
