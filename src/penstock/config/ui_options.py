"""The options of the server with the page of jobs and metrics for monitoring systems."""

from __future__ import annotations

import re
from typing import Any

from penstock.config.option import NOT_BLANK, ConfigOption, Limit
from penstock.config.parse import INTEGER, STRING

_MOST_PORT = 65_535

UI_PORT: ConfigOption[int | None] = ConfigOption(
    key="ui.port",
    parse=INTEGER,
    default=None,
    description=(
        "Port of a server in the driver, with the page of the jobs, `/metrics` for Prometheus and `/status` as JSON. "
        "0 is any free port; the log says which. When unset there is no server. It needs the extra `ui`."
    ),
    check=Limit(
        f"must be between 0 and {_MOST_PORT:,}",
        lambda value: value is None or 0 <= value <= _MOST_PORT,
    ),
)

UI_ADDRESS: ConfigOption[str] = ConfigOption(
    key="ui.bind-address",
    parse=STRING,
    default="127.0.0.1",
    description=(
        "Address that the server of `ui.port` listens on. The default is reached from this machine only. "
        "Who reads needs no login: open it to networks whose users may all see the names and numbers of the job."
    ),
    check=NOT_BLANK,
)

UI_HOSTS: ConfigOption[str | None] = ConfigOption(
    key="ui.hosts",
    parse=STRING,
    default=None,
    description=(
        "Further names by which the server may be called, with commas between, such as that of a proxy before it. "
        "Requests with another name in their `Host` are refused; `localhost`, the name of the machine and addresses are "
        "always accepted."
    ),
    check=NOT_BLANK,
)

_TOKEN = re.compile(r"[\w.~-]{16,}", re.ASCII)

UI_TOKEN: ConfigOption[str | None] = ConfigOption(
    key="ui.token",
    parse=STRING,
    default=None,
    description=(
        "Secret of those who may change a job with the page: take savepoints, and stop it. They open the page with "
        "`#token=…` behind its address. When unset, `penstock run --ui` makes one and prints the address with it, and "
        "in other programs the page reads only."
    ),
    check=Limit(
        "must have 16 characters or more: letters, digits, `-`, `_`, `.` and `~`",
        lambda value: value is None or _TOKEN.fullmatch(value) is not None,
    ),
)

UI_OPTIONS: tuple[ConfigOption[Any], ...] = (UI_PORT, UI_ADDRESS, UI_HOSTS, UI_TOKEN)
"""The options of this module, in the order of the reference page."""
