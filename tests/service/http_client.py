"""Requests to a server of the tests, and the server."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

GAME = {"named": "dynamic_pricing"}


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Calls with a token, each over a connection of its own."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address, self.token = address, token
        self.place = urlsplit(address)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        text = self.token if token is None else token
        sent = {} if not text else {"Authorization": f"Bearer {text}"}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = HTTPConnection(self.place.hostname or "", self.place.port, timeout=30)
        try:
            connection.request(method, path, data, sent | dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def raw(self, data: bytes, seconds: float = 30.0) -> bytes:
        """Send bytes, and return all that comes until the connection is closed."""
        with self.connected(seconds) as found:
            found.sendall(data)
            return received(found)

    def connected(self, seconds: float = 30.0) -> socket.socket:
        return socket.create_connection((self.place.hostname, self.place.port), timeout=seconds)

    def create(self, name: str, game: Any = None, **more: Any) -> Any:
        reply = self("POST", "/v1/studies", {"name": name, "game": game or GAME, **more})
        assert reply.status == 201, reply.body
        return reply.json

    def ask(self, name: str, **given: Any) -> Any:
        reply = self("POST", f"/v1/studies/{name}/ask", given)
        assert reply.status == 200, reply.body
        return reply.json["decisions"]


def received(found: socket.socket) -> bytes:
    parts = []
    try:
        while part := found.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)
