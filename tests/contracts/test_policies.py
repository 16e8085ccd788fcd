"""What every policy promises: it plays the games that its needs name, and refuses the others."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies import POLICIES
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import Choices, draws_needed, point_mass
from tests.oracles.every_game import KINDS, NAMES, game_of
from tests.oracles.players import PAIRS, PLAYED, played_game, suits


def test_every_policy_has_games_and_every_kind_of_game_a_policy() -> None:
    assert {name for name, _ in PAIRS} == set(POLICIES)
    assert {kind for _, kind in PAIRS} == set(PLAYED)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_a_policy_plays_every_kind_of_game_that_it_needs(name: str, kind: str) -> None:
    game = played_game(kind)
    rounds = 3 if game.traits.listed else 1
    pm.testing.check_policy(POLICIES[name](), game, rounds=rounds)


# -- refusals --------------------------------------------------------------------------------------


def one_sentence(refusal: Exception) -> None:
    text = str(refusal)
    assert text.endswith(".")
    assert "\n" not in text
    assert re.search(r"\. [A-Z]", text) is None
    assert len(text) < 300


def bits(*values: Any) -> list[Any]:
    """Return what a policy and the description of a game consist of."""
    return [pickle.dumps([getattr(v, f.name) for f in fields(v)]) for v in values]


@pytest.mark.parametrize("name", POLICIES)
def test_every_game_is_played_or_refused_in_a_sentence_as_the_needs_say(name: str) -> None:
    for game_name in NAMES:
        policy, game = POLICIES[name](), game_of(game_name)
        before, described = bits(policy), game.sheets()
        if suits(policy, game):
            initial_state_of(policy, game, 1)
        else:
            for refused in (
                lambda policy=policy, game=game: initial_state_of(policy, game, 1),
                lambda policy=policy, game=game: policy.init(game, 1),
                lambda policy=policy, game=game: pm.Learner(game, policy, allow_hopeless=True),
                lambda policy=policy, game=game: pm.simulate(
                    game, policy, "random", horizon=1, seeds=1
                ),
            ):
                with pytest.raises(InvalidInput) as refusal:
                    refused()
                one_sentence(refusal.value)
        assert bits(policy) == before
        assert game.sheets() == described


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_nothing_available_is_refused_and_changes_nothing(name: str, kind: str) -> None:
    policy, game = POLICIES[name](), played_game(kind)
    learner = pm.Learner(game, policy, seed=1, allow_hopeless=True)
    given = {"context": 0} if game.traits.contexts else {}
    before = learner.events
    with pytest.raises(InvalidInput, match="available") as refusal:
        learner.ask(available=[], **given)
    one_sentence(refusal.value)
    with pytest.raises(InvalidInput, match=r"available|no action named|action must be"):
        learner.ask(available=["no such action"], **given)
    assert learner.events == before
    twin = pm.Learner(game, policy, seed=1, allow_hopeless=True)
    assert learner.ask(**given).action == twin.ask(**given).action


@pytest.mark.parametrize("name", POLICIES)
def test_a_context_must_be_given_if_there_are_any_and_only_then(name: str) -> None:
    policy = POLICIES[name]()
    for kind in PLAYED:
        game = played_game(kind)
        if not suits(policy, game):
            continue
        state = policy.init(game, 1)
        width = draws_needed(policy, state)
        uniforms = np.full((1,) if width is None else (1, width), 0.5)
        if game.traits.contexts:
            with pytest.raises(InvalidInput, match="context must be given") as refusal:
                policy.decide(state, uniforms)
            one_sentence(refusal.value)
        learner = pm.Learner(game, policy, allow_hopeless=True)
        with pytest.raises(InvalidInput, match="context must be") as refusal:
            learner.ask(**({} if game.traits.contexts else {"context": 0}))
        one_sentence(refusal.value)


# -- policies that know little ---------------------------------------------------------------------


@dataclass(frozen=True)
class InTurn:
    """Plays its actions in turn, and knows nothing else."""

    def init(self, game: Any, replicates: int) -> Any:
        return np.zeros(replicates, dtype=np.int64), game.k

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        played, k = state
        if available is not None:
            raise InvalidInput("available cannot be given.")
        return Choices(played % k, point_mass(played % k, k))

    def update(self, state: Any, action: Any, observation: Any) -> Any:
        return state[0] + 1, state[1]


@dataclass(frozen=True)
class InTurnInContexts(InTurn):
    """Plays the first action of each context."""

    def init(self, game: Any, replicates: int) -> Any:
        return game if game.traits.contexts else None, game.k, replicates

    def decide(  # type: ignore[override]
        self, state: Any, uniforms: Any, available: Any = None, context: Any = None
    ) -> Choices:
        game, k, replicates = state
        if available is not None:
            raise InvalidInput("available cannot be given.")
        action = np.zeros(replicates, dtype=np.int64)
        if context is not None:
            action = np.array([game.positions(int(z))[0] for z in context])
        return Choices(action, point_mass(action, k))

    def update(  # type: ignore[override]
        self, state: Any, action: Any, observation: Any, context: Any = None
    ) -> Any:
        return state


LISTED = [kind for kind in KINDS if game_of(kind).traits.listed]


@pytest.mark.parametrize("kind", LISTED)
def test_a_policy_that_returns_only_actions_and_distributions_is_simulated(kind: str) -> None:
    game = played_game(kind)
    policy = InTurnInContexts() if game.traits.contexts else InTurn()
    result = pm.simulate(game, {"own": policy}, "random", horizon=4, seeds=2)
    assert (result.plays["own"][:, -1].sum(axis=1) == 4).all()
    assert (result.regret["own"] >= 0).all()
    for unknown in (result.information, result.ratio):
        assert np.isnan(unknown["own"]).all()
    if game.traits.contexts:
        with pytest.raises(InvalidInput, match="InTurn takes no contexts") as refusal:
            pm.simulate(game, {"own": InTurn()}, "random", horizon=4, seeds=2)
        one_sentence(refusal.value)


@pytest.mark.parametrize("kind", LISTED)
def test_a_policy_that_returns_only_actions_and_distributions_learns_live(kind: str) -> None:
    game = played_game(kind)
    given = {"context": 0} if game.traits.contexts else {}
    policy = InTurnInContexts() if game.traits.contexts else InTurn()
    learner = pm.Learner(game, policy, allow_hopeless=True)
    decision = learner.ask(**given)
    assert (decision.action, decision.probability) == (0, 1.0)
    assert (decision.gaps, decision.information, decision.estimate) == (None, None, None)
    assert np.isnan([decision.ratio, decision.beta]).all()
    assert str(decision)
    place = game.context(given.get("context"))
    own = place.game
    shown = own.feedback().decode(own, 0, np.eye(1, own.m)[0])
    learner.tell(decision, shown)
    assert learner.round == 2
    again = pm.Learner.replay(game, policy, 0, learner.events, allow_hopeless=True, check=True)
    assert again.history == learner.history


@pytest.mark.parametrize("policy", [InTurn(), InTurnInContexts()])
def test_a_policy_that_returns_only_actions_and_distributions_passes_the_check(policy: Any) -> None:
    pm.testing.check_policy(policy, rounds=4)
