"""The encoding of stream elements, keys, state and user code as bytes."""
