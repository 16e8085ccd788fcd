"""What tests of faults share: a process that starts servers quickly, and a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service import crash
from tests.storage import cluster as postgres


@pytest.fixture(scope="session")
def nursery() -> Iterator[crash.Farm]:
    pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)
    with crash.farm() as found:
        yield found


@pytest.fixture
def farm(nursery: crash.Farm) -> Iterator[crash.Farm]:
    """Starts servers, which are killed at the end of the test."""
    yield nursery
    nursery.clear()


@pytest.fixture(scope="session")
def crashable() -> Iterator[postgres.Cluster]:
    """A cluster that a test may stop and start."""
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield found
