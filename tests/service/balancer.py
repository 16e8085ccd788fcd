"""One address for several servers."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Balancer:
    """One address for several servers: a connection goes to the next one that accepts it."""

    def __init__(self) -> None:
        self.ports: list[int] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port, self._turn = self._listening.getsockname()[1], 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self._turn += 1
        ports = list(self.ports)
        for number in range(len(ports)):
            try:
                far = socket.create_connection(
                    ("127.0.0.1", ports[(self._turn + number) % len(ports)])
                )
            except OSError:
                continue
            threading.Thread(target=self._copy, args=(far, near), daemon=True).start()
            self._copy(near, far)
            return
        near.close()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for own in (source, target):
            with suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)
            own.close()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
