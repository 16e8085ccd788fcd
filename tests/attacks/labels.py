"""Hostile labels of actions, outcomes, signals, contexts and items, through everything printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from tests.attacks.judge import Attack, Wrong, unclear
from tests.attacks.values import TEXTS, Make

EYE = [[1.0, 0.0], [0.0, 1.0]]
REWARDS = [[0, -1], [-2, 0]]

PLACES: dict[str, Callable[[Any], Any]] = {
    "action": lambda x: pm.FiniteGame(REWARDS, ["ab", "cd"], actions=[x, "other"]),
    "outcome": lambda x: pm.FiniteGame(REWARDS, ["ab", "cd"], outcomes=[x, "other"]),
    "signal": lambda x: pm.FiniteGame(REWARDS, [[x, "b"], ["c", "c"]]),
    "linear action": lambda x: pm.games.linear_bandit(EYE, actions=[x, "other"]),
    "item": lambda x: pm.games.dueling(EYE, items=[x, "other"]),
    "context": lambda x: pm.ContextualGame([pm.games.linear_bandit(EYE)] * 2, contexts=[x, "o"]),
    "point": lambda x: pm.games.kernelized_bandit([[0.1], [0.9]], actions=[x, "other"]),
}


def printed(game: Any) -> str:
    return str(game) + repr(game)


def explained(game: Any) -> str:
    analysis = pm.analyze(game)
    return str(analysis) + repr(analysis) + analysis.explain()


def decided(game: Any) -> str:
    learner = pm.Learner(game, allow_hopeless=True)
    context = {"context": 0} if game.traits.contexts else {}
    decision = learner.ask(**context)
    return "".join((str(decision), repr(decision), decision.explain()))


def status(game: Any) -> str:
    learner = pm.Learner(game, allow_hopeless=True)
    return str(learner.status(**{"context": 0} if game.traits.contexts else {}))


def unknown(game: Any) -> str:
    if game.traits.contexts:
        return game.context_index("missing") and ""
    return game.action_index("missing") and ""


def advised(game: Any) -> str:
    return pm.advise(game).explain()


def in_a_file(game: Any) -> str:
    pm.save_game(game, "game.json")
    again = pm.load_game("game.json")
    if [again.action_label(a) for a in range(2)] != [game.action_label(a) for a in range(2)]:
        raise Wrong("the file has other labels")
    return str(again)


def commanded(command: str, game: Any) -> str:
    pm.save_game(game, "game.json")
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, [command, "game.json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.stderr and (problem := unclear(result.stderr.rstrip("\n"))):
        raise Wrong(problem)
    return result.stdout


USES: dict[str, Callable[[Any], str]] = {
    "str": printed,
    "analyze": explained,
    "decision": decided,
    "status": status,
    "unknown": unknown,
    "advise": advised,
    "file": in_a_file,
    "pm show": partial(commanded, "show"),
    "pm analyze": partial(commanded, "analyze"),
    "pm advise": partial(commanded, "advise"),
}

LETTERS = "\x00\x07\x08\x0c\r\x1b\x7f\x85\x9b\u200e\u202a\u202e\u2066\u2069\ud83d\udfff"
MORE: dict[str, Make] = {
    **TEXTS,
    **{f"letter {ord(x):#x}": partial(str, f"a{x}b") for x in LETTERS},
}


def attacks(seed: int) -> Iterator[Attack]:
    for place, build in PLACES.items():
        for value, make in MORE.items():
            for use, function in USES.items():
                yield Attack(f"{value} as {place}: {use}", partial(through, build, make, function))


def through(build: Callable[[Any], Any], make: Make, use: Callable[[Any], str]) -> str:
    return use(build(make()))
