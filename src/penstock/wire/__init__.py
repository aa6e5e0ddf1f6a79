"""How elements, keys, state and user code become bytes."""
