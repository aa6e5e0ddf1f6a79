"""The files of `deploy/` can be read, and follow the rules of `lint.py`; each rule can fail.

Beside them stand the linters of others: hadolint, the schemas of Kubernetes, and systemd itself. Nothing is built or
started: there is no registry of images and no cluster here.
"""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
import zipfile
from configparser import RawConfigParser
from pathlib import Path

import kubernetes_validate
import pyspark
import pytest
import yaml

from penstock.config.options import ALL_OPTIONS, OPEN_PREFIXES
from tests.deploy.lint import dockerfile, manifest, settings_in, spark_settings_in

TOP = Path(__file__).parents[2]
DEPLOY = TOP / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
UNIT = DEPLOY / "penstock.service"
JARS = Path(pyspark.__file__).parent / "jars"
HADOLINT = Path(sys.executable).parent / "hadolint"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
KUBERNETES = ("1.31", "1.37")
NO_SCHEMA = {"SparkApplication"}
"""Kinds of others, whose schemas no package has."""
WITH_KEYS = ("spark.kubernetes.executor.volumes.",)
"""Settings of Spark whose rest is chosen: the kind of a volume, its name, and its options."""


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


def changed(path, *steps, to, number=-1):
    """Return the objects of a manifest with one value of one changed; None removes it."""
    found = copy.deepcopy(documents(path))
    at = found[number]
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
        "kubernetes/spark-submit.yaml",
        "penstock.service",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_are_options(path):
    keys = {option.key for option in ALL_OPTIONS}
    found = settings_in(path.read_text())
    assert {
        key for key in found if key not in keys and not key.startswith(tuple(OPEN_PREFIXES))
    } == set()
    if path.name not in {"spark-operator.yaml", "spark-submit.yaml"}:
        assert "execution.checkpointing.dir" in found


def test_the_dockerfile_follows_the_rules():
    assert dockerfile(DOCKERFILE.read_text()) == []


def hadolint(path):
    done = subprocess.run(
        [HADOLINT, "--no-color", "--failure-threshold", "style", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(done.stdout) == (done.returncode == 1), done.stderr
    return done.stdout


def test_hadolint_has_nothing_to_say():
    assert hadolint(DOCKERFILE) == ""


def test_hadolint_says_what_is_broken(tmp_path):
    path = tmp_path / "Dockerfile"
    path.write_text(DOCKERFILE.read_text().replace("--no-cache-dir ", "", 1))
    assert "DL3042" in hadolint(path)


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


def objects(path):
    """Return the objects of a manifest, and those that are texts in it."""
    for document in documents(path):
        yield document
        if document["kind"] == "ConfigMap":
            yield from map(yaml.safe_load, document["data"].values())


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_an_object_has_the_schema_of_kubernetes(path, version):
    for document in objects(path):
        if document["kind"] not in NO_SCHEMA:
            kubernetes_validate.validate(document, version, strict=True)


def test_a_misspelled_field_has_no_schema():
    *_, found = changed(
        DEPLOY / "kubernetes" / "single-pod.yaml", *POD, "terminationGraceSeconds", to=1
    )
    with pytest.raises(kubernetes_validate.ValidationError, match="terminationGraceSeconds"):
        kubernetes_validate.validate(found, KUBERNETES[0], strict=True)


@pytest.fixture(scope="module")
def known_to_spark():
    """Return the bytes of the classes that declare settings; each setting is a constant in one."""
    classes = []
    for name in ("spark-core", "spark-kubernetes"):
        (jar,) = JARS.glob(f"{name}_*.jar")
        with zipfile.ZipFile(jar) as archive:
            classes += [archive.read(each) for each in archive.namelist() if "/Config" in each]
            classes += [
                archive.read(each)
                for each in archive.namelist()
                if "/internal/config/" in each or each.endswith("/SparkConf$.class")
            ]
    return b"".join(classes)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_settings_of_spark_are_known_to_spark(path, known_to_spark):
    found = spark_settings_in(path.read_text())
    assert found
    unknown = {key for key in found if key.encode() not in known_to_spark}
    assert {key for key in unknown if not key.startswith(WITH_KEYS)} == set()
    assert b"spark.kubernetes.driver.terminationGracePeriodSeconds" not in known_to_spark


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
        (("spec", "driver", "terminationGracePeriodSeconds"), None, "less than a minute"),
    ],
)
def test_a_broken_application_is_noticed(steps, to, said):
    (found,) = manifest(changed(DEPLOY / "kubernetes" / "spark-operator.yaml", *steps, to=to))
    assert said in found


@pytest.mark.parametrize(
    ("kind", "steps", "to", "said"),
    [
        ("Role", ("rules", 0, "verbs"), ["*"], "a role may use all verbs"),
        ("Role", ("rules", 0, "resources"), ["secrets"], "a role may read secrets"),
        ("RoleBinding", ("roleRef", "name"), "x", "there is no Role x"),
        ("RoleBinding", ("subjects", 0, "name"), "x", "there is no ServiceAccount x"),
        ("ConfigMap", ("data",), {"password": "x"}, "take it from a Secret"),
        ("Deployment", (*POD, "serviceAccountName"), "x", "there is no ServiceAccount x"),
        ("Deployment", (*POD, "volumes", 1, "configMap", "name"), "x", "there is no ConfigMap x"),
    ],
)
def test_a_broken_object_is_noticed(kind, steps, to, said):
    path = DEPLOY / "kubernetes" / "spark-submit.yaml"
    number = next(at for at, each in enumerate(documents(path)) if each["kind"] == kind)
    (found,) = manifest(changed(path, *steps, to=to, number=number))
    assert said in found


def test_the_pods_of_executors_follow_the_rules_too():
    path = DEPLOY / "kubernetes" / "spark-submit.yaml"
    found = documents(path)
    (settings,) = (each for each in found if each["kind"] == "ConfigMap")
    settings["data"]["executor.yaml"] = settings["data"]["executor.yaml"].replace(
        "runAsNonRoot: true", "runAsNonRoot: false"
    )
    assert manifest(found) == ["it runs as root"]


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
