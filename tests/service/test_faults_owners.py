"""Several processes that want one study: refused, or one after the other."""

from __future__ import annotations

import signal
from pathlib import Path
from time import monotonic, sleep

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import StorageError
from tests.service import crash, load
from tests.service.http_client import Client
from tests.service.load import verify
from tests.storage.cluster import Cluster


def test_a_file_has_one_owner(farm: crash.Farm, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/shop.db"
    own, other = farm.serving(tmp_path, address), farm.serving(tmp_path, address)
    own.start()
    own.ready()
    client = Client(own.address, own.token)
    client.create("pricing")
    other.start()
    assert other.ended() == 2
    assert f"process {own.pid}, which can be reached at {own.address};" in other.printed
    assert len(other.printed.splitlines()) == 1
    with pytest.raises(StorageError, match=f"can be reached at {own.address}; one process writes"):
        pm.Learner(storage=address, name="pricing")
    [asked] = client.ask("pricing")
    notebook = pm.Learner(storage=own.address, name="pricing", token=own.token)  # as it was told
    assert notebook.ask().number == asked["number"] + 1
    notebook.close()
    own.kill()
    learner = pm.Learner(storage=address, name="pricing")  # a lock does not outlive its process
    learner.tell(asked["id"], "yes")
    other.start()
    assert other.ended() == 2
    assert "reached at" not in other.printed.splitlines()[-1]
    learner._storage._database.close()


def stopped_in_a_transaction(own: crash.Served, cluster: Cluster) -> None:
    """Freeze a server while it holds the row of a study."""
    import psycopg

    sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
    more = " AND now() - state_change > interval '0.2 s' AND query LIKE '%pm_turn%'"
    with psycopg.connect(cluster.address("public"), autocommit=True) as watching:
        for _ in range(200):
            own.signal(signal.SIGSTOP)
            sleep(0.3)
            if watching.execute((sql + more).encode()).fetchone() != (0,):
                return
            own.signal(signal.SIGCONT)
            sleep(0.003)
    pytest.fail("the server was never stopped in a transaction")


@pytest.mark.parametrize("seconds", [1.5, pytest.param(0.0, marks=pytest.mark.nightly)])
def test_a_frozen_owner_is_overtaken_and_rejoins(
    seconds: float, farm: crash.Farm, crashable: Cluster, tmp_path: Path
) -> None:
    """The server of the database ends its transaction, after 10 seconds if nothing else is said."""
    address = crashable.new(f"frozen{seconds:.0f}")
    given = f"{address}%20-cidle_in_transaction_session_timeout%3D{1000 * seconds:.0f}"
    servers = [farm.serving(tmp_path, given if seconds else address) for _ in range(2)]
    for own in servers:
        own.start()
        own.ready()
    frozen, other = servers
    token = frozen.token
    Client(frozen.address, token).create("pricing")
    one = load.playing([frozen.address], token, count=4)
    two = load.playing([other.address], token, count=4, first=4)
    with one as stuck, two as free:
        free.wait(20)
        stopped_in_a_transaction(frozen, crashable)
        begun = monotonic()
        free.wait(40)
        assert monotonic() - begun < 15.0
        before = stuck.count
        frozen.signal(signal.SIGCONT)
        stuck.wait(40)
        assert stuck.count >= before + 40
        free.wait(20)
    assert set(free.statuses) <= {200, 503}
    stuck.players += free.players
    verify(address, stuck)
