"""Functions of the user: from what `udf`, `udtf` and `udaf` make to functions of a catalogue."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.errors import ArgumentError, SqlError, did_you_mean
from penstock.sql.catalogue import SqlFunction
from penstock.sql.place import TextPlace
from penstock.sql.udf import UserDefinedFunction

_HOW = "Make it with udf, udtf or udaf of penstock.sql.udf, which say what it returns."


def named_function(name: str, function: Any) -> SqlFunction:
    """Return a function of a catalogue.

    Raises:
        ArgumentError: It is none that `udf`, `udtf` or `udaf` has made.
    """
    if not isinstance(function, UserDefinedFunction):
        raise ArgumentError.here(f"the function {name!r} is {function!r}", hint=_HOW)
    return SqlFunction(
        name,
        function.kind,
        function.called,
        function.result_type,
        is_deterministic=function.is_deterministic,
        takes_batches=function.takes_batches,
    )


def declared_function(name: str, target: str, place: TextPlace) -> SqlFunction:
    """Return the function that CREATE FUNCTION names.

    Args:
        name: Of the function in statements.
        target: `module.name`.
        place: Of the statement.

    Raises:
        SqlError: There is no such module or function, or it is none of a kind that SQL calls.
    """
    module_name, _, attribute = target.replace(":", ".").rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as cause:
        raise SqlError.here(
            f"the function {name!r} is {target!r}, and {module_name!r} cannot be imported: {cause} ({place})",
            hint="Write AS 'module.name', with a module beside the script or among those that are installed.",
        ) from cause
    found = getattr(module, attribute, None)
    if found is None:
        raise SqlError.here(
            f"the module {module_name!r} has no {attribute!r} ({place}){did_you_mean(attribute, tuple(vars(module)))}",
            hint="Correct the name.",
        )
    if not isinstance(found, UserDefinedFunction):
        raise SqlError.here(f"the function {name!r} is {found!r} ({place})", hint=_HOW)
    return named_function(name, found)
