"""The syntax tree of a function: from its file, or sketched from its instructions where the file does not have it."""

from __future__ import annotations

import ast
import dis
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_LAMBDA = "<lambda>"
_SHADOW = "NULL"
"""Mark of an instruction that loads what the next call calls."""

_ROOTS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST"})
_MEMBERS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_BETWEEN = frozenset({"CACHE", "COPY", "PRECALL"})
"""Instructions between a name and its attribute: `self.a += 1` copies `self`."""

_GLOBAL_STORES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})


def tree_of(function: FunctionType) -> Tree:
    """Return the tree of a function; a sketch if its source is not there or has changed."""
    code = function.__code__
    module = module_tree(function)
    if module is not None:
        named = [node for node in functions_in(module) if _is_of(node, code)]
        placed = named if len(named) == 1 else [node for node in named if _surrounds(node, code)]
        if len(placed) == 1:
            return placed[0]
    return _sketch(function)


def module_tree(function: FunctionType) -> ast.Module | None:
    """Return the tree of the file of a function; None if there is none, or none of Python."""
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    return _parsed("".join(lines)) if lines else None


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):  # the file has changed, or is no Python
        return None


def functions_in(tree: ast.AST) -> Iterator[Tree]:
    """Yield the functions and lambdas in a tree."""
    return (node for node in ast.walk(tree) if isinstance(node, Tree))


def parameters_of(tree: Tree) -> list[str]:
    """Return the names of the parameters of a function."""
    given = tree.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    named += [parameter for parameter in (given.vararg, given.kwarg) if parameter is not None]
    return [parameter.arg for parameter in named]


def body_of(tree: Tree) -> list[ast.stmt]:
    """Return the statements of a function; that of a lambda returns its value."""
    if isinstance(tree, ast.Lambda):
        return [ast.copy_location(ast.Return(value=tree.body), tree.body)]
    return tree.body


def _is_of(node: Tree, code: CodeType) -> bool:
    """Return whether a function begins in the line of a code, with its name and parameters."""
    names = tuple(parameters_of(node))
    if sorted(names) != sorted(code.co_varnames[: len(names)]):
        return False
    if isinstance(node, ast.Lambda):
        return code.co_name == _LAMBDA and node.lineno == code.co_firstlineno
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.name == code.co_name and first == code.co_firstlineno


def _surrounds(node: Tree, code: CodeType) -> bool:
    """Return whether the instructions of a code lie within a lambda."""
    if not isinstance(node, ast.Lambda):
        return False
    body = node.body
    begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    first, *others = code.co_positions()
    # The first instruction and the return have the place of the whole function.
    places = [
        (line, column) for line, _, column, _ in others if (line, column) != (first[0], first[2])
    ]
    known = [(line, column) for line, column in places if line is not None and column is not None]
    return bool(known) and all(begin <= place < end for place in known)


def _sketch(function: FunctionType) -> ast.FunctionDef:
    """Return a function that names what the instructions of another name, in their order."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg=name) for name in code.co_varnames[:count]],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    body = [*_statements(code, code.co_varnames[0] if code.co_argcount else None)]
    sketch = ast.FunctionDef(
        name=code.co_name, args=arguments, body=body or [ast.Pass()], decorator_list=[]
    )
    sketch.lineno = code.co_firstlineno
    return ast.fix_missing_locations(sketch)


def _statements(code: CodeType, owner: str | None) -> Iterator[ast.stmt]:
    """Yield statements for the names that a code and the codes in it use."""
    line, is_called = code.co_firstlineno, False
    chain: ast.expr | None = None
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        if step.opname in _MEMBERS and chain is not None:
            chain = ast.Attribute(value=chain, attr=str(step.argval), ctx=ast.Load())
            is_called = step.opname == "LOAD_METHOD" or _SHADOW in step.argrepr
            continue
        if step.opname in _BETWEEN:
            continue
        if chain is not None:
            yield _named(chain, line, is_called=is_called)
            chain = None
        if step.opname in _ROOTS:
            chain = ast.Name(id=str(step.argval), ctx=ast.Load())
            is_called = _SHADOW in step.argrepr
        elif step.opname in _GLOBAL_STORES:
            yield _at(ast.Global(names=[str(step.argval)]), line)
            yield _assigned(ast.Name(id=str(step.argval), ctx=ast.Store()), line)
        elif step.opname == "STORE_ATTR" and owner is not None:
            root = ast.Name(id=owner, ctx=ast.Load())
            yield _assigned(ast.Attribute(value=root, attr=str(step.argval), ctx=ast.Store()), line)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _statements(inner, owner if owner in inner.co_freevars else None)


def _named(chain: ast.expr, line: int, *, is_called: bool) -> ast.stmt:
    # Arguments are unknown; an ellipsis stands for them, so that no rule takes the call for one without arguments.
    value = (
        ast.Call(func=chain, args=[ast.Constant(value=...)], keywords=[]) if is_called else chain
    )
    return _at(ast.Expr(value=value), line)


def _assigned(target: ast.expr, line: int) -> ast.stmt:
    return _at(ast.Assign(targets=[target], value=ast.Constant(value=...)), line)


def _at(statement: ast.stmt, line: int) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
    return statement
