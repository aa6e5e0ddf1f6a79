"""The server's side of logins, for the proxy in front of a broker: PLAIN, and SCRAM by RFC 5802."""

from __future__ import annotations

import base64
import hashlib
import hmac
from abc import ABC, abstractmethod
from typing import ClassVar

_ITERATIONS = 4096
_SALT = b"salt of the test"


class RefusedError(Exception):
    """User or password is another one."""


class ServerLogin(ABC):
    """The login of one connection.

    Attributes:
        user: Who may log in.
        password: The password.
        said: User names and passwords that were sent, as far as they are.
        is_done: Whether they were right.
    """

    mechanism: ClassVar[str]

    def __init__(self, user: str, password: str) -> None:
        self.user = user
        self.password = password
        self.said: list[tuple[str, str]] = []
        self.is_done = False

    @abstractmethod
    def answer(self, sent: bytes) -> bytes:
        """Return the answer to what the client has sent.

        Raises:
            RefusedError: The login is wrong.
        """


class PlainLogin(ServerLogin):
    """The password itself is sent."""

    mechanism = "PLAIN"

    def answer(self, sent: bytes) -> bytes:
        _, user, password = sent.split(b"\0")
        self.said.append((user.decode(), password.decode()))
        if self.said[-1] != (self.user, self.password):
            raise RefusedError
        self.is_done = True
        return b""


class ScramLogin(ServerLogin):
    """Client and server prove that they know the password, which is not sent."""

    mechanism = "SCRAM-SHA-512"
    _messages: tuple[str, str] | None = None
    _name = ""

    def answer(self, sent: bytes) -> bytes:
        if self._messages is None:
            bare = sent.decode().removeprefix("n,,")
            fields = _fields(bare)
            self._name = fields["n"]
            self.said.append((self._name, ""))
            salt = base64.b64encode(_SALT).decode()
            first = f"r={fields['r']}server,s={salt},i={_ITERATIONS}"
            self._messages = bare, first
            return first.encode()
        final = sent.decode()
        unsigned, _, proof = final.rpartition(",p=")
        signed = ",".join([*self._messages, unsigned]).encode()
        salted = hashlib.pbkdf2_hmac("sha512", self.password.encode(), _SALT, _ITERATIONS)
        key = _mac(salted, b"Client Key")
        signature = _mac(hashlib.sha512(key).digest(), signed)
        expected = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        if self._name != self.user or base64.b64decode(proof) != expected:
            raise RefusedError
        self.is_done = True
        return b"v=" + base64.b64encode(_mac(_mac(salted, b"Server Key"), signed))


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha512")


def _fields(message: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.split(","))
