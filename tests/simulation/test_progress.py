"""Progress bars count what is done, and show nothing where nobody would see them."""

import pytest

from partial_monitoring.simulation.progress import Progress, round_counter


def test_a_log_has_no_bars(capsys: pytest.CaptureFixture[str]) -> None:
    with round_counter("ids", 10) as advance:
        for t in range(10):
            advance(t + 1)
    with Progress(visible=True) as shown:
        shown.say("a warning.")
    assert capsys.readouterr().err == "pm: a warning.\n"


def test_a_bar_counts_what_was_stored_and_what_is_played() -> None:
    progress = Progress(visible=True)
    progress.visible = True
    with progress:
        progress.add(("game", "θ", "ids"), 10, 5, 3)
        progress.add(("game", "θ", "cbp"), 10, 5, 0)
        progress.advance(("game", "θ", "ids"), 2)
        first, second = progress._bars.tasks
    assert (first.completed, first.total, second.completed) == (4, 5, 5)
    assert first.description == "game [dim]θ[/dim] ids"
    assert "rounds/s in total" in first.fields["note"]
    assert second.fields["note"] == "all stored before"
