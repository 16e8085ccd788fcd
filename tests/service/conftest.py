"""What tests share: a process that starts servers quickly, a cluster, a page and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.service import crash, page_site
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


@pytest.fixture(scope="session")
def page_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service with a few studies, which tests of the page may play but not change otherwise."""
    with page_site.serving(tmp_path_factory.mktemp("page")) as own:
        game = {"named": "dynamic_pricing"}
        page_site.api(own, "/v1/studies", {"name": "pricing", "game": game, "probe": 0.1})
        page_site.played(own, "pricing", 40)
        for name in ("apple_tasting", "survey", "linear_bandit"):
            page_site.api(own, "/v1/studies", {"name": name, "game": {"named": name}})
        yield own


@pytest.fixture(scope="session")
def page_browser() -> Iterator[Any]:
    """A browser; tests skip where there is none."""
    with page_site.browsing() as own:
        yield own
