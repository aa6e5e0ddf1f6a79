"""`penstock init`: writes a project to start from."""

from __future__ import annotations

import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.errors import PenstockError
from penstock.extras import DISTRIBUTION
from penstock.version import __version__

_TEMPLATE = ".template"
"""Ending of files that are no modules of this package, though they have Python in them."""

_VALUES = {"@DISTRIBUTION@": DISTRIBUTION, "@VERSION@": __version__}


class ProjectExistsError(PenstockError):
    """A directory that `penstock init` would have to write over."""

    code = "CLI_PROJECT_EXISTS"


def init(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIRECTORY",
            file_okay=False,
            show_default=False,
            help="Directory of the project: a new one, or an empty one.",
        ),
    ],
) -> None:
    """Write a project: a program over history and live files, its test, a Makefile.

    Nothing is downloaded. `make test` and `make run` in it are the next steps.
    """

    def action() -> int:
        _require_empty(directory)
        written = write_project(directory)
        for path in written:
            typer.echo(str(path))
        where = shlex.quote(str(directory))
        typer.echo(f"next: cd {where}, then make test, then make run", err=True)
        return 0

    raise typer.Exit(exit_status(action, Console(stderr=True), verbose=False))


def write_project(directory: Path) -> list[Path]:
    """Write the files of the project and return their paths."""
    return _written(files("penstock.cli") / "project", directory)


def _written(source: Traversable, target: Path) -> list[Path]:
    target.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            paths += _written(entry, target / entry.name)
            continue
        text = entry.read_text(encoding="utf-8")
        for name, value in _VALUES.items():
            text = text.replace(name, value)
        path = target / entry.name.removesuffix(_TEMPLATE)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _require_empty(directory: Path) -> None:
    if directory.exists() and any(directory.iterdir()):
        raise ProjectExistsError(
            f"{directory} is not empty", hint="Name a directory that is empty or not there."
        )
