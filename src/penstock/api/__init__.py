"""The API users write programs against; `penstock.datastream` exports it."""

import penstock.state.schema.stored_form  # noqa: F401 - it provides what serializers of types call
