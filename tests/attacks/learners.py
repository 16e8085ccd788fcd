"""Hostile requests to learners: a refusal leaves every bit, an answer can be saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong
from tests.attacks.values import HOSTILE, Make
from tests.golden.runs import GAMES

KINDS = {
    "finite": pm.IDS(),
    "linear": pm.LinTS(),
    "duels": pm.DuelingIDS(),
    "contexts": pm.ContextualIDS(),
    "kernel": pm.GPUCB(),
}
MORE: dict[str, Make] = {
    "list of nothing": lambda: [[]],
    "answers too long": lambda: [0.0] * 1000,
    "action 99": lambda: 99,
    "action -1": lambda: -1,
    "actions twice": lambda: [0, 0],
    "foreign decision": lambda: pm.Learner(pm.games.apple_tasting(), seed=9).ask(),
    "masked answer": lambda: np.ma.array([7.0], mask=[True]),
    "1e101": lambda: [1e101],
}


class Victim:
    """A learner that has played a little, made when it is first attacked."""

    def __init__(self, kind: str, template: pm.Learner) -> None:
        self.kind, self.template = kind, template

    @cached_property
    def learner(self) -> pm.Learner:
        return deepcopy(self.template)

    def state(self) -> bytes:
        """Return everything that it knows, bit by bit."""
        self.learner.save("state.json")
        return Path("state.json").read_bytes()


def played(kind: str) -> pm.Learner:
    learner = pm.Learner(GAMES[kind][0](), KINDS[kind], seed=1)
    for _ in range(4):
        decision = learner.ask(**options(learner))
        learner.tell(decision, answer(learner, decision))
    return learner


def options(learner: pm.Learner) -> dict[str, Any]:
    return {"context": 0} if learner.game.traits.contexts else {}


def answer(learner: pm.Learner, decision: pm.Decision) -> Any:
    game: Any = learner.game
    if game.traits.contexts:
        game = game.at(0)
    return [0.25] * game.row_count(decision.action) if not game.traits.finite else signal(game, 0)


def signal(game: Any, action: int) -> Any:
    return game.symbols[action][0]


def ask_for(learner: pm.Learner, value: Any) -> None:
    learner.ask(**options(learner) | {"available": value})


def ask_in(learner: pm.Learner, value: Any) -> None:
    learner.ask(context=value)


def tell_of(learner: pm.Learner, value: Any) -> None:
    learner.tell(value, answer(learner, learner.ask(**options(learner))))


def tell_that(learner: pm.Learner, value: Any) -> None:
    # The question itself changes the learner: it is asked in a copy of which nothing is left.
    twin = deepcopy(learner)
    twin.tell(twin.ask(**options(twin)), value)


def tell_by(learner: pm.Learner, value: Any) -> None:
    twin = deepcopy(learner)
    decision = twin.ask(**options(twin))
    twin.tell(decision, answer(twin, decision), action=value)


def ask_at(learner: pm.Learner, value: Any) -> None:
    learner.ask(**options(learner), now=value)


def settle_at(learner: pm.Learner, value: Any) -> None:
    learner.settle(now=value)


def cancelled(learner: pm.Learner, value: Any) -> None:
    learner.cancel(value)


def amended(learner: pm.Learner, value: Any) -> None:
    learner.amend(value, None)


def amended_to(learner: pm.Learner, value: Any) -> None:
    learner.amend(learner.history[0]["id"], value)


def past_actions(learner: pm.Learner, value: Any) -> None:
    learner.tell_past(value, [[0.25], [0.25]], *([[0, 0]] if options(learner) else []))


def past_answers(learner: pm.Learner, value: Any) -> None:
    learner.tell_past([0, 1], value, *([[0, 0]] if options(learner) else []))


def past_contexts(learner: pm.Learner, value: Any) -> None:
    learner.tell_past([0, 0], [[0.25], [0.25]], value)


def past_counts(learner: pm.Learner, value: Any) -> None:
    told = [0, 0], [signal_or_number(learner)] * 2, *([[0, 0]] if options(learner) else [])
    learner.tell_past(*told, counts=value)


def past_weights(learner: pm.Learner, value: Any) -> None:
    told = [0, 0], [signal_or_number(learner)] * 2, *([[0, 0]] if options(learner) else [])
    learner.tell_past(*told, weights=value)


def past_probabilities(learner: pm.Learner, value: Any) -> None:
    told = [0, 0], [signal_or_number(learner)] * 2, *([[0, 0]] if options(learner) else [])
    learner.tell_past(*told, probabilities=value)


def past_columns(learner: pm.Learner, value: Any) -> None:
    learner.tell_past({"action": [0], "observation": [[0.25]]}, columns=value)


def signal_or_number(learner: pm.Learner) -> Any:
    game: Any = learner.game.at(0) if learner.game.traits.contexts else learner.game
    return signal(game, 0) if game.traits.finite else [0.25] * game.row_count(0)


def won(learner: pm.Learner, value: Any) -> None:
    twin = deepcopy(learner)
    twin.tell(twin.ask(**options(twin)), wins=value, of=5)


def voted(learner: pm.Learner, value: Any) -> None:
    twin = deepcopy(learner)
    twin.tell(twin.ask(**options(twin)), wins=1, of=value)


def moved(learner: pm.Learner, value: Any) -> None:
    learner.moved_to(value)


def saved_to(learner: pm.Learner, value: Any) -> None:
    learner.save(value)


def replayed(learner: pm.Learner, value: Any) -> None:
    pm.Learner.replay(learner.game, learner.policy, 1, value)


def seen(learner: pm.Learner, value: Any) -> None:
    learner.status(context=value)
    learner.confidence_set(context=value)


USES: dict[str, Callable[[pm.Learner, Any], None]] = {
    "ask(available": ask_for,
    "ask(context": ask_in,
    "tell(decision": tell_of,
    "tell(observation": tell_that,
    "tell(action": tell_by,
    "ask(now": ask_at,
    "settle(now": settle_at,
    "cancel(decision": cancelled,
    "amend(decision": amended,
    "amend(observation": amended_to,
    "tell_past(actions": past_actions,
    "tell_past(observations": past_answers,
    "tell_past(contexts": past_contexts,
    "tell_past(counts": past_counts,
    "tell_past(weights": past_weights,
    "tell_past(probabilities": past_probabilities,
    "tell_past(columns": past_columns,
    "tell(wins": won,
    "tell(of": voted,
    "moved_to(game": moved,
    "save(path": saved_to,
    "replay(events": replayed,
    "status(context": seen,
}


def attacks(seed: int) -> Iterator[Attack]:
    for kind in KINDS:
        template = played(kind)
        for use, function in USES.items():
            for value, make in {**HOSTILE, **MORE}.items():
                victim = Victim(kind, template)
                call = partial(attack, victim, function, make)
                kept = victim.state if function is not tell_of else (lambda: None)
                yield Attack(f"{kind}: {use}={value})", call, kept)


def attack(victim: Victim, function: Callable[[pm.Learner, Any], None], make: Make) -> None:
    """Attack a learner; if it answers, it must go on deciding, also from a file."""
    learner = victim.learner
    function(learner, make())
    learner.save("after.json")
    again = pm.Learner.load("after.json").ask(**options(learner))
    here = learner.ask(**options(learner))
    if again.distribution.tolist() != here.distribution.tolist():
        raise Wrong("the saved learner decides differently")
    if not np.isfinite(here.distribution).all():
        raise Wrong(f"distribution {here.distribution.tolist()}")
