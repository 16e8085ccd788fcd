"""Everything that can happen to a learner, in random order, wherever its log is.

A learner with its log in memory, one with a log file and one without a log live through the same.
They must refuse the same, decide the same and know the same, also after they were saved, opened
again or pickled; then the log must be replayed to the same.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import files, identity, snapshots
from partial_monitoring.learner.identity import decision_number, id_of
from partial_monitoring.learner.session import snapshot
from partial_monitoring.learner.states import alike

LINEAR = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]

GAMES: dict[str, Callable[[], Any]] = {
    "pricing": pm.games.dynamic_pricing,
    "linear": lambda: pm.games.linear_bandit(LINEAR),
    "contexts": lambda: pm.ContextualGame(
        [pm.games.linear_bandit(np.eye(2), pm.AllParameters(2))] * 2
    ),
    "duels": lambda: pm.games.dueling([[0.0], [0.5], [1.0]], feedback="sign"),
    "segments": lambda: pm.segments(
        {"small": pm.games.dynamic_pricing(), "large": pm.games.dynamic_pricing()}
    ),
}

MOVES: dict[str, Callable[[], Any]] = {
    "linear": lambda: pm.games.linear_bandit([[1.0, 0.0], [0.5, 0.5], [0.6, 0.6]]),
    "duels": lambda: pm.games.dueling([[0.0], [0.5], [1.0], [0.7]], feedback="sign"),
}

WINDOWS = (None, pm.Window(rounds=4), pm.Window(seconds=30), pm.Window(seconds=30, hold=False))


def known(learner: pm.Learner) -> Any:
    """Return all that a learner knows, without the tokens of ids."""
    return _bare(snapshot(learner._spec, learner._session))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: x for key, x in value.items() if key != "tokens"}
        return {k: decision_number(x) if k == "decision" else _bare(x) for k, x in kept.items()}
    return list(map(_bare, value)) if isinstance(value, list) else value


class Together:
    """Learners that live through the same."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        self.rng, self.name, self.folder, self.now = Random(seed), name, folder, 0.0
        self.game, self.log, self.seed = GAMES[name](), folder / "log", seed
        policy = self.rng.choice([None, pm.IDS(half_life=20)]) if name in MOVES else None
        policy = None if name == "duels" else policy
        window, pending = self.rng.choice(WINDOWS), self.rng.choice(["expected", "ignored"])
        self.options: dict[str, Any] = {"policy": policy, "seed": seed, "window": window}
        self.options["pending"] = pending
        given: dict[str, Any] = {"memory": "memory", "file": self.log, "none": None}
        if self.rng.random() < 0.5:  # amendments need a log
            del given["none"]
        self.all = {
            key: pm.Learner(self.game, storage=own, **self.options) for key, own in given.items()
        }

    @property
    def one(self) -> pm.Learner:
        return self.all["memory"]

    def each(self, call: Callable[[pm.Learner], Any]) -> list[Any]:
        """Return what all learners answer; all refuse it, and then nothing has changed, or none."""
        found, refused = [], []
        for own in self.all.values():
            before = known(own)
            try:
                found.append(call(own))
            except InvalidInput as error:
                refused.append(str(error))
                assert known(own) == before
        assert not refused or len(refused) == len(self.all), refused
        return found

    def numbers(self, *, held: bool | None = None) -> list[int]:
        session = self.one._session
        chosen = [x for x, own in session.open.items() if held in (None, own.answer is not None)]
        return sorted(map(decision_number, chosen))

    def name_in(self, learner: pm.Learner, number: int) -> Any:
        return id_of(learner._session.tokens, learner._session.open, number)

    def shown(self, context: Any, action: int) -> Any:
        game, rng = context.game, self.rng
        if game.traits.signals:
            return rng.choice(list(game.symbols[action]))
        if game.traits.duels:
            return rng.choice([-1.0, 1.0])
        return [round(rng.uniform(-1.0, 1.0), 3) for _ in range(game.row_count(action))]

    # -- what happens ------------------------------------------------------------------------

    def ask(self) -> None:
        given: dict[str, Any] = {"now": self.now, "count": self.rng.randint(1, 3)}
        if self.game.traits.contexts:
            given["context"] = self.rng.choice(self.game.contexts)
            if self.name == "contexts" and self.rng.random() < 0.5:
                own = np.round([[self.rng.uniform(-1, 1) for _ in range(2)] for _ in range(2)], 2)
                given["context"] = {"features": own, "observation_maps": own[:, None, :]}
        elif self.rng.random() < 0.3:
            given["available"] = self.rng.sample(list(self.game.actions), 2)
        made = self.each(lambda own: own.ask(**given))
        rows = [[(x.label, x.round, round(x.probability, 9)) for x in own] for own in made]
        assert all(row == rows[0] for row in rows)

    def tell(self) -> None:
        if self.numbers():
            number, now = self.rng.choice(self.numbers()), self.now
            own = self.one._session.open[self.name_in(self.one, number)]
            seen = self.rng.choice([self.shown(own.context, own.action)] * 8 + [None, "?"])
            votes = {"wins": self.rng.randint(0, 5), "of": 5}
            if self.name == "duels" and self.rng.random() < 0.5:
                self.each(lambda x: x.tell(self.name_in(x, number), now=now, **votes))
            else:
                self.each(lambda x: x.tell(self.name_in(x, number), seen, now=now))

    def tell_again(self) -> None:
        firsts = [own._session.tokens[0][1] for own in self.all.values() if own._session.tokens]
        if firsts:
            number = self.rng.randint(max(firsts), self.one._session.asked - 1)
            self.each(lambda own: own.tell(self.name_in(own, number), None, now=self.now))

    def cancel(self) -> None:
        if self.numbers():
            number = self.rng.choice(self.numbers())
            self.each(lambda own: own.cancel(self.name_in(own, number)))

    def amend(self) -> None:
        session, held = self.one._session, self.numbers(held=True)
        rows = [] if "none" in self.all else [x for x in self.one.history if x["id"] is not None]
        rows = [x for x in rows if decision_number(x["id"]) >= session.before]
        first = max(
            [own._session.tokens[0][1] for own in self.all.values() if session.tokens] + [0]
        )
        numbers = [n for n in (decision_number(x["id"]) for x in rows) if n >= first]
        if held or numbers:
            number = self.rng.choice(held + numbers)
            seen = self.rng.choice(["no", [0.5], 1.0, None])
            self.each(lambda own: own.amend(self.name_in(own, number), seen))

    def reset(self) -> None:
        if self.rng.random() < 0.3:
            self.each(pm.Learner.reset)

    def settle(self) -> None:
        found = self.each(lambda own: own.settle(now=self.now))
        assert len(set(found)) == 1

    def tell_past(self) -> None:
        context = self.one._spec.context(0 if self.game.traits.contexts else None)
        action = self.rng.randrange(context.game.k)
        rows: dict[str, Any] = {"counts": [self.rng.choice([1, 2, 70, 1000])]}
        if self.rng.random() < 0.3:
            rows["weights"] = [self.rng.choice([0.5, 3.0])]
        if self.game.traits.contexts:
            rows["contexts"] = [0]
        seen = self.shown(context, action)
        self.each(lambda own: own.tell_past([action], [seen], **rows))

    def restart(self) -> None:
        for name, own in self.all.items():
            how, path = self.rng.choice(["save", "copy", "pickle", "open"]), self.folder / "saved"
            if how == "save":
                own.save(path)
                storage = {"storage": self.log} if name == "file" else {}
                self.all[name] = pm.Learner.load(path, **storage)
            elif how == "open" and name == "file":
                self.all[name] = pm.Learner(self.game, storage=self.log, **self.options)
            elif how == "pickle":
                self.all[name] = pickle.loads(pickle.dumps(own))
            else:
                self.all[name] = copy.copy(own)

    def move(self) -> None:
        if self.name in MOVES and self.rng.random() < 0.3:
            self.game, self.log = MOVES[self.name](), self.folder / f"log {self.one._session.seq}"
            if self.log.exists():
                return
            storages: dict[str, Any] = {"file": {"storage": self.log}}
            self.all = {
                name: own.moved_to(self.game, **storages.get(name, {}))
                for name, own in self.all.items()
                if name != "none"  # which knows means instead of observations
            }

    def check(self) -> None:
        learners = list(self.all.values())
        assert all(alike(known(self.one), known(own)) for own in learners[1:])
        for own in learners:
            assert [decision_number(x.id) for x in own.open] == self.numbers()

    def check_log(self) -> None:
        own = self.one
        options = {key: x for key, x in self.options.items() if key not in ("policy", "seed")}
        given = self.game, own.policy, self.seed, own.events
        assert alike(known(pm.Learner.replay(*given, check=True, **options)), known(own))
        for rows in ({"history": own}, {"history": own.history, "game": own.game}):
            try:
                pm.off_policy(**rows)
            except InvalidInput as error:
                assert "got none that was answered" in str(error)  # noqa: PT017
        context = {"context": 0} if self.game.traits.contexts else {}
        assert f"Round {own.round}:" in str(own.status(**context))


VERBS: list[Callable[[Together], None]] = [
    *[Together.ask, Together.tell] * 4,
    *[Together.tell_again, Together.cancel, Together.amend, Together.reset, Together.settle],
    *[Together.tell_past, Together.restart, Together.restart, Together.move],
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", GAMES)
def test_wherever_the_log_is_a_learner_knows_the_same(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    monkeypatch.setattr(snapshots, "EVERY", rng.choice([3, 7, 1000]))
    monkeypatch.setattr(files, "REFOLDED", rng.choice([5, 10_000]))
    most = rng.choice([3, 1000])
    for module in (identity, files, snapshots):
        monkeypatch.setattr(module, "MOST_TOKENS", most)
    together = Together(name, seed, tmp_path)
    for _ in range(40):
        together.now += rng.choice([0.0, 1.0, 5.0, 20.0])
        rng.choice(VERBS)(together)
        together.check()
    together.check_log()
