"""Rules for the files of `deploy/`: what they lack, as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

Document = dict[str, Any]
There = set[tuple[str, str]]
"""Kind and name of each object of a manifest."""

_SECRET = re.compile(r"password|passwd|secret|token|private_?key|credential", re.IGNORECASE)
_FLOATING = re.compile(r"^[^:@]+$|:latest$")
_SETTING = re.compile(r"-D[\s\",]+([\w.-]+)=")


def dockerfile(text: str) -> list[str]:
    """Return what is wrong with a Dockerfile."""
    lines = text.replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    return [*_bases(steps), *_secrets(steps), *_installs(steps), *_user(steps)]


def _bases(steps: list[list[str]]) -> Iterator[str]:
    bases = [rest for step, rest in steps if step == "FROM"]
    if not bases:
        yield "it has no base"
    for base in bases:
        if _FLOATING.search(base.split()[0]):
            yield f"{base} may be another image tomorrow"


def _secrets(steps: list[list[str]]) -> Iterator[str]:
    for step, rest in steps:
        if step in {"ENV", "ARG"} and _SECRET.search(rest):
            yield f"{step} {rest.split('=')[0]} stays in the image"
        if step == "ADD":
            yield f"ADD {rest} may fetch or unpack something; use COPY"


def _installs(steps: list[list[str]]) -> Iterator[str]:
    for step, rest in steps:
        if step != "RUN":
            continue
        if "apt-get install" in rest:
            if "--no-install-recommends" not in rest:
                yield "apt-get installs what it recommends"
            if "rm -rf /var/lib/apt/lists/*" not in rest:
                yield "the lists of apt stay in the layer"
        if "pip install" in rest and "--require-hashes" not in rest:
            yield "pip installs files without digests"


def _user(steps: list[list[str]]) -> Iterator[str]:
    users = [rest for step, rest in steps if step == "USER"]
    if not users or users[-1].split(":")[0] in {"root", "0"}:
        yield "it runs as root"
    entry = [rest for step, rest in steps if step == "ENTRYPOINT"]
    if not entry or not entry[-1].startswith("["):
        yield "a shell stands between a signal and the driver"


def manifest(documents: list[Document]) -> list[str]:
    """Return what is wrong with the objects of a Kubernetes manifest."""
    there = {(each["kind"], each["metadata"].get("name", "")) for each in documents}
    found: list[str] = []
    for document in documents:
        keys = ("apiVersion", "kind", "metadata")
        found += [f"an object has no {key}" for key in keys if key not in document]
        check = _KINDS.get(document.get("kind", ""))
        if check is None:
            found.append(f"{document.get('kind')} is not a kind that is known here")
        else:
            found += check(document, there)
    return found


def _claim(document: Document, _: There) -> Iterator[str]:
    spec = document["spec"]
    if "storage" not in spec.get("resources", {}).get("requests", {}):
        yield "a claim asks for no storage"
    if not spec.get("accessModes"):
        yield "a claim has no access mode"


def _account(_: Document, __: There) -> Iterator[str]:
    yield from ()


def _role(document: Document, _: There) -> Iterator[str]:
    for rule in document["rules"]:
        for given in ("apiGroups", "resources", "verbs"):
            if "*" in rule[given]:
                yield f"a role may use all {given}"
        if "secrets" in rule["resources"]:
            yield "a role may read secrets"


def _binding(document: Document, there: There) -> Iterator[str]:
    for named in (document["roleRef"], *document["subjects"]):
        if (named["kind"], named["name"]) not in there:
            yield f"there is no {named['kind']} {named['name']}"


def _settings(document: Document, there: There) -> Iterator[str]:
    for name, text in document["data"].items():
        if _SECRET.search(name):
            yield f"{name} is in the manifest; take it from a Secret"
        if name.endswith(".yaml"):
            yield from _pod(yaml.safe_load(text)["spec"], there)


def _deployment(document: Document, there: There) -> Iterator[str]:
    spec = document["spec"]
    template = spec["template"]
    if spec.get("replicas") != 1 or spec.get("strategy", {}).get("type") != "Recreate":
        yield "two drivers of one job at a time"
    if spec["selector"]["matchLabels"].items() - template["metadata"]["labels"].items():
        yield "the selector does not select its pods"
    pod = template["spec"]
    if pod.get("terminationGracePeriodSeconds", 30) < 60:
        yield "a driver has less than a minute to stop"
    account = pod.get("serviceAccountName")
    if account is not None and ("ServiceAccount", account) not in there:
        yield f"there is no ServiceAccount {account}"
    for container in pod["containers"]:
        if "memory" not in container.get("resources", {}).get("limits", {}):
            yield f"{container['name']} has no limit of memory"
    yield from _pod(pod, there)


def _pod(pod: Document, there: There) -> Iterator[str]:
    if not pod.get("securityContext", {}).get("runAsNonRoot"):
        yield "it runs as root"
    yield from _volumes(pod, there)
    for container in pod["containers"]:
        yield from _image(container["image"])
        yield from _environment(container)
        yield from _mounts(container, pod)
        if container.get("securityContext", {}).get("allowPrivilegeEscalation") is not False:
            yield f"{container['name']} may gain privileges"


def _application(document: Document, there: There) -> Iterator[str]:
    spec = document["spec"]
    yield from _image(spec["image"])
    yield from _volumes(spec, there)
    if spec.get("type") != "Python" or not str(spec["mainApplicationFile"]).endswith(".py"):
        yield "the application is no Python program"
    if spec["driver"].get("terminationGracePeriodSeconds", 30) < 60:
        yield "a driver has less than a minute to stop"
    for role in ("driver", "executor"):
        yield from _mounts(spec[role] | {"name": role}, spec)
        if not spec[role].get("securityContext", {}).get("runAsNonRoot"):
            yield f"the {role} runs as root"
    mounted = [
        {mount["name"] for mount in spec[role].get("volumeMounts", ())}
        for role in ("driver", "executor")
    ]
    if mounted[0] != mounted[1]:
        yield "executors do not see what the driver sees"


def _image(image: str) -> Iterator[str]:
    if _FLOATING.search(image.rpartition("/")[2]):
        yield f"{image} may be another image tomorrow"


def _environment(container: Document) -> Iterator[str]:
    for variable in container.get("env", ()):
        if _SECRET.search(variable["name"]) and "value" in variable:
            yield f"{variable['name']} is in the manifest; take it from a Secret"


def _volumes(owner: Document, there: There) -> Iterator[str]:
    for volume in owner.get("volumes", ()):
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim is not None and ("PersistentVolumeClaim", claim) not in there:
            yield f"there is no claim {claim}"
        settings = volume.get("configMap", {}).get("name")
        if settings is not None and ("ConfigMap", settings) not in there:
            yield f"there is no ConfigMap {settings}"


def _mounts(container: Document, owner: Document) -> Iterator[str]:
    volumes = {volume["name"] for volume in owner.get("volumes", ())}
    for mount in container.get("volumeMounts", ()):
        if mount["name"] not in volumes:
            yield f"{container['name']} mounts {mount['name']}, which is no volume"


_KINDS = {
    "PersistentVolumeClaim": _claim,
    "Deployment": _deployment,
    "SparkApplication": _application,
    "ServiceAccount": _account,
    "Role": _role,
    "RoleBinding": _binding,
    "ConfigMap": _settings,
}


def spark_settings_in(text: str) -> set[str]:
    """Return the settings of Spark that a text names."""
    return set(re.findall(r"\bspark\.[a-zA-Z][\w.-]+", text))


def settings_in(text: str) -> set[str]:
    """Return the keys that a text gives to `-D`, as words or as a list of YAML or JSON."""
    return set(_SETTING.findall(re.sub(r"\n\s*-\s", " ", text)))
