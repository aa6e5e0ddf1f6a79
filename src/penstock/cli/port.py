"""`penstock port`: changes the imports of PyFlink programs, and names what differs: methods, options, state in attributes.

Only the name of the package is replaced, so the rest of the text stays as it is, byte for byte: comments, quotes, line
ends. An import whose module is not here stays too, and is a remark.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import FAILED, exit_status
from penstock.config.accepted_options import REFUSED_KEYS
from penstock.config.options import ALL_OPTIONS, OPEN_PREFIXES
from penstock.errors import ArgumentError, PenstockError, did_you_mean


class Weight(Enum):
    """Weight of a remark for the person who ports the program."""

    BY_HAND = "by hand"
    """The program fails until you change this line."""

    DIFFERS = "differs"
    """It runs, and may answer or behave otherwise than with PyFlink."""

    NO_EFFECT = "no effect"
    """It is accepted, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about a line.

    Attributes:
        weight: Required action.
        text: The difference and the change to make.
    """

    line: int
    weight: Weight
    text: str


THEIRS, OURS = "pyflink", "penstock"
_FROM = re.compile(rf"from(?:[ \t]|\\\r?\n)+({THEIRS})\b")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
"""A line as the parser counts them: a form feed ends none."""

INSTEAD = {
    "pyflink.table": "There is no Table API. Statements of SQL go to env.sql and env.execute_sql, see docs/sql.md; tables are Spark's DataFrames.",
    "pyflink.java_gateway": "There is no Java behind a program.",
    "pyflink.util": "It helps PyFlink to call Java, which is not needed here.",
    "pyflink.testing": "penstock.testing runs programs in the process of a test.",
}
"""Module that has no counterpart, to what to do."""


@dataclass(frozen=True, slots=True)
class ModuleName:
    """Place of a name of a PyFlink module in the text.

    Attributes:
        start: Position of its first character.
        module: The module that is meant, with PyFlink's name; the first two parts of an expression.
    """

    start: int
    module: str
    line: int


def places(tree: ast.Module, text: str) -> list[ModuleName]:
    """Return the places, in order."""
    lines = _LINE.findall(text)
    starts = [0, *accumulate(map(len, lines))]

    def position(node: ast.expr | ast.stmt | ast.alias) -> int:
        before = lines[node.lineno - 1].encode()[: node.col_offset]  # the parser counts bytes
        return starts[node.lineno - 1] + len(before.decode())

    def module_names() -> Iterator[ModuleName]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in filter(_is_theirs, node.names):
                    yield ModuleName(position(alias), alias.name, alias.lineno)
            elif isinstance(node, ast.ImportFrom) and _of_theirs(node):
                match = _FROM.match(text, position(node))
                if match is not None:
                    yield ModuleName(match.start(1), str(node.module), node.lineno)
            elif isinstance(node, ast.Attribute) and _is_package(node.value):
                yield ModuleName(position(node), f"{THEIRS}.{node.attr}", node.lineno)

    return sorted(module_names(), key=lambda place: place.start)


def replaced(text: str, where: list[ModuleName]) -> str:
    """Return the text with our package in the places whose module is here."""
    parts, end = [], 0
    for place in where:
        if is_here(place.module):
            parts += [text[end : place.start], OURS]
            end = place.start + len(THEIRS)
    return "".join([*parts, text[end:]])


def missing_modules(where: list[ModuleName]) -> Iterator[Remark]:
    """Yield the imports of modules that are not here."""
    for place in where:
        if not is_here(place.module):
            package = next((prefix for prefix in INSTEAD if _is_within(place.module, prefix)), "")
            fix = INSTEAD.get(package, "docs/api-support.md lists missing names.")
            yield Remark(place.line, Weight.BY_HAND, f"{place.module} is not here. {fix}")


def is_here(module: str) -> bool:
    """Return whether our package has a module."""
    try:
        return find_spec(ours(module)) is not None
    except ModuleNotFoundError:
        return False


def ours(module: str) -> str:
    """Return the name of a module here.

    Examples:
        >>> ours("pyflink.datastream.window")
        'penstock.datastream.window'
    """
    return OURS + module.removeprefix(THEIRS)


def imported_names(tree: ast.Module) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    """Yield the imports from PyFlink's modules that Penstock has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _of_theirs(node) and is_here(str(node.module)):
            for alias in node.names:
                if alias.name != "*" and not is_here(f"{node.module}.{alias.name}"):
                    yield node, alias


