"""Format in which a job writes its state. What it reads may be written in any other way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.state.log.compression import Compression
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types.value_serializer import StoredForm, stored_form
from penstock.wire.coded_rows import has_coded_form


@dataclass(frozen=True, slots=True)
class StateFormat:
    """Format of new entries.

    Attributes:
        coded_rows: Values of types that have a form of variable length are coded rows.
        compression: Of blobs.
    """

    coded_rows: bool = False
    compression: Compression = Compression.NONE

    def of(self, schema: StateSchema) -> StateSchema:
        """Return the schema that a state of a declared schema is stored with."""
        if not self.coded_rows or schema.kind is StateKind.TIMERS:
            return schema
        form = stored_form(schema.value_type.create_var_len_serializer())
        if form is StoredForm.CODED and not has_coded_form(schema.value_type):
            form = StoredForm.PLAIN
        return schema if form is schema.form else replace(schema, form=form)
