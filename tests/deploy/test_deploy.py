"""The files of `deploy/` can be read, and follow the rules of `lint.py`; each rule can fail.

Nothing is built or started: there is no registry of images and no cluster here.
"""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest
import yaml

from penstock.config.options import ALL_OPTIONS, OPEN_PREFIXES
from tests.deploy.lint import dockerfile, manifest, settings_in

TOP = Path(__file__).parents[2]
DEPLOY = TOP / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
UNIT = DEPLOY / "penstock.service"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


def changed(path, *steps, to):
    """Return the objects of a manifest with one value changed; None removes it."""
    found = copy.deepcopy(documents(path))
    at = found[-1]
    for step in steps[:-1]:
        at = at[step]
    if to is None:
        del at[steps[-1]]
    else:
        at[steps[-1]] = to
    return found


def test_the_files_that_there_are():
    assert [path.relative_to(DEPLOY).as_posix() for path in FILES] == [
        "Dockerfile",
        "kubernetes/single-pod.yaml",
        "kubernetes/spark-operator.yaml",
        "penstock.service",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_are_options(path):
    keys = {option.key for option in ALL_OPTIONS}
    found = settings_in(path.read_text())
    assert {
        key for key in found if key not in keys and not key.startswith(tuple(OPEN_PREFIXES))
    } == set()
    if path.name != "spark-operator.yaml":
        assert "execution.checkpointing.dir" in found


def test_the_dockerfile_follows_the_rules():
    assert dockerfile(DOCKERFILE.read_text()) == []


def test_what_the_dockerfile_copies_is_there():
    copied = re.findall(r"^COPY (\S+) ", DOCKERFILE.read_text(), re.MULTILINE)
    assert copied == ["requirements/", "dist/", "${PROGRAM}"]
    assert (TOP / "requirements" / "runtime.txt").exists()
    assert "tools.dist dist" in (TOP / "Makefile").read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("python:3.11.9-slim-bookworm", "python", "may be another image tomorrow"),
        ("python:3.11.9-slim-bookworm", "python:latest", "may be another image tomorrow"),
        ("USER 10001", "USER root", "it runs as root"),
        ("USER 10001\n", "", "it runs as root"),
        ("--no-install-recommends ", "", "apt-get installs what it recommends"),
        ("rm -rf /var/lib/apt/lists/*", "true", "the lists of apt stay"),
        ("--require-hashes -r", "-r", "pip installs files without digests"),
        ("ARG PROGRAM", "ENV KAFKA_PASSWORD=x", "ENV KAFKA_PASSWORD stays in the image"),
        ("COPY requirements/", "ADD requirements/", "use COPY"),
        ('["tini", "--", "penstock"]', "penstock", "a shell stands between"),
        ("FROM", "#FROM", "it has no base"),
    ],
)
def test_a_broken_dockerfile_is_noticed(old, new, said):
    text = DOCKERFILE.read_text()
    assert old in text
    (found,) = dockerfile(text.replace(old, new, 1))
    assert said in found


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_follows_the_rules(path):
    assert manifest(documents(path)) == []


POD = ("spec", "template", "spec")
CONTAINER = (*POD, "containers", 0)


@pytest.mark.parametrize(
    ("steps", "to", "said"),
    [
        (("spec", "replicas"), 2, "two drivers"),
        (("spec", "strategy"), None, "two drivers"),
        (("spec", "selector", "matchLabels", "app"), "other", "does not select"),
        ((*POD, "terminationGracePeriodSeconds"), 10, "less than a minute"),
        ((*POD, "securityContext", "runAsNonRoot"), False, "runs as root"),
        ((*POD, "volumes", 0, "persistentVolumeClaim", "claimName"), "x", "there is no claim x"),
        ((*CONTAINER, "image"), "registry.example/visits", "another image tomorrow"),
        ((*CONTAINER, "image"), "visits:latest", "another image tomorrow"),
        ((*CONTAINER, "env"), [{"name": "DB_PASSWORD", "value": "x"}], "take it from a Secret"),
        ((*CONTAINER, "volumeMounts", 0, "name"), "x", "mounts x, which is no volume"),
        ((*CONTAINER, "resources", "limits"), None, "no limit of memory"),
        ((*CONTAINER, "securityContext"), None, "may gain privileges"),
        (("kind",), "Pod", "Pod is not a kind that is known here"),
    ],
)
def test_a_broken_manifest_is_noticed(steps, to, said):
    (found,) = manifest(changed(DEPLOY / "kubernetes" / "single-pod.yaml", *steps, to=to))
    assert said in found


@pytest.mark.parametrize(
    ("steps", "to", "said"),
    [
        (("spec", "image"), "spark", "another image tomorrow"),
        (("spec", "type"), "Scala", "no Python program"),
        (("spec", "executor", "volumeMounts"), [], "executors do not see"),
        (("spec", "driver", "securityContext"), None, "the driver runs as root"),
    ],
)
def test_a_broken_application_is_noticed(steps, to, said):
    (found,) = manifest(changed(DEPLOY / "kubernetes" / "spark-operator.yaml", *steps, to=to))
    assert said in found


def test_a_secret_of_kubernetes_is_no_secret_in_the_manifest():
    variable = {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "p"}}}
    path = DEPLOY / "kubernetes" / "single-pod.yaml"
    assert manifest(changed(path, *CONTAINER, "env", to=[variable])) == []


class UnitParser(RawConfigParser):
    def optionxform(self, optionstr):
        return optionstr  # their case counts


def unit():
    parser = UnitParser(strict=True)
    parser.read_string(UNIT.read_text())
    return parser


def test_the_unit_stops_and_starts_the_driver_as_it_wants():
    service = unit()["Service"]
    assert service["User"] != "root"
    assert service["KillSignal"] == "SIGTERM"
    assert service["SuccessExitStatus"] == "143"  # what `penstock run` exits with
    assert service["Restart"] == "on-failure"
    assert int(service["TimeoutStopSec"]) >= 60
    assert service["ExecStart"].split()[1] == "run"
    assert service["ExecStartPre"].split()[1] == "doctor"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
@pytest.mark.parametrize("broken", [False, True])
def test_systemd_understands_the_unit(tmp_path, broken):
    text = UNIT.read_text().replace("/opt/penstock/bin/penstock", sys.executable)
    if broken:
        text = text.replace("KillMode=mixed", "KillMode=sometimes")
    path = tmp_path / "visits.service"
    path.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    about = [line for line in done.stderr.splitlines() if "visits" in line]
    assert bool(about) is broken, done.stderr
