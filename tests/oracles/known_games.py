"""The 31 games with known answers."""

import json
from pathlib import Path

import partial_monitoring as pm

FOLDER = Path(__file__).parents[1] / "games"
KNOWN = json.loads((FOLDER / "known.json").read_text())


def load(name: str) -> pm.Game:
    game = pm.load_game(FOLDER / "known" / f"{name}.json")
    assert isinstance(game, pm.Game)
    return game
