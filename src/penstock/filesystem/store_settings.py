"""Settings of the stores, as Hadoop's options (S3: `fs.s3a.*`) or from the environment: a driver sends them to its workers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.errors import HIDDEN, masked

_S3_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@dataclass(frozen=True, slots=True, repr=False)
class S3Settings:
    """Address and login of S3. None takes the value of the environment, as other programs for AWS do.

    Texts of Penstock never contain the login.

    Attributes:
        session_token: Token of a login that ends.
        endpoint: URL of a server that speaks the protocol of S3.
        is_path_style: Whether the bucket is in the path of requests, and not in the name of the host.
    """

    access_key: str | None = None
    secret_key: str | None = None
    session_token: str | None = None
    endpoint: str | None = None
    region: str | None = None
    is_path_style: bool = False

    def __repr__(self) -> str:
        login = "" if self.secret_key is None else f", login={HIDDEN}"
        return f"S3Settings(endpoint={self.endpoint!r}, region={self.region!r}{login})"

    def masked(self, text: str) -> str:
        """Return a text in which no secret is left."""
        known = (self.secret_key, self.session_token, *map(os.environ.get, _S3_SECRETS))
        return masked(text, filter(None, known))


def settings_of_hadoop(option: Callable[[str], str | None]) -> S3Settings:
    """Return the settings in Hadoop's options. Options of single buckets (`fs.s3a.bucket.…`) are not read."""

    def value(key: str) -> str | None:
        return (option(f"fs.s3a.{key}") or "").strip() or None

    endpoint = value("endpoint")
    if endpoint is not None and "://" not in endpoint:
        scheme = "http" if value("connection.ssl.enabled") == "false" else "https"
        endpoint = f"{scheme}://{endpoint}"
    return S3Settings(
        value("access.key"),
        value("secret.key"),
        value("session.token"),
        endpoint,
        value("endpoint.region"),
        value("path.style.access") == "true",
    )


_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_SECRET_VARIABLES = ("AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET")

AZURE_LOGINS = r"fs\.azure\.(account\.key|sas\.fixed\.token)(\..+)?"
"""Pattern of the options of Hadoop that are read."""

_LOGIN = re.compile(AZURE_LOGINS)


@dataclass(frozen=True, slots=True, repr=False)
class AzureLogin:
    """Login at an account.

    Attributes:
        sas: Signature of a shared access.
        endpoint: URL of its blobs; None is that of the account's host.
    """

    key: str | None = None
    sas: str | None = None
    endpoint: str | None = None

    def __repr__(self) -> str:
        return f"AzureLogin(endpoint={self.endpoint!r})"


@dataclass(frozen=True, slots=True, repr=False)
class AzureSettings:
    """Logins of accounts. Other accounts have the login of the environment, as for other programs that use Azure.

    Texts of Penstock never contain a login.

    Attributes:
        logins: (account, login); an account that is empty is any.
        attempts: How often a request is sent, if the store is busy or does not answer.
    """

    logins: tuple[tuple[str, AzureLogin], ...] = ()
    attempts: int = 10

    def __repr__(self) -> str:
        return f"AzureSettings(accounts={[account for account, _ in self.logins]!r})"

    def login_of(self, account: str) -> AzureLogin:
        """Return the login of an account: its own, that of any account, or that of the environment."""
        known = dict(self.logins)
        return known.get(account) or known.get("") or _of_environment(account)

    def masked(self, text: str) -> str:
        """Return a text in which no secret is left."""
        logins = [*(login for _, login in self.logins), _of_connection("")]
        known = [*(login.key for login in logins), *(login.sas for login in logins)]
        return masked(text, filter(None, (*known, *map(os.environ.get, _SECRET_VARIABLES))))


def azure_settings_of_hadoop(options: Mapping[str, str]) -> AzureSettings:
    """Return the settings in Hadoop's options."""
    logins: dict[str, dict[str, str]] = {}
    for option, value in options.items():
        kind = _LOGIN.fullmatch(option)
        if kind is not None and value.strip():
            account = (kind[2] or "").removeprefix(".").partition(".")[0]
            name = "key" if kind[1] == "account.key" else "sas"
            logins.setdefault(account, {})[name] = value.strip()
    return AzureSettings(tuple((name, AzureLogin(**logins[name])) for name in sorted(logins)))


def _of_environment(account: str) -> AzureLogin:
    connection = _of_connection(account)
    if connection != AzureLogin():
        return connection
    named = os.environ.get("AZURE_STORAGE_ACCOUNT")
    if named not in {None, account}:
        return AzureLogin()
    key, sas = os.environ.get("AZURE_STORAGE_KEY"), os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    return AzureLogin(key or None, None if key else sas or None)


def _of_connection(account: str) -> AzureLogin:
    """Return the login in the connection string, if it is one of the account; of any, if `account` is empty."""
    pairs = [pair.partition("=") for pair in os.environ.get(_CONNECTION, "").split(";")]
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if account not in {"", fields.get("accountname")}:
        return AzureLogin()
    return AzureLogin(
        fields.get("accountkey"), fields.get("sharedaccesssignature"), fields.get("blobendpoint")
    )


_KEYFILES = (
    "fs.gs.auth.service.account.json.keyfile",
    "google.cloud.auth.service.account.json.keyfile",
)


@dataclass(frozen=True, slots=True)
class GoogleSettings:
    """Address and login of Google Cloud Storage. None takes the value of the environment, as other programs do.

    It contains no secret: a key is in a file.

    Attributes:
        keyfile: File with the key of a service account, which the driver and all workers have.
        endpoint: URL of a server that speaks the protocol.
        retry_seconds: How long a request is sent again, if the store is busy or does not answer.
    """

    keyfile: str | None = None
    endpoint: str | None = None
    retry_seconds: float = 120.0


def google_settings_of_hadoop(option: Callable[[str], str | None]) -> GoogleSettings:
    """Return the settings in Hadoop's options."""
    keyfiles = [(option(name) or "").strip() for name in _KEYFILES]
    endpoint = (option("fs.gs.storage.root.url") or "").strip().rstrip("/")
    return GoogleSettings(next(filter(None, keyfiles), None), endpoint or None)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Addresses and logins. Missing ones come from the environment of each process."""

    s3: S3Settings = S3Settings()
    azure: AzureSettings = AzureSettings()
    google: GoogleSettings = GoogleSettings()


def store_settings_of_hadoop(
    option: Callable[[str], str | None], azure: Mapping[str, str]
) -> StoreSettings:
    """Return the settings in Hadoop's options."""
    return StoreSettings(
        settings_of_hadoop(option),
        azure_settings_of_hadoop(azure),
        google_settings_of_hadoop(option),
    )
