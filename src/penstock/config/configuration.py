"""The settings of one job, under the method names of PyFlink's `Configuration`, with overrides of the process and secrets.

A value is looked up from the last layer to the first:

    default  <  program (`set_string` and its siblings)  <  `layered(...)`  <  process overrides  <  final layers

so a value given on the command line wins over the program, which wins over the default.

`penstock run job.py -D key=value` does not change the program. The program makes its own
`Configuration`, so the values of the command line are process-wide.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from penstock.config.accepted_options import REFUSED_KEYS
from penstock.config.option import ConfigOption
from penstock.config.options import ALL_OPTIONS, OPEN_PREFIXES, RULES
from penstock.config.parse import (
    parse_bool,
    parse_bytes,
    parse_float,
    parse_int,
    parse_list,
    parse_str,
    to_text,
)
from penstock.errors import HIDDEN, ConfigError

"""Text in place of a secret."""

_SECRET_WORDS = (
    *("password", "secret", "token", "credential", "access.key", "access-key", "accesskey"),
    *("account.key", "apikey", "api-key", "service-key", "auth-params", "basic-auth", "jaas"),
    *("passphrase", "key.pem", "oauthbearer.config", "oauthbearer.extensions"),
)
"""Parts of the names of keys whose values are hidden; those of Flink, Spark and Kafka's clients."""


def is_secret(key: str) -> bool:
    """Return whether the value of a key is secret, by the name of the key."""
    return any(word in key.lower() for word in _SECRET_WORDS)


JOB_PARAMETERS = "pipeline.global-job-parameters"
"""The key of Flink's map `a:1,b:2`. A single parameter has the key `<this key>.<name>`."""


def job_parameters(configuration: Configuration) -> dict[str, str]:
    """Return the parameters of the map and of single keys; a single key overrides the map.

    >>> job_parameters(Configuration().set_string("pipeline.global-job-parameters.day", "monday"))
    {'day': 'monday'}
    """
    prefix = f"{JOB_PARAMETERS}."
    pairs = configuration.get_string(JOB_PARAMETERS, "").split(",")
    parameters = dict(_pair(pair) for pair in pairs if pair.strip())
    return parameters | {
        key.removeprefix(prefix): value
        for key, value in configuration.to_dict().items()
        if key.startswith(prefix)
    }


def set_job_parameters(configuration: Configuration, parameters: Mapping[str, object]) -> None:
    """Replace all parameters; other values than strings are converted to text.

    Process overrides stay.
    """
    for key in tuple(configuration.key_set()):
        if key == JOB_PARAMETERS or key.startswith(f"{JOB_PARAMETERS}."):
            configuration.remove_config(key)
    for name, value in parameters.items():
        configuration.set_string(f"{JOB_PARAMETERS}.{name}", str(value))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name.strip(), value.strip()


_layers: dict[str, dict[str, str]] = {}


def set_process_overrides(layer_name: str, values: Mapping[str, str]) -> None:
    """Let `values` override those of every `Configuration`, existing ones too."""
    _layers.pop(layer_name, None)
    if values:
        _layers[layer_name] = dict(values)


