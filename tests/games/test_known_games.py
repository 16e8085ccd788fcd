"""31 games with known answers, as game files."""

import json
from pathlib import Path

import pytest

import partial_monitoring as pm

HERE = Path(__file__).parent
KNOWN = json.loads((HERE / "known.json").read_text())


def load(name: str) -> pm.Game:
    game = pm.load_game(HERE / "known" / f"{name}.json")
    assert isinstance(game, pm.Game)
    return game


def test_there_are_31() -> None:
    assert len(KNOWN) == 31
    assert {path.stem for path in (HERE / "known").glob("*.json")} == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_dimension_and_rank(name: str) -> None:
    game = load(name)
    assert game.dimension == KNOWN[name]["dimension"]
    assert game.rank == KNOWN[name]["rank"]
