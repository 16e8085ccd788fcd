"""One study in two notebooks, behind a server, in PostgreSQL and back: the same decisions."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.storage.copying import copied
from partial_monitoring.storage.opened import database_at
from tests.service.balancer import Balancer
from tests.storage import cluster as postgres

server = pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)

TRUTH = [0.2, 0.5, 0.3]


class Shop:
    """Customers that come one after the other: what each decision was, wherever it was made."""

    def __init__(self, game: Any) -> None:
        self._game, self._rng = game, np.random.default_rng(7)
        self.made: list[tuple[str, float, bool]] = []
        self.waiting: list[Any] = []

    def visit(self, *learners: Any, count: int) -> None:
        """Let customers come, to one learner after the other; answers come late, out of order."""
        for number in range(count):
            learner = learners[number % len(learners)]
            decision = learner.ask()
            self.made.append((decision.label, decision.probability, decision.probed))
            self.waiting.append((decision.id, decision.action))
            while len(self.waiting) > 3:
                place = int(self._rng.integers(len(self.waiting)))
                name, action = self.waiting.pop(place)
                learner.tell(name, self._game.signal(action, self._rng.choice(3, p=TRUTH)))


@contextmanager
def closed_after(address: str) -> Iterator[Any]:
    """A database that no longer belongs to this process when the notebooks are closed."""
    found = database_at(address)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield found


def move(source: str, target: str) -> None:
    with closed_after(source) as one, closed_after(target) as two:
        copied(one, two, "pricing")


def test_everywhere_the_same(tmp_path: Path, cluster: postgres.Cluster) -> None:
    game = pm.games.dynamic_pricing()
    options: dict[str, Any] = {"seed": 11, "probe": 0.1}
    file, back = (f"sqlite:///{tmp_path}/{name}.db" for name in ("shop", "back"))
    shared, shop = cluster.new("everywhere"), Shop(game)

    with closed_after(file):
        notebooks = [
            pm.Learner(game, **options, storage=file, name="pricing"),
            pm.Learner(storage=file, name="pricing"),
        ]
        shop.visit(*notebooks, count=20)
    for _ in range(2):  # a server, and the same one after a restart
        with server.started(file) as own:
            place = {"storage": own.address, "token": own.token, "name": "pricing"}
            shop.visit(pm.Learner(**place), pm.Learner(**place), count=15)
    move(file, shared)
    with closed_after(shared):
        shop.visit(pm.Learner(storage=shared, name="pricing"), count=10)
    with server.started(shared) as one, server.started(shared) as two:
        token = one.token
        clients = [
            pm.Learner(storage=own.address, token=token, name="pricing") for own in (one, two)
        ]
        shop.visit(*clients, count=20)
    move(shared, back)
    with server.started(back) as own:
        client = pm.Learner(storage=own.address, token=own.token, name="pricing")
        shop.visit(client, count=100)
        rounds = client.round
    with closed_after(back):
        last = pm.Learner(storage=back, name="pricing")
        shop.visit(last, count=10)

    memory, alone = pm.Learner(game, **options), Shop(game)
    alone.visit(memory, count=190)
    assert shop.made == alone.made
    assert len({label for label, *_ in shop.made}) > 1
    assert rounds == 178
    assert last.round == memory.round == 188
    assert (last.confidence_set().estimate == memory.confidence_set().estimate).all()


def test_a_rolling_restart(cluster: postgres.Cluster) -> None:
    """Two servers on one database are restarted one after the other: no call fails."""
    address, balancer = cluster.new("rolling"), Balancer()
    running = [server.started(address) for _ in range(2)]
    served = [own.__enter__() for own in running]
    balancer.ports = [own._socket.getsockname()[1] for own in served]
    place: dict[str, Any] = {"storage": f"http://127.0.0.1:{balancer.port}", "name": "pricing"}
    place["token"] = served[0].token
    pm.Learner("dynamic_pricing", seed=1, **place)  # creates it
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
