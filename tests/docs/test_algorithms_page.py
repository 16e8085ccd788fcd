"""The page of all algorithms says what their cards say."""

from tests.tools.algorithms import PAGE, PAGES, page


def test_the_page_is_up_to_date() -> None:
    """If not: ``python -m tests.tools.algorithms``, which ``make docs`` runs too."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_page_of_an_algorithm_is_linked() -> None:
    pages = {path.stem for path in PAGE.parent.glob("*.md")} - {"index"}
    assert pages == set(PAGES.values())
