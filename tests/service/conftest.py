"""One service with a page, and one browser, for all tests of the page: each takes seconds."""

import pytest

from tests.service.page_site import api, browsing, played, serving


@pytest.fixture(scope="session")
def page_service(tmp_path_factory):
    """A service with a few studies, which tests may play but not change otherwise."""
    with serving(tmp_path_factory.mktemp("page")) as own:
        game = {"named": "dynamic_pricing"}
        api(own, "/v1/studies", {"name": "pricing", "game": game, "probe": 0.1})
        played(own, "pricing", 40)
        for name in ("apple_tasting", "survey", "linear_bandit"):
            api(own, "/v1/studies", {"name": name, "game": {"named": name}})
        yield own


@pytest.fixture(scope="session")
def page_browser():
    """A browser; tests skip where there is none."""
    with browsing() as own:
        yield own
