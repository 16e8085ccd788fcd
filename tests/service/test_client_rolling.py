"""Two servers on one PostgreSQL are restarted one after the other: no call fails."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.storage.opened import database_at
from tests.storage import cluster as postgres

server = pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)


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


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield found


def test_a_rolling_restart(cluster: postgres.Cluster) -> None:
    address, balancer = cluster.new("rolling"), Balancer()
    running = [server.started(address) for _ in range(2)]
    served = [own.__enter__() for own in running]
    balancer.ports = [own._socket.getsockname()[1] for own in served]
    place: dict[str, Any] = {"storage": f"http://127.0.0.1:{balancer.port}", "name": "pricing"}
    place["token"] = served[0].token
    pm.Learner("dynamic_pricing", seed=1, **place).round
    client, ending = pm.Learner(**place), threading.Event()
    names: list[Any] = []
    errors: list[Exception] = []

    def play() -> None:
        try:
            while not ending.is_set():
                decision = client.ask()
                names.append(decision.id)
                client.tell(decision, "yes")
        except Exception as error:
            errors.append(error)
        client.close()

    threads = [threading.Thread(target=play) for _ in range(4)]
    for own in threads:
        own.start()
    for number in range(2):
        running[number].__exit__(None, None, None)
        before = len(names)
        while len(names) < before + 20 and not errors:
            ending.wait(0.01)
        running[number] = server.started(address)
        new = running[number].__enter__()
        balancer.ports[number] = new._socket.getsockname()[1]
    ending.set()
    for own in threads:
        own.join()
    assert errors == []
    assert Counter(names).most_common(1)[0][1] == 1
    client.close()
    for serving in running:
        serving.__exit__(None, None, None)
    balancer.close()
    learner = pm.Learner(storage=address, name="pricing")
    history = learner.history
    database_at(address).close()
    assert len(names) > 40
    assert [row["id"] for row in history] == sorted(names, key=lambda x: int(x.split("-")[1]))
    assert all(row["observation"] == "yes" for row in history)
