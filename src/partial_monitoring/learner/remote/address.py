"""The address of a service and the token with which it is used."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import brief

SCHEMES = ("http://", "https://")

TOKEN_VARIABLE = "PM_TOKEN"
"""The environment variable that has the token, unless it is given."""

INSECURE = "insecure"
"""What the address of another machine says after "?" if its plain http is meant."""

VISIBLE = re.compile(r"[!-~]{1,500}")
"""What a token may be: it becomes a part of a header."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}")
"""What a study may be called."""


class Secret(str):
    """A text that does not show itself."""

    def __repr__(self) -> str:
        return "<secret>"


class Address(NamedTuple):
    """Where a service is."""

    host: str
    port: int
    encrypted: bool
    prefix: str
    """The path before "/v1", if the service is not at the root of the host."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.encrypted else ''}://{host}:{self.port}{self.prefix}"


def is_service(given: object) -> bool:
    """Whether the address of a service is given."""
    return isinstance(given, str) and given.lower().startswith(SCHEMES)


def read_address(given: str) -> Address:
    """Return an address such as ``https://decide.corp:8787``.

    Plain http is for this machine, since everybody on the way can read the token; for another one
    the address must end in ``?insecure``.
    """
    if not is_service(given):
        raise InvalidInput(
            f"storage must be the address of a service, as https://decide.corp:8787; got "
            f"{brief(given)}."
        )
    try:
        parts = urlsplit(given)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"storage must be the address of a service: {error}.") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("storage must be an address without a user or a password; use token.")
    if not host or parts.fragment or parts.query not in ("", INSECURE) or not _is_clean(given):
        raise InvalidInput(
            f"storage must be an address such as https://decide.corp:8787; got {brief(given)}."
        )
    encrypted = parts.scheme == "https"
    if not encrypted and parts.query != INSECURE and not _is_here(host):
        raise InvalidInput(
            f"storage must be an https address, since anybody on the way to {brief(host)} could "
            f"read the token; if plain http is meant, end the address in ?{INSECURE}."
        )
    usual = 443 if encrypted else 80
    return Address(host, usual if port is None else port, encrypted, parts.path.rstrip("/"))


def read_token(given: object) -> Secret:
    """Return the token that is given, or else that of the environment."""
    found = os.environ.get(TOKEN_VARIABLE) if given is None else given
    if not found:
        raise InvalidInput(
            f"token must be given with the address of a service, or as {TOKEN_VARIABLE} in the "
            f"environment."
        )
    if not isinstance(found, str) or not VISIBLE.fullmatch(found):  # and it is not shown
        raise InvalidInput(
            'token must be a text such as "pm_...", of at most 500 letters and digits.'
        )
    return Secret(found)


def study_path(name: object) -> str:
    """Return the path of a study."""
    if name is None:
        raise InvalidInput(
            "name must be given with the address of a service, as in name='pricing'."
        )
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"name must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or a "
            f"digit; got {brief(name)}."
        )
    return f"/v1/studies/{quote(name)}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_clean(given: str) -> bool:
    """Whether an address can be a part of a request: visible characters of ASCII."""
    return re.fullmatch(r"[!-~]+", given) is not None
