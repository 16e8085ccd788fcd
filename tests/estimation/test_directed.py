"""Directed information by compiled functions, against the programs that define it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.linear.directed import by_programs
from partial_monitoring.numerics.compiled import directed as compiled
from partial_monitoring.numerics.compiled import plausible
from tests.oracles.bodies import KINDS
from tests.oracles.linear_data import Data, learn, some_data
from tests.oracles.linear_games import CUT, FEATURES, GAMES

EXACT, RELAXED = pm.information.directed, pm.information.directed_relaxed


def compare(game: Any, found: Any) -> None:
    for information, relaxed in ((EXACT, False), (RELAXED, True)):
        expected = by_programs(found, relaxed=relaxed)
        assert information(game, found)[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_random_games(kind: str) -> None:
    for seed in range(15):
        data = some_data(seed, kind)
        for regularization in (1.0, 0.05):
            compare(data.game, learn(data, pm.IDS(regularization=regularization)))


@pytest.mark.parametrize("game", (GAMES | CUT).values(), ids=(GAMES | CUT).keys())
def test_degenerate_games(game: Any) -> None:
    rng = np.random.default_rng(5)
    for count in (0, 1, 3, 10, 100):
        played = rng.integers(game.k, size=count)
        compare(game, learn(Data(game, played, rng.normal(size=(count, game.m)) / 3)))


def test_one_answer_for_each_replicate() -> None:
    policy, game, rng = pm.IDS(information=EXACT), CUT["ball"], np.random.default_rng(0)
    state = policy.init(game, 4)
    for _ in range(6):
        state = policy.update(state, rng.integers(6, size=4), rng.normal(size=(4, 1)))
    found = policy.confidence_set(state)
    together = EXACT(game, found)
    for row in range(4):
        assert (EXACT(game, found.of(np.arange(4) == row))[0] == together[row]).all()


def test_sets_that_compiled_functions_do_not_know() -> None:
    pairs = pm.Product(pm.Ball([0.0], 1.0), pm.Ball([0.0, 0.0], 1.0))
    game = pm.games.linear_bandit(FEATURES, pairs)
    rng = np.random.default_rng(2)
    found = learn(Data(game, np.arange(6), rng.normal(size=(6, 1))))
    compare(game, found)
    assert EXACT(game, found).any()


@pytest.mark.parametrize("left", [compiled.UNPROVEN, compiled.IS_PLAUSIBLE])
def test_what_compiled_functions_leave_open(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs decide it, with the same answer."""
    asked = []
    fill = compiled.fill_directed

    def open_once(*arguments: Any) -> Any:
        found = fill(*arguments)
        room = arguments[-2]
        if found[0] == compiled.DONE and not asked:
            asked.append(left)
            room.plausible[2] = plausible.OPEN
            return left, 2
        return found

    for name in ("ball", "box", "simplex"):
        game = CUT[name]
        rng = np.random.default_rng(7)
        found = learn(Data(game, np.arange(6), rng.normal(size=(6, game.m)) / 3))
        expected = EXACT(game, found)
        asked.clear()
        monkeypatch.setattr(compiled, "fill_directed", open_once)
        assert EXACT(game, found)[0] == pytest.approx(expected[0], rel=1e-6, abs=1e-9)
        monkeypatch.setattr(compiled, "fill_directed", fill)
        assert asked


def test_whether_actions_may_be_best() -> None:
    """Against one conic program each."""
    answers = []
    for kind, seed in product(KINDS, range(12)):
        data = some_data(seed, kind)
        found: Any = learn(data, pm.IDS(regularization=0.1))
        design, beta = found.data.design, float(found.beta[0])
        cut = found.cut.bare(design.slopes.shape[1])
        room = plausible.make_room(cut, data.game.k, design.rank)
        rewards = np.array(design.slopes), np.array(design.offsets)
        known = found.data.gram[0], design.regularization, found.local_center[0], beta
        for a in range(data.game.k):
            if a in design.pareto:
                answer = plausible.is_plausible(*rewards, cut, *known, a, room)
                answers.append(answer)
                if answer != plausible.OPEN:
                    own = found.may_be_best(np.array([a]))[0]
                    assert bool(answer) == own, (kind, seed, a)
    assert np.mean(np.array(answers) == plausible.OPEN) < 0.02
    assert {plausible.YES, plausible.NO} <= set(answers)