def value_of(module: str, name: str) -> object:
    """Return the counterpart of a name of one of PyFlink's modules."""
    return getattr(import_module(ours(module)), name)


def _is_package(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == THEIRS


def _is_theirs(alias: ast.alias) -> bool:
    return _is_within(alias.name, THEIRS)


def _of_theirs(node: ast.ImportFrom) -> bool:
    return node.level == 0 and _is_within(node.module or "", THEIRS)


def _is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


_JAVA = "there is no Java behind a program; remove the call"

ABSENT = {
    "add_jars": "jars are not needed: connectors are extras of the package, see docs/connectors.md; remove the call",
    "add_classpaths": "jars are not needed: connectors are extras of the package, see docs/connectors.md; remove the call",
    "create_input": "use from_source with a source, see docs/connectors.md",
    "set_uid_hash": "use uid",
    "is_chaining_of_operators_with_different_max_parallelism_enabled": "there is one maximum for the job",
    "get_window_serializer": _JAVA,
    "get_java_output_tag": _JAVA,
    "get_java_memory_size": _JAVA,
    "get_java_slot_sharing_group": _JAVA,
    "get_java_type_info": _JAVA,
    "to_j_row_kind": _JAVA,
    "get_transformer": _JAVA,
}
"""Method that no class has, to what to do. A test compares it with the table of PyFlink's names."""

NO_EFFECT = {
    "set_buffer_timeout": "records move with their micro-batch",
    "slot_sharing_group": "Spark places tasks",
    "register_slot_sharing_group": "Spark places tasks",
    "enable_unaligned_checkpoints": "a checkpoint is the end of a micro-batch",
    "set_checkpointing_mode": "the guarantee is always exactly once",
    "set_checkpoint_timeout": "a checkpoint is the end of a micro-batch",
    "set_min_pause_between_checkpoints": "a checkpoint is the end of a micro-batch",
    "set_max_concurrent_checkpoints": "a checkpoint is the end of a micro-batch",
    "set_tolerable_checkpoint_failure_number": "a micro-batch that fails is repeated",
    "set_externalized_checkpoint_retention": "the checkpoint directory stays",
    "set_db_storage_paths": "state is where its backend keeps it",
    "set_predefined_options": "there is no RocksDB",
    "with_watermark_alignment": "a micro-batch takes from every source",
    "set_flush_on_checkpoint": "results are written with their checkpoint",
    "with_driver_name": "Spark finds the driver",
    "with_batch_size": "rows are written by micro-batch",
    "with_batch_interval_ms": "rows are written by micro-batch",
    "with_max_retries": "a task that failed is repeated",
    "enable_force_kryo": "records are Python objects",
    "disable_generic_types": "records are Python objects",
    "register_cached_file": "use add_python_archive, or a path that workers can read",
}
"""Method that is accepted everywhere and changes nothing, to the reason."""

DIFFERS = {
    "current_watermark": "a watermark moves at the end of a micro-batch; before the first key_by there is none (-2**63)",
    "register_processing_time_timer": "such a timer fires with a micro-batch, so up to one later than its time",
    "rebalance": "the turn begins anew in every micro-batch",
    "enable_time_to_live": "it goes by the wall clock of the worker, and a micro-batch takes part of a second",
    "set_max_parallelism": "pipeline.max-parallelism holds for the whole job; of an operator it has no effect",
    "cache": "what is cached is computed in a batch run before the job, without timestamps",
    "get_execution_plan": "a plan has no nodes for key_by",
}
"""Method whose answer or behaviour differs, to how."""

_TABLES = ((ABSENT, Weight.BY_HAND), (NO_EFFECT, Weight.NO_EFFECT), (DIFFERS, Weight.DIFFERS))
_SETTERS = frozenset({"set", "set_string", "set_integer", "set_boolean", "set_float"})
_OPTIONS = {key: option for option in ALL_OPTIONS for key in (option.key, *option.fallback_keys)}
_MODULE = re.compile(r"pyflink(?:\.\w+)+$")
_WITHOUT_EFFECT = "Accepted, without effect: "


def different_calls(tree: ast.Module) -> Iterator[Remark]:
    """Yield the calls of methods that are in a table, of keys that are none, options, and texts that name modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and _MODULE.match(str(node.value)):
            yield Remark(node.lineno, Weight.DIFFERS, f"the text {node.value!r} is not changed.")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            line = node.func.end_lineno or node.lineno
            for table, weight in _TABLES:
                if name in table:
                    yield Remark(line, weight, f"{name}: {table[name]}.")
            if name == "key_by":
                yield from _keys(node, line)
            elif name in _SETTERS and len(node.args) == 2:  # noqa: PLR2004 - a key and a value
                yield from _option(*node.args, by_name=name != "set")


def _keys(node: ast.Call, line: int) -> Iterator[Remark]:
    for selector in node.args[:1]:
        if isinstance(selector, ast.Lambda) and isinstance(selector.body, (ast.Dict, ast.Set)):
            kind = "dictionary" if isinstance(selector.body, ast.Dict) else "set"
            text = f"key_by: a {kind} cannot be a key, because it can be changed. Use a tuple, or a frozenset."
            yield Remark(line, Weight.BY_HAND, text)


def _option(key: ast.expr, value: ast.expr, *, by_name: bool) -> Iterator[Remark]:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return
    option, text = _OPTIONS.get(key.value), key.value
    if text in REFUSED_KEYS:
        refused = REFUSED_KEYS[text]
        if not (isinstance(value, ast.Constant) and refused.allows(str(value.value))):
            problem = f"option {text!r} would change results. {refused.instead}"
            yield Remark(key.lineno, Weight.BY_HAND, problem)
    elif option is None and not text.startswith(tuple(OPEN_PREFIXES)):
        # `set` is a method of other objects, too.
        if by_name or text.startswith(_prefixes()):
            nearest = did_you_mean(text, tuple(_OPTIONS)) or "."
            problem = (
                f"option {text!r} is not known{nearest} Remove it, or see docs/configuration.md."
            )
            yield Remark(key.lineno, Weight.BY_HAND, problem)
    elif option is not None and option.description.startswith(_WITHOUT_EFFECT):
        reason = option.description.removeprefix(_WITHOUT_EFFECT)
        yield Remark(key.lineno, Weight.NO_EFFECT, f"option {text!r}: {reason}")


def _prefixes() -> tuple[str, ...]:
    firsts = {key.partition(".")[0] for key in _OPTIONS if "." in key}
    return tuple(sorted(f"{first}." for first in firsts))


def missing_names(tree: ast.Module) -> Iterator[Remark]:
    """Yield the names that a program imports and that are not here, or raise when they are used."""
    for node, alias in imported_names(tree):
        try:
            value_of(str(node.module), alias.name)
        except PenstockError as error:
            yield Remark(alias.lineno, Weight.BY_HAND, f"{error.problem}. {error.hint}")
        except AttributeError:
            text = (
                f"{node.module} has no {alias.name} here. docs/api-support.md lists missing names."
            )
            yield Remark(alias.lineno, Weight.BY_HAND, text)


_OUTSIDE_OF_RECORDS = frozenset({"__init__", "open", "close", "__getstate__", "__setstate__"})
"""Methods that may set attributes: what they set is made anew with the object."""


def kept_attributes(tree: ast.Module) -> Iterator[Remark]:
    """Yield the attributes that a function class sets while it is called for records.

    They are lost with the worker, and in PyFlink with the job.
    """
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        if not any(_name(base).endswith(("Function", "Operator")) for base in cls.bases):
            continue
        for method in cls.body:
            if isinstance(method, ast.FunctionDef) and method.name not in _OUTSIDE_OF_RECORDS:
                yield from _kept(cls.name, method)


def _kept(owner: str, method: ast.FunctionDef) -> Iterator[Remark]:
    own = method.args.args[0].arg if method.args.args else ""
    for node in ast.walk(method):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, (ast.AnnAssign, ast.AugAssign))
            else []
        )
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == own
            ):
                text = (
                    f"{owner}.{method.name} sets {own}.{target.attr}: an object lives as long as its worker process, and may be "
                    "another one in the next micro-batch. Values that must last belong in keyed state."
                )
                yield Remark(target.lineno, Weight.DIFFERS, text)


def _name(base: ast.expr) -> str:
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


@dataclass(frozen=True, slots=True)
class PortedProgram:
    """A ported program.

    Attributes:
        after: Its text with Penstock's modules.
        remarks: Remarks by line; none if it does not use PyFlink.
    """

    name: str
    before: str
    after: str
    remarks: tuple[Remark, ...]

    @property
    def needs_a_hand(self) -> bool:
        """True if it fails until you change a line."""
        return any(remark.weight is Weight.BY_HAND for remark in self.remarks)

    def diff(self) -> str:
        """Return the changes as a unified diff; empty without any."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(unified_diff(before, after, self.name, self.name))


def ported(name: str, text: str) -> PortedProgram:
    """Return a program with its imports changed, and its remarks.

    Examples:
        >>> ported("job.py", "from pyflink.common import Types").after
        'from penstock.common import Types'
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as cause:
        raise ArgumentError(
            f"{name}:{cause.lineno} is not Python that this interpreter reads: {cause.msg}",
            hint="Correct the line, or leave the file out.",
        ) from cause
    where = places(tree, text)
    if not where:
        return PortedProgram(name, text, text, ())
    remarks = {
        *missing_modules(where),
        *missing_names(tree),
        *different_calls(tree),
        *kept_attributes(tree),
    }
    ordered = sorted(remarks, key=lambda remark: (remark.line, remark.weight.value, remark.text))
    return PortedProgram(name, text, replaced(text, where), tuple(ordered))


def port(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            exists=True,
            show_default=False,
            help="Programs, or directories with programs.",
        ),
    ],
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes as a diff.")] = False,
    write: Annotated[
        bool,
        typer.Option("--write", help="Change the files; without it the files stay as they are."),
    ] = False,
) -> None:
    """Change the imports of PyFlink programs to Penstock's, and list the differences.

    The command reads programs without running them. Each line of its report names a change to make
    by hand, a difference, or a call without effect. The exit status is 1 if a change by hand is left.
    """

    def action() -> int:
        programs = [ported(str(path), _read(path)) for path in _programs(files)]
        for program in programs:
            _report(program, diff=diff)
            if write and program.after != program.before:
                _write(Path(program.name), program.after)
        _sum_up(programs, written=write)
        return FAILED if any(program.needs_a_hand for program in programs) else 0

    raise typer.Exit(exit_status(action, Console(stderr=True), verbose=False))


def _programs(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _report(program: PortedProgram, *, diff: bool) -> None:
    if diff:
        typer.echo(program.diff(), nl=False)
    for remark in program.remarks:
        typer.echo(f"{program.name}:{remark.line}: {remark.weight.value}: {remark.text}")


def _sum_up(programs: list[PortedProgram], *, written: bool) -> None:
    changed = sum(program.after != program.before for program in programs)
    by_hand = sum(program.needs_a_hand for program in programs)
    verb = "changed" if written else "to change (--write changes, --diff shows)"
    typer.echo(f"{len(programs)} programs: {changed} {verb}, {by_hand} need a hand")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise ArgumentError(
            f"{path} cannot be read: {cause}", hint="Name a file of Python in UTF-8."
        ) from cause


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8"))
    except OSError as cause:
        raise ArgumentError(
            f"{path} cannot be written: {cause}", hint="Make it writable, or copy it elsewhere."
        ) from cause
