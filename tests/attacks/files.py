"""Files that are malformed, truncated, deep or huge: games, tables, experiments, results."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong
from tests.attacks.spoiling import GARBAGE, Spoiled, damaged, spoiled_leaves

GAMES: dict[str, Callable[[], Any]] = {
    "finite": pm.games.apple_tasting,
    "linear": pm.games.linear_bandit,
    "box": lambda: pm.games.linear_bandit(np.eye(2), pm.Box([0, 0], [1, 1])),
    "polytope": lambda: pm.games.linear_bandit(np.eye(2), pm.Polytope(np.eye(2), [1, 1])),
    "duels": pm.games.dueling,
    "contexts": pm.games.survey,
    "kernel": lambda: pm.games.kernelized_bandit([[0.1], [0.9]]),
    "sum of kernels": lambda: pm.games.kernelized_bandit(
        [[0.1], [0.9]], kernel=pm.kernels.Polynomial() + pm.kernels.Periodic()
    ),
}
EXPERIMENT = """horizon = 3
seeds = 2
[games.apples]
game = "apple_tasting"
options = { lost_sale = 2.0 }
theta = [0.7, 0.3]
[policies.mine]
policy = "ids"
options = { gap = "mean" }
"""
EXPERIMENTS = (
    *('horizon = "x"', "horizon = nan", "horizon = 0", "seeds = -1", "seeds = []", "seeds = inf"),
    *("games = 3", "games = [[]]", "games = [3]", "[games.x]\ngame = {a = 1}", "policies = {}"),
    *(
        "[policies.x]\npolicy = []",
        "[policies.x]\noptions = 3",
        'name = "../x"',
        'name = "a\\u0000"',
    ),
    *('name = "a\\u0000"', "checkpoints = [[1]]", "checkpoints = [9]", "noise = 3", "unknown = 1"),
    *(
        '[games.x]\ngame = "missing.json"',
        '[games.x]\ntheta = "nowhere"',
        "x = 2020-01-01",
        "horizon = 1e3",
    ),
    *('"\\u001b[31m" = 1', '[games."\\u001b[31m"]\ngame = 3', "horizon = 99999999999999999999"),
)
HUGE = {
    "signals": {"rewards": [[0] * 6000], "signals": [list(range(6000))]},
    "degree": {"kernel": {"type": "polynomial", "degree": 10**9}, "points": [[0.1], [0.5]]},
    "grid": {
        "kernel": {"type": "linear"},
        "points": {"low": [0] * 9, "high": [1] * 9, "per_axis": 99},
    },
    "simplex": {
        "features": [[1.0]],
        "observation_maps": [[]],
        "parameters": {"type": "simplex", "d": 10**9},
    },
}


def read(reader: Callable[[Any], object], name: str, content: Spoiled) -> None:
    """Write a file, read it, and print what was read."""
    Path(name).write_bytes(content())
    str(reader(name))


def read_game(name: str, content: Spoiled) -> None:
    """Read a game; one that is accepted has finite numbers and a file of its own."""
    Path(name).write_bytes(content())
    game = pm.load_game(name)
    str(game)
    pm.save_game(game, "again.json")
    if str(pm.load_game("again.json")) != str(game):
        raise Wrong("the file of what was read holds another game")


def read_result(original: bytes, content: Spoiled) -> None:
    """Read a result; what is accepted holds the numbers that were saved."""
    Path("result.parquet").write_bytes(original)
    kept = pm.Result.load("result.parquet")
    Path("result.parquet").write_bytes(content())
    found = pm.Result.load("result.parquet")
    for name in kept.policies:
        if not np.array_equal(found.regret[name], kept.regret[name]):
            raise Wrong("other numbers were read")


def attacks(seed: int) -> Iterator[Attack]:
    rng = random.Random(seed)
    readers: dict[str, tuple[str, Callable[[Any], object]]] = {
        "game.json": ("load_game", pm.load_game),
        "game.toml": ("load_game", pm.load_game),
        "game.csv": ("load_game", pm.load_game),
        "table.csv": ("from_csv", pm.from_csv),
        "experiment.toml": ("load_experiment", pm.load_experiment),
        "learner.json": ("Learner.load", pm.Learner.load),
        "result.parquet": ("Result.load", pm.Result.load),
    }
    for name, (reader, function) in readers.items():
        for kind, content in GARBAGE.items():
            yield Attack(
                f"{reader}({name}: {kind})", partial(read, function, name, partial(bytes, content))
            )
        for place in (".", "/dev/null", "missing", "x" * 400, "a\0b"):
            yield Attack(f"{reader}({place[:20]!r})", partial(function, place))
    for kind, build in GAMES.items():
        pm.save_game(build(), "valid.json")
        content = Path("valid.json").read_bytes()
        changes = [*spoiled_leaves(json.loads(content)), *damaged(content, rng, cuts=10, flips=20)]
        for how, changed in changes:
            yield Attack(f"{kind} game: {how}", partial(read_game, "game.json", changed))
    for kind, data in HUGE.items():
        huge = partial(bytes, json.dumps(data).encode())
        yield Attack(f"huge {kind}", partial(read_game, "game.json", huge))
    lines: list[tuple[str, Spoiled]] = []
    for line in EXPERIMENTS:
        lines.append((f"line {line}", partial(bytes, f"{line}\n{EXPERIMENT}".encode())))
        lines.append((f"only {line}", partial(bytes, line.encode())))
    for how, changed in [*lines, *damaged(EXPERIMENT.encode(), rng, cuts=20, flips=60)]:
        call = partial(read, pm.load_experiment, "experiment.toml", changed)
        yield Attack(f"experiment: {how}", call)
    pm.simulate("apple_tasting", "ids", [0.7, 0.3], horizon=4, seeds=2).save("valid.parquet")
    content = Path("valid.parquet").read_bytes()
    for how, changed in damaged(content, rng, cuts=20, flips=150):
        yield Attack(f"result: {how}", partial(read_result, content, changed))