def process_overrides() -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return the layers by name; a later one overrides earlier ones."""
    return tuple(_layers.items())


T = TypeVar("T")
D = TypeVar("D")

DEFAULT_LAYER = "default"
PROGRAM_LAYER = "program"

_KNOWN_KEYS = frozenset(key for option in ALL_OPTIONS for key in option.keys)


class _Found(NamedTuple):
    """A stored value, and the name of its layer."""

    layer: str
    key: str
    text: str

    def __str__(self) -> str:
        text = HIDDEN if is_secret(self.key) else repr(self.text)
        return f"{self.key}={text} (from {self.layer})"


class Configuration:
    """Settings by key, held as text in named layers.

    Any key can be stored; `get` refuses values an option does not allow, and `validate`
    refuses unknown keys.

    >>> conf = Configuration()
    >>> conf.set_integer("parallelism.default", 4).get_integer("parallelism.default", 1)
    4
    >>> conf.set_boolean("pipeline.object-reuse", True).set_float("execution.backlog.share", 0.5).validate()
    >>> conf.get_boolean("pipeline.object-reuse", False), conf.get_float("execution.backlog.share", 0.0)
    (True, 0.5)
    >>> conf.remove_config("parallelism.default"), conf.contains_key("parallelism.default")
    (True, False)
    >>> conf.add_all(Configuration.from_dict({"pipeline.name": "sums"})).get_string("pipeline.name", "")
    'sums'
    >>> conf.set_bytearray("salt", b"a1").add_all_to_dict(given := {})
    >>> given["salt"] == conf.get_bytearray("salt", None), sorted(given) == sorted(conf.key_set()) == sorted(conf.to_dict())
    (True, True)
    """

    def __init__(self, other: Configuration | None = None) -> None:
        """Create an empty configuration, or an independent copy of `other`.

        Raises:
            ConfigError: `other` is no configuration.
        """
        if other is not None and not isinstance(other, Configuration):
            raise ConfigError.here(
                f"a configuration is copied from another one; got a {type(other).__name__}",
                hint="Use Configuration.from_dict({...}) for settings in a dict.",
            )
        self._program: dict[str, str] = {}
        self._given: dict[str, object] = {}  # what was set, where that was no text
        self._upper: tuple[tuple[str, dict[str, str]], ...] = ()
        self._final: tuple[tuple[str, dict[str, str]], ...] = ()
        if other is not None:
            self._program |= other._program  # noqa: SLF001 - the same class
            self._given |= other._given  # noqa: SLF001
            self._upper = other._upper  # noqa: SLF001
            self._final = other._final  # noqa: SLF001

    @staticmethod
    def from_dict(map: Mapping[str, object]) -> Configuration:  # noqa: A002 - PyFlink's name
        """Return a configuration whose program layer has the values of `map`.

        Raises:
            ConfigError: A value has a type that `set` refuses.
        """
        configuration = Configuration()
        for key, value in map.items():
            configuration.set(key, value)
        return configuration

    def layered(
        self, name: str, values: Mapping[str, str], *, is_final: bool = False
    ) -> Configuration:
        """Return a copy in which `values` override those of the program, those set later too.

        Args:
            name: Name of the layer, for error messages.
            values: Key to text.
            is_final: Whether they override those of the process, such as of the command line, too.
        """
        configuration = Configuration(self)
        layer = (name, dict(values))
        if is_final:
            configuration._final = (*self._final, layer)
        else:
            configuration._upper = (*self._upper, layer)
        return configuration

    def set(self, key: str | ConfigOption[Any], value: object) -> Configuration:
        """Store `value` in the program's layer and return this configuration.

        Args:
            key: A key, or the option itself.
            value: A string, which `get` parses, or a number, boolean, `timedelta` of whole
                milliseconds, or enum member.

        Raises:
            ConfigError: `value` is of another type; None is, too.
        """
        name = key.key if isinstance(key, ConfigOption) else key
        if not isinstance(name, str) or not name:
            raise ConfigError(
                f"a configuration key is a non-empty string; got {name!r}",
                hint="Pass a key such as pipeline.name.",
            )
        self._program[name] = to_text(value)
        self._keep(name, value)
        return self

    def set_string(self, key: str, value: str) -> Configuration:
        """Store a string; see `set`."""
        return self.set(key, value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Store an integer; see `set`."""
        return self.set(key, value)

    def set_boolean(self, key: str, value: bool) -> Configuration:  # noqa: FBT001 - PyFlink's
        """Store a boolean; see `set`."""
        return self.set(key, value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Store a floating-point number; see `set`."""
        return self.set(key, value)

    def get_string(self, key: str, default_value: D) -> str | D:
        """Return the text stored under `key`, or `default_value`."""
        return self._read(key, parse_str, default_value)

    def get_integer(self, key: str, default_value: D) -> int | D:
        """Return the integer stored under `key`, or `default_value`.

        Raises:
            ConfigError: The stored text is not an integer.
        """
        return self._read(key, parse_int, default_value)

    def get_boolean(self, key: str, default_value: D) -> bool | D:
        """Return the boolean stored under `key`, or `default_value`.

        Raises:
            ConfigError: The stored text is neither `true` nor `false`.
        """
        return self._read(key, parse_bool, default_value)

    def get_float(self, key: str, default_value: D) -> float | D:
        """Return the number stored under `key`, or `default_value`.

        Raises:
            ConfigError: The stored text is not a number.
        """
        return self._read(key, parse_float, default_value)

    def set_bytearray(self, key: str, value: bytearray | bytes) -> Configuration:
        """Store bytes, in base64.

        Raises:
            ConfigError: `value` is something else.
        """
        if not isinstance(value, bytearray | bytes):
            raise ConfigError(
                f"{key} got {value!r} of type {type(value).__name__}", hint="Pass a bytearray."
            )
        self.set(key, base64.b64encode(value).decode())
        self._keep(key, bytearray(value))
        return self

    def get_bytearray(self, key: str, default_value: D) -> bytearray | D:
        """Return the bytes stored under `key`, or `default_value`.

        Raises:
            ConfigError: The stored text was not stored by `set_bytearray`.
        """
        return self._read(key, parse_bytes, default_value)

    @staticmethod
    def parse_list_value(
        value: str | None,
        standard_yaml: bool = True,  # noqa: FBT001, FBT002 - PyFlink's
    ) -> list[str]:
        """Return the elements of a list in text.

        Args:
            value: `a;b`, or YAML: `[a, b]`, or one line `- a` per element.
            standard_yaml: Whether YAML is allowed.

        >>> Configuration.parse_list_value("a;b"), Configuration.parse_list_value("['a', 'b']")
        (['a', 'b'], ['a', 'b'])
        """
        if standard_yaml:
            return parse_list(value or "")
        return [part.strip() for part in (value or "").split(";") if part.strip()]

    def get(self, option: ConfigOption[T]) -> T:
        """Return the effective value of `option`.

        Raises:
            ConfigError: The stored text does not parse or the option refuses the value; names
                key, text and layer.
        """
        setting = self._find(*option.keys)
        if setting is None:
            return option.default
        value = _parsed(setting, option.parse)
        if reason := option.check(value):
            raise ConfigError(
                f"{setting}: the value {reason}",
                hint=f"Change or remove {setting.key}. {option.description}",
            )
        return value

    def source_of(self, option: ConfigOption[T]) -> str:
        """Return the name of the layer that decides `option`; `default` when none does."""
        setting = self._find(*option.keys)
        return setting.layer if setting else DEFAULT_LAYER

    def contains_key(self, key: str) -> bool:
        """Return whether a layer holds `key`; defaults do not count."""
        return self._find(key) is not None

    def remove_config(self, key: str) -> bool:
        """Remove `key` from every layer of this object and return whether it was there.

        Process overrides stay: the program must not change the command line's values.
        """
        held = key in self._program or any(key in values for _, values in self._upper)
        self._program.pop(key, None)
        self._given.pop(key, None)
        self._upper = tuple(
            (name, {other: text for other, text in values.items() if other != key})
            for name, values in self._upper
        )
        return held

    def to_dict(self) -> dict[str, str]:
        """Return the effective text of every key that is set, process overrides included."""
        return {key: text for _, values in self._layers() for key, text in values.items()}

    def shown(self) -> dict[str, str]:
        """Return every key that is set with a text that others may read.

        Values are those of Penstock's own options; one that sounds secret, by its key or by itself, is
        hidden, and so are all of other programs, such as those under `spark.`.
        """
        return {
            key: text if key in _KNOWN_KEYS and not is_secret(key + text) else HIDDEN
            for key, text in sorted(self.to_dict().items())
        }

    def key_set(self) -> AbstractSet[str]:
        """Return every key that is set, process overrides included."""
        return self.to_dict().keys()

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Set all values of `other` except process overrides, and return this configuration.

        Args:
            other: Is not changed.
            prefix: Put before each key.
        """
        for _, values in other._own_layers():
            for key, text in values.items():
                name = f"{prefix or ''}{key}"
                self._program[name] = text
                self._keep(name, other._given.get(key) if key in other._program else None)
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Write every key that is set into `target_dict`: numbers, booleans and bytes as such.

        A value that the program did not set, or set as text, is text.
        """
        for key, text in self.to_dict().items():
            is_own = self._program.get(key) == text
            target_dict[key] = self._given.get(key, text) if is_own else text

    def validate(self) -> None:
        """Check every key and value that is set, and the rules between options.

        It warns of options that are set and deprecated.

        Raises:
            ConfigError: A key is unknown, a value is refused, or two values contradict each
                other.
        """
        for name, values in self._layers():
            for key, value in values.items():
                _check_known(key, value, name)
        for option in ALL_OPTIONS:
            self.get(option)
            if option.deprecated is not None and any(map(self.contains_key, option.keys)):
                # A FutureWarning, since a DeprecationWarning is shown to authors of libraries only.
                warnings.warn(
                    f"{option.key} is deprecated. {option.deprecated}", FutureWarning, stacklevel=2
                )
        for rule in RULES:
            if not rule.holds(*(self.get(option) for option in rule.options)):
                raise ConfigError(
                    f"{rule.requirement}; got {', '.join(map(self._describe, rule.options))}",
                    hint="Change one of them.",
                )

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same value for every key, from any layer."""
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Return a hash of the current values, as PyFlink does; it changes with the next setting."""
        return hash(frozenset(self.to_dict().items()))

    def __str__(self) -> str:
        settings = sorted(self.to_dict().items())
        return f"{{{', '.join(f'{key}={HIDDEN if is_secret(key) else text}' for key, text in settings)}}}"

    def __repr__(self) -> str:
        # Keys only: values under `spark.` may be credentials.
        return f"<Configuration of {', '.join(sorted(self.key_set())) or 'nothing'}>"

    def _keep(self, key: str, value: object) -> None:
        if isinstance(value, (bool, int, float, bytearray)):
            self._given[key] = value
        else:
            self._given.pop(key, None)

    def _own_layers(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        yield PROGRAM_LAYER, self._program
        yield from self._upper

    def _layers(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield all layers, the winning one last."""
        yield from self._own_layers()
        yield from process_overrides()
        yield from self._final

    def _find(self, *keys: str) -> _Found | None:
        for name, values in reversed(tuple(self._layers())):
            for key in keys:
                if key in values:
                    return _Found(name, key, values[key])
        return None

    def _read(self, key: str, parse: Callable[[str], T], default_value: D) -> T | D:
        setting = self._find(key)
        return default_value if setting is None else _parsed(setting, parse)

    def _describe(self, option: ConfigOption[T]) -> str:
        setting = self._find(*option.keys)
        return str(setting) if setting else f"{option.key} unset"


def _parsed(setting: _Found, parse: Callable[[str], T]) -> T:
    try:
        return parse(setting.text)
    except ConfigError as cause:
        raise ConfigError(f"{setting}: {cause.problem}", hint=cause.hint) from cause


def _check_known(key: str, value: str, layer: str) -> None:
    refused = REFUSED_KEYS.get(key)
    if refused is not None:
        if refused.allows(value):
            return
        raise ConfigError(
            f"{key}={value!r} (from {layer}) is not supported: it would change results",
            hint=refused.instead,
        )
    if key in _KNOWN_KEYS or key.startswith(tuple(OPEN_PREFIXES)):
        return
    nearest = get_close_matches(key, _KNOWN_KEYS, n=1)
    raise ConfigError(
        f"unknown configuration key {key!r} (from {layer})",
        hint=f"Did you mean {nearest[0]}?"
        if nearest
        else "See docs/configuration.md for all keys.",
    )
