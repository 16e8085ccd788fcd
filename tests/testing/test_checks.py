"""The checks that ship with the library pass for all of it, and find what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies import POLICIES
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.testing import games

SETS = {
    "all": pm.AllParameters(3),
    "ball": pm.Ball([1, 0, 2], 0.7),
    "box": pm.Box([-1, 0, 0], [1, 2, 0]),
    "simplex": pm.Simplex(4),
    "polytope": pm.Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]),
    "segment": pm.Polytope([[1, 0], [-1, 0]], [1, 0], [[1, 1]], [1]),
    "point": pm.Box([1, 2], [1, 2]),
}


@pytest.mark.parametrize("parameters", SETS.values(), ids=SETS.keys())
def test_every_parameter_set_passes(parameters: pm.ParameterSet) -> None:
    pm.testing.check_parameter_set(parameters)


@pytest.mark.parametrize("name", pm.games.GAMES)
def test_every_game_passes(name: str) -> None:
    pm.testing.check_game(pm.games.make(name))


def test_contexts_are_checked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    game = pm.games.survey()
    other = pm.games.survey(answer_rate=0.5)
    real = games.game_from_dict
    monkeypatch.setattr(
        games, "game_from_dict", lambda data: other if "contexts" in data else real(data)
    )
    with pytest.raises(AssertionError, match="a game file does not give the same contexts again"):
        pm.testing.check_game(game)


@pytest.mark.parametrize("rounds", [8, pytest.param(30, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_passes(name: str, rounds: int) -> None:
    pm.testing.check_policy(POLICIES[name](), rounds=rounds)


# -- what is wrong is found ------------------------------------------------------------------------


class Wrong(IDS):
    """IDS with one thing broken."""

    def changed(self, state: Any, choice: Any) -> Any:
        return choice

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Any:
        return self.changed(state, super().decide(state, uniforms, available))


class OutOfRange(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, action=choice.action + 99)


class NotSummingToOne(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, distribution=choice.distribution * 0.9)


class Negative(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        mu = choice.distribution.copy()
        mu[:, 0] -= 1.5
        mu[:, -1] += 1.5
        return replace(choice, distribution=mu)


class RulesItselfOut(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        mu = np.roll(choice.distribution, 1, axis=1)
        return replace(choice, distribution=np.where(mu == mu.max(), 1.0, 0.0)[:, ::-1])


class Scattered(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, action=choice.action[:, None])


class Global(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        np.random.random()  # noqa: NPY002
        return choice


class Liar(Wrong):
    """Says that all actions are as likely, and plays the first."""

    def changed(self, state: Any, choice: Any) -> Any:
        mu = np.full_like(choice.distribution, 1 / choice.distribution.shape[1])
        return replace(choice, action=np.zeros_like(choice.action), distribution=mu)


class Wide(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, distribution=np.tile(choice.distribution, 2) / 2)


class Gains(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, gaps=choice.gaps - 99.0)


class Fractions(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, action=choice.action + 0.0)


class Lost(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        return replace(choice, distribution=choice.distribution * np.nan)


class Scribbles(IDS):
    def update(self, state: Any, action: Any, observation: Any, context: Any = None) -> Any:
        following = super().update(state, action, observation, context)
        observation[:] = 7.0
        return following


class Touches(Wrong):
    def changed(self, state: Any, choice: Any) -> Any:
        state.estimate.means[:] += 1e-9
        return choice


class Crowded(Wrong):
    """Plays by how many replicates there are."""

    def changed(self, state: Any, choice: Any) -> Any:
        mu = np.zeros_like(choice.distribution)
        mu[:, 0 if len(mu) == 1 else -1] = 1.0
        return replace(choice, action=mu.argmax(axis=1), distribution=mu)


@dataclass(frozen=True)
class Forgetful(Wrong):
    """Answers from a counter instead of the state."""

    asked: list[int] = field(default_factory=list)

    def changed(self, state: Any, choice: Any) -> Any:
        self.asked.append(1)
        mu = np.zeros_like(choice.distribution)
        mu[:, len(self.asked) % 2] = 1.0
        return replace(choice, action=mu.argmax(axis=1), distribution=mu)


class Deaf(IDS):
    """Does not listen to what is available."""

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Any:
        return super().decide(state, uniforms)


class Picky(IDS):
    def init(self, game: Any, replicates: int) -> Any:
        raise pm.errors.InvalidInput("no game is good enough")


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (OutOfRange(), "it plays an action that does not exist"),
        (NotSummingToOne(), "its distribution does not sum to 1"),
        (Negative(), "its distribution has negative entries"),
        (Scattered(), "its actions have shape"),
        (Liar(), "it plays actions more often than its distribution says"),
        (Wide(), "its distribution has shape"),
        (Gains(), "its gaps has negative entries"),
        (Fractions(), "its actions are not integers"),
        (Lost(), "its distribution is not finite"),
        (Scribbles(), "it changes the observation that it is handed"),
        (Global(), "it uses NumPy's global generator"),
        (Touches(), "it changes the state that it is handed"),
        (Crowded(), "a replicate plays differently when others run beside it"),
        (Forgetful(), "it answers the same question differently"),
        (Deaf(), "it plays an action that is not available"),
        (Picky(), "it refuses every game"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, IDS) else "",
)
def test_what_is_wrong_with_a_policy_is_found(policy: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        pm.testing.check_policy(policy)


def test_a_policy_that_plays_what_it_rules_out_is_found() -> None:
    with pytest.raises(AssertionError, match="its distribution"):
        pm.testing.check_policy(RulesItselfOut())


@pytest.mark.parametrize("policy", ["ids", pm.IDS, None])
def test_what_is_no_policy_is_said(policy: Any) -> None:
    with pytest.raises(AssertionError, match="it has no init, decide and update"):
        pm.testing.check_policy(policy)
    with pytest.raises(AssertionError, match="it cannot be tried on"):
        pm.testing.check_policy(pm.IDS(), ["apple_tasting"])  # type: ignore[list-item]


def test_a_given_game_must_not_be_refused() -> None:
    with pytest.raises(AssertionError, match="it refuses the game: CBP plays finite games"):
        pm.testing.check_policy(pm.CBP(), pm.games.linear_bandit())


class TooHigh(pm.Box):
    def support(self, directions: Any) -> Any:
        return super().support(directions) + 1.0


class TooLow(pm.Box):
    def support(self, directions: Any) -> Any:
        return super().support(directions) - 0.5


class Lazy(pm.Box):
    def project(self, point: Any, gram: Any = None) -> Any:
        return self.relative_interior_point() + 0.1 * np.tanh(np.asarray(point))


class Narrow(pm.Box):
    def diameter(self) -> float:
        return 0.1


class Open(pm.Box):
    def project(self, point: Any, gram: Any = None) -> Any:
        return np.asarray(point, dtype=float)


class Skewed(pm.Box):
    def difference_basis(self) -> Any:
        return np.array([[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (TooHigh, "support"),
        (TooLow, "support is below a point of the set"),
        (Lazy, "project moves a point that is inside"),
        (Narrow, "two points are further apart than the diameter"),
        (Open, "a projection is not contained"),
        (Skewed, "the columns of difference_basis are not orthonormal"),
    ],
)
def test_what_is_wrong_with_a_parameter_set_is_found(kind: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        pm.testing.check_parameter_set(kind([-1, -2], [1, 2]))


def test_things_of_another_kind_are_refused() -> None:
    for check in (pm.testing.check_parameter_set, pm.testing.check_game):
        with pytest.raises(AssertionError, match="it is not a"):
            check(3)  # type: ignore[operator]
