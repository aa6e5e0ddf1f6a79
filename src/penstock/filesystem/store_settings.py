"""Settings of the stores: a driver has them, and sends them to its workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.filesystem.azure_settings import AzureSettings, azure_settings_of_hadoop
from penstock.filesystem.google_settings import GoogleSettings, google_settings_of_hadoop
from penstock.filesystem.s3_settings import S3Settings, settings_of_hadoop


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Addresses and logins. What they do not say comes from the environment of each process.

    Attributes:
        s3: Of S3.
        azure: Of Azure.
        google: Of Google Cloud Storage.
    """

    s3: S3Settings = S3Settings()  # noqa: RUF009 - a frozen value
    azure: AzureSettings = AzureSettings()  # noqa: RUF009
    google: GoogleSettings = GoogleSettings()  # noqa: RUF009


def store_settings_of_hadoop(
    option: Callable[[str], str | None], azure: Mapping[str, str]
) -> StoreSettings:
    """Return what Hadoop's options say."""
    return StoreSettings(
        settings_of_hadoop(option),
        azure_settings_of_hadoop(azure),
        google_settings_of_hadoop(option),
    )
