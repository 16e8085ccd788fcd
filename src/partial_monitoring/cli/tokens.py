"""The commands ``pm tokens``: who may use a service."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import click

from partial_monitoring.errors import InvalidInput, StorageError, brief

UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class Source(Protocol):
    """Where tokens are kept: a database, or a service that has it open."""

    def create(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return a new token, with its text."""

    def list(self) -> list[dict[str, Any]]:
        """Return all tokens."""

    def revoke(self, name: str) -> dict[str, Any]:
        """Let one count no longer."""


@click.group("tokens")
def tokens() -> None:
    """Say who may use a service, at its address or in its database.

    \b
    pm tokens create http://127.0.0.1:8787 --role play --study pricing --label shop --expires 90d
    pm tokens list http://127.0.0.1:8787
    pm tokens revoke http://127.0.0.1:8787 3f0c2a91b4d7
    pm tokens create sqlite:///shop.db --role admin        if nobody has one; the service must stop

    A service takes the token of an administrator from the environment, PM_TOKEN. Roles: read (look
    at everything), play (also ask and tell), admin (also change studies and tokens).
    """


@tokens.command("create")
@click.argument("address")
@click.option("--role", default="play", show_default=True, help="read, play or admin.")
@click.option("--study", help="Only this study.")
@click.option("--label", default="", help="What it is for.")
@click.option("--expires", help="How long it is valid: 12h, 90d; without an end unless given.")
def create(address: str, role: str, study: str | None, label: str, expires: str | None) -> None:
    """Create a token, and print it, once."""
    given: dict[str, Any] = {"role": role, "label": label}
    if study is not None:
        given["study"] = study
    if expires is not None:
        given["expires_at"] = (datetime.now(UTC) + duration(expires)).timestamp()
    click.echo(source(address).create(given)["token"])


@tokens.command("list")
@click.argument("address")
def list_tokens(address: str) -> None:
    """List all tokens; secrets are nowhere."""
    for own in source(address).list():
        scope = own["study"] or "all studies"
        click.echo(f"{own['id']}  {own['role']:5}  {scope}  {state(own)}  {own['label']}".rstrip())


@tokens.command("revoke")
@click.argument("address")
@click.argument("token")
def revoke(address: str, token: str) -> None:
    """Let a token count no longer, within a second."""
    found = source(address).revoke(token)
    click.echo(f"{found['id']} is revoked.")


def state(own: dict[str, Any]) -> str:
    """Return whether a token counts, in words."""
    for name, word in (("revoked_at", "revoked"), ("expires_at", "until")):
        if own[name] is not None:
            return f"{word} {datetime.fromtimestamp(own[name], UTC):%Y-%m-%d %H:%M} UTC"
    return "never expires"


def duration(text: str) -> timedelta:
    """Read a number of minutes, hours, days or weeks.

    >>> duration("90d")
    datetime.timedelta(days=90)
    """
    match = re.fullmatch(r"([0-9]{1,6})([mhdw])", text)
    if match is None:
        raise InvalidInput(f"--expires must be such as 30m, 12h, 90d or 4w; got {brief(text)}.")
    return timedelta(seconds=int(match[1]) * UNITS[match[2]])


def source(address: str) -> Source:
    """Return where the tokens of an address are kept."""
    return Remote(address) if address.startswith(("http://", "https://")) else Local(address)


class Local:
    """The tokens of a database that no service has open."""

    def __init__(self, address: str) -> None:
        from partial_monitoring.service.http.tokens import Tokens
        from partial_monitoring.storage.opened import database_at

        self._database = database_at(address)
        self._tokens = Tokens(self._database.tokens, watch=False)

    def create(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return a new token, with its text."""
        token, text = self._refusing(lambda: self._tokens.create(given.pop("role"), **given))
        return {**token.public(), "token": text}

    def list(self) -> list[dict[str, Any]]:
        """Return all tokens."""
        return [own.public() for own in self._tokens.list()]

    def revoke(self, name: str) -> dict[str, Any]:
        """Let one count no longer."""
        found: dict[str, Any] = self._refusing(lambda: self._tokens.revoke(name)).public()
        return found

    def _refusing(self, call: Any) -> Any:
        from partial_monitoring.service.problems import Problem

        try:
            return call()
        except Problem as problem:
            raise InvalidInput(problem.detail) from None


class Remote:
    """The tokens of a service."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._token = os.environ.get("PM_TOKEN", "")
        if not self._token:
            raise InvalidInput("the environment must have the token of an administrator, PM_TOKEN.")

    def create(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return a new token, with its text."""
        return self._asked("POST", "/v1/tokens", given)

    def list(self) -> list[dict[str, Any]]:
        """Return all tokens."""
        found: list[dict[str, Any]] = self._asked("GET", "/v1/tokens")["tokens"]
        return found

    def revoke(self, name: str) -> dict[str, Any]:
        """Let one count no longer."""
        if not re.fullmatch(r"[0-9A-Za-z]{1,64}", name):
            raise InvalidInput(f"there is no token {brief(name)}.")
        return self._asked("DELETE", f"/v1/tokens/{name}")

    def _asked(self, method: str, path: str, given: Any = None) -> dict[str, Any]:
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        body = None if given is None else json.dumps(given).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = Request(f"{self._address}{path}", body, headers, method=method)
        try:
            with urlopen(request, timeout=10) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except HTTPError as error:
            try:
                said = json.load(error)["detail"]
            except (ValueError, KeyError, TypeError):
                said = f"answered with {error.code}."
            raise InvalidInput(f"{self._address}: {said}") from None
        except (URLError, OSError, ValueError) as error:
            reason = str(getattr(error, "reason", error)).rstrip(".")
            raise StorageError(f"{self._address}: cannot be reached: {reason}.") from None
