"""The Python dependencies of a job in the driver: one bundle, which Spark ships as an archive.

The bundle is a tar file of files, requirements and archives. Its name contains the digest of its
content, so jobs of one session may have different files with the same name. `worker_environment`
describes its content and its use in workers.

pip installs the packages of `python.requirements` once per content, for all jobs of a user.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.config.option import ConfigOption
from penstock.config.run_options import (
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)
from penstock.errors import ConfigError, EnvironmentSetupError
from penstock.spark.session.job_settings import default_interpreter
from penstock.spark.worker.worker_environment import WorkerEnvironment

_SHOWN = 2_000


def installed_requirements(file: Path, packages: Path | None) -> Path:
    """Return a directory with the packages of a `requirements.txt`; install them if necessary.

    It is below `$XDG_CACHE_HOME/penstock`, by default `~/.cache/penstock`, and is not removed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"
    target = cache / "requirements" / _content(file, packages)
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(dir=target.parent, prefix="installing-"))
    except OSError as cause:
        raise EnvironmentSetupError(
            f"the requirements in {file} cannot be installed in {target.parent}: {cause}",
            hint="Set XDG_CACHE_HOME to a directory this user may write to.",
        ) from cause
    try:
        _install(file, packages, directory)
        if not target.exists():  # another process may have been faster
            directory.rename(target)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return target


