"""31 games with known answers, as game files."""

import pytest

from tests.oracles.known_games import FOLDER, KNOWN, load


def test_there_are_31() -> None:
    assert len(KNOWN) == 31
    assert {path.stem for path in (FOLDER / "known").glob("*.json")} == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_dimension_and_rank(name: str) -> None:
    game = load(name)
    assert game.dimension == KNOWN[name]["dimension"]
    assert game.rank == KNOWN[name]["rank"]
