"""The page of the HTTP interface is what the OpenAPI file says."""

from tests.tools.api import PAGE, page


def test_the_page_is_made_of_the_openapi_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it with: python -m tests.tools.api"