def _content(file: Path, packages: Path | None) -> str:
    digest = hashlib.sha256(f"{sys.version_info[:2]} {sys.platform}\n".encode())
    digest.update(file.read_bytes())
    for package in sorted(packages.iterdir()) if packages is not None else ():
        if package.is_file():
            digest.update(f"\n{package.name} ".encode())
            digest.update(hashlib.sha256(package.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _install(file: Path, packages: Path | None, target: Path) -> None:
    offline = [] if packages is None else ["--no-index", "--find-links", str(packages)]
    command = [
        *(sys.executable, "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--no-input", "--target", str(target), "--requirement", str(file)),
        *offline,
    ]
    ran = subprocess.run(  # noqa: S603 - pip of this interpreter, no shell
        command, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise EnvironmentSetupError(
            f"pip cannot install {file}:\n{(ran.stderr or ran.stdout).strip()[-_SHOWN:]}",
            hint="Correct the file, or complete the directory of packages beside it.",
        )


@dataclass(frozen=True, slots=True)
class _Named:
    """A path of a setting.

    Attributes:
        option: The setting.
        path: The path; it exists.
        detail: The text after its `#`, None if there is none.
    """

    option: ConfigOption[str | None]
    path: Path
    detail: str | None


def ship_dependencies(
    session: SparkSession, configuration: Configuration
) -> WorkerEnvironment | None:
    """Ship the dependencies of a job; return their description, None if there are none.

    The driver can import the files too, because it unpickles records of their classes.
    """
    files = _named(configuration, PYTHON_FILES)
    requirements = _named(configuration, PYTHON_REQUIREMENTS)
    archives = _named(configuration, PYTHON_ARCHIVES)
    if not files and not requirements and not archives:
        return None
    bundle = Path(tempfile.mkdtemp(prefix="penstock-bundle-"))
    staged = bundle / "content"
    for number, file in enumerate(files):
        _stage_file(file.path, staged / "paths" / str(number))
    for number, requirement in enumerate(requirements, len(files)):
        packages = None if requirement.detail is None else Path(requirement.detail).absolute()
        site = installed_requirements(requirement.path, packages)
        shutil.copytree(site, staged / "paths" / str(number), symlinks=True)
    for archive in archives:
        _unpack(archive, staged / "archives" / (archive.detail or archive.path.name))
    name = f"penstock-{_digest(staged)}"
    environment = WorkerEnvironment(name, len(files) + len(requirements), bool(archives))
    root = Path(SparkFiles.getRootDirectory())
    if not (root / name).exists():
        # New executors fetch it too, so it must exist as long as the session.
        packed = Path(str(session.sparkContext._temp_dir)) / f"{name}.tgz"  # noqa: SLF001
        with tarfile.open(packed, "w:gz", compresslevel=1) as tar:
            tar.add(staged, arcname=".")
        session.sparkContext.addArchive(f"{packed}#{name}")
    shutil.rmtree(bundle, ignore_errors=True)
    for directory in environment.directories(root / name):
        if directory not in sys.path:
            sys.path.append(directory)
    return environment


def worker_executable(
    session: SparkSession, configuration: Configuration, environment: WorkerEnvironment | None
) -> str | None:
    """Return the interpreter of a job's workers, None for that of the session.

    Without an option it is that of this process, if Spark has no setting for it.
    """
    interpreter = configuration.get(PYTHON_EXECUTABLE)
    if interpreter is None:
        return default_interpreter(session)
    if Path(interpreter).is_absolute():
        return interpreter
    is_local = str(session.sparkContext.master).startswith("local")
    if environment is not None:
        shipped = Path(environment.name) / "archives" / interpreter
        unpacked = Path(SparkFiles.getRootDirectory()) / shipped
        if unpacked.exists():
            return str(unpacked if is_local else shipped)
    if is_local and Path(interpreter).exists():
        return str(Path(interpreter).absolute())
    return interpreter


def _named(configuration: Configuration, option: ConfigOption[str | None]) -> list[_Named]:
    dependencies = []
    for text in (configuration.get(option) or "").split(","):
        if not text.strip():
            continue
        path_text, _, detail = text.strip().partition("#")
        path = Path(path_text.removeprefix("file://")).absolute()
        if not path.exists():
            raise ConfigError(
                f"{option.key} names {path_text}, which does not exist",
                hint="Correct the path; it is looked up on the machine that runs the program.",
            )
        dependencies.append(_Named(option, path, detail or None))
    return dependencies


def _stage_file(path: Path, target: Path) -> None:
    """Copy a file of modules into a directory for the search path."""
    if path.is_dir():
        shutil.copytree(path, target, symlinks=True)
        if (path / "__init__.py").exists():
            shutil.copytree(path, target / path.name, symlinks=True)
        return
    target.mkdir(parents=True)
    if zipfile.is_zipfile(path):
        _unzip(path, target)
    else:
        shutil.copy(path, target)


def _unpack(archive: _Named, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    if archive.path.is_dir():
        shutil.copytree(archive.path, target, symlinks=True, dirs_exist_ok=True)
    elif zipfile.is_zipfile(archive.path):
        _unzip(archive.path, target)
    elif tarfile.is_tarfile(archive.path):
        _untar(archive.path, target)
    else:
        raise ConfigError(
            f"{archive.option.key} names {archive.path}, which is neither a zip nor a tar file",
            hint="Pass an archive, or add a single file with add_python_file.",
        )


def _untar(path: Path, target: Path) -> None:
    """Unpack under the rules of `_unzip`."""

    def checked(member: tarfile.TarInfo, destination: str) -> tarfile.TarInfo:
        parent = "" if member.islnk() else f"{Path(member.name).parent}/"
        if (member.islnk() or member.issym()) and not (
            (member.issym() and member.linkname.startswith("/"))
            or _is_inside(f"{parent}{member.linkname}")
        ):
            raise _leads_out(path, f"{member.name} -> {member.linkname}")
        if not _is_inside(member.name) or member.isdev():
            raise _leads_out(path, member.name)
        return tarfile.tar_filter(member, destination)

    try:
        with tarfile.open(path) as tar:
            tar.extractall(target, filter=checked)  # noqa: S202 - the filter checks names and links
    except tarfile.FilterError as cause:
        raise _leads_out(path, cause.tarinfo.name) from cause


def _unzip(path: Path, target: Path) -> None:
    """Unpack with permissions and symbolic links, which `extractall` drops.

    Links come last, so that nothing is written through them. A link may lead to an absolute path,
    as `bin/python` of a virtual environment does, but not out of the archive by `..`.
    """
    with zipfile.ZipFile(path) as packed:
        links = []
        for member in packed.infolist():
            mode = member.external_attr >> 16
            if not _is_inside(member.filename):
                raise _leads_out(path, member.filename)
            if stat.S_ISLNK(mode):
                links.append(member)
                continue
            extracted_path = Path(packed.extract(member, target))
            if mode and not member.is_dir():
                # As tarfile's filters: no set-user-id, nothing that others may write.
                extracted_path.chmod((stat.S_IMODE(mode) & 0o755) | stat.S_IRUSR)
        for member in links:
            link = target / member.filename
            to = os.fsdecode(packed.read(member))
            if not to.startswith("/") and not _is_inside(f"{Path(member.filename).parent}/{to}"):
                raise _leads_out(path, f"{member.filename} -> {to}")
            if not link.parent.resolve().is_relative_to(target.resolve()):
                raise _leads_out(path, member.filename)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(to)


def _is_inside(name: str) -> bool:
    """Return whether a relative path stays inside its directory."""
    path = os.path.normpath(name)
    return not os.path.isabs(path) and path.split(os.sep, 1)[0] != os.pardir  # noqa: PTH117


def _leads_out(path: Path, member: str) -> ConfigError:
    return ConfigError(
        f"{path} has the member {member}, which leads out of the archive",
        hint="Pack the archive anew, with relative names and without links to what is not in it.",
    )


def _digest(directory: Path) -> str:
    digest = hashlib.sha256()
    for path in _walk(directory):
        digest.update(f"{path.relative_to(directory)} {path.lstat().st_mode}\n".encode())
        if path.is_symlink():
            digest.update(os.fsencode(path.readlink()))
        elif path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _walk(directory: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(parent) / name for name in sorted([*folders, *files]))
