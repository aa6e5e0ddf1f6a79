"""The names of `pyflink.datastream.async_retry_predicates`."""

from penstock.api.functions.async_functions import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
