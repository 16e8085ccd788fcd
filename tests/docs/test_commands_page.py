"""The command reference says what the commands say."""

from tests.tools.commands import PAGE, page


def test_the_page_is_up_to_date() -> None:
    """If not: ``python -m tests.tools.commands``, which ``make docs`` runs too."""
    assert PAGE.read_text(encoding="utf-8").split() == page().split()


def test_help_has_no_control_characters() -> None:
    assert page().replace("\n", "").isprintable()
