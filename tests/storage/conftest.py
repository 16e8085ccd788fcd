"""The storages that one suite is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from partial_monitoring.storage.base import Storage
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.file import LogFile
from partial_monitoring.storage.memory import Memory
from partial_monitoring.storage.opened import database_at
from tests.storage import cluster as postgres

Make = Callable[..., Storage]
"""Opens the storage of a test by its name, again as often as it is called."""

Address = Callable[[], str]
"""Returns the address of another empty database."""

KINDS = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield found


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """Addresses of empty databases, of each kind."""
    numbers = iter(range(100))
    if request.param == "postgres":
        own = request.getfixturevalue("cluster")
        return lambda: str(own.new(f"s{next(numbers)}"))
    return lambda: f"sqlite:///{tmp_path}/{next(numbers)}.db"


def study_of(database: Database, name: str) -> Storage:
    found = database.study(name, {"game": "any"})
    assert found is not None
    return found


@pytest.fixture(params=["memory", "file", *KINDS])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """The storage of a test, of each kind."""
    if request.param == "memory":
        own: defaultdict[str, Storage] = defaultdict(Memory)
        return lambda name="log": own[name]
    if request.param == "file":
        return lambda name="log": LogFile(tmp_path / f"{name}.ndjson")
    where = f"sqlite:///{tmp_path}/log.db"
    if request.param == "postgres":
        where = request.getfixturevalue("cluster").new("suite")
    return lambda name="log": study_of(database_at(where), name)
