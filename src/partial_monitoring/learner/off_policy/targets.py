"""What is evaluated from a log: actions, distributions, policies, as probabilities per decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.off_policy.logged import Log, Place
from partial_monitoring.learner.off_policy.reweighted import Rewards, weights_of
from partial_monitoring.model.any_game import Context
from partial_monitoring.policies import name_of
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import Policy, check_choices, is_policy, uniform_stream
from partial_monitoring.validation import Array, brief, is_whole, probabilities, real_number


@dataclass(frozen=True, eq=False)
class Target:
    """A policy as the probabilities with which it plays at every logged decision."""

    name: str
    by_place: list[Array] | None
    """One array (n, k) per place of the log; None for the logged policy where it is not known."""
    why: str = ""
    """Why it cannot be evaluated."""

    def chances(self, number: int) -> Array | None:
        """Return its probabilities at the decisions of a place, shape (n, k), if known."""
        return None if self.by_place is None else self.by_place[number]


def logged_target(log: Log, places: list[Place], name: str) -> Target:
    """Return the policy that made the log."""
    known = log.distributions
    if known is None:
        return Target(name, None)
    return Target(name, [np.array([known[row] for row in place.rows]) for place in places])


def read_target(
    log: Log, places: list[Place], given: Any, seed: int, argument: str = "target"
) -> Target:
    """Return an action, a distribution, one of these per context, or a policy, as a target."""
    if is_policy(given):
        rows = _replayed(log, given, seed)
        by_place = [np.array([rows[row] for row in place.rows]) for place in places]
        return Target(name_of(given), by_place)
    by_context = isinstance(given, Mapping) and log.game.traits.contexts
    by_context = by_context and set(given) <= set(getattr(log.game, "contexts", ()))
    by_place = []
    for place in places:
        own, context = given, place.context
        if by_context:
            if context.name not in given:
                raise InvalidInput(
                    f"{argument} must say what to do in every context; {brief(context.name)} is "
                    f"missing."
                )
            own = given[context.name]
        by_place.append(np.tile(_chances(argument, context, own), (len(place.rows), 1)))
    return Target(_name(places[0].context, given, by_context), by_place)


def _chances(argument: str, context: Context, given: Any) -> Array:
    """Return the probabilities (k,) of an action or a distribution in a context."""
    game = context.game
    chances = np.zeros(game.k)
    if isinstance(given, str) or is_whole(given):
        chances[game.action_index(given)] = 1.0
        return chances
    if isinstance(given, Mapping):
        for action, share in given.items():
            chances[game.action_index(action)] += real_number(argument, share)
        given = chances
    if not np.iterable(given):
        raise InvalidInput(
            f"{argument} must be an action, probabilities of actions or a policy; got "
            f"{brief(given)}."
        )
    return probabilities(argument, list(given), game.k)


def _name(context: Context, given: Any, by_context: bool) -> str:
    """Return a short name of a target."""
    if isinstance(given, str):
        return given
    if is_whole(given):
        return str(context.game.action_label(context.game.action_index(given)))
    return "a choice per context" if by_context else "a distribution"


def _replayed(log: Log, policy: Policy[Any], seed: int) -> list[Array]:
    """Return the distributions of a policy that is asked and told the log, each (k,)."""
    numbers = np.array([randomness.checked_seed("seed", seed)])
    state, found = initial_state_of(policy, log.game, 1), []
    draw = uniform_stream(policy, state, numbers)
    for t, context in enumerate(log.contexts):
        k = context.game.k if context.positions is None else log.game.k
        mask = None
        if log.available[t] is not None:
            mask = np.zeros(k, dtype=bool)
            mask[[context.outer(context.game.action_index(x)) for x in log.available[t]]] = True
        choice = policy.decide(state, draw(t), mask, **context.options)
        check_choices(choice, k, 1)
        chances = choice.distribution
        if choice.candidates is not None:
            real = choice.candidates[0] >= 0
            chances = np.zeros((1, k))
            chances[0, choice.candidates[0][real]] = choice.distribution[0][real]
        found.append(context.own(chances))
        played = np.array([context.outer(int(log.action[t]))])
        shown = log.observation[t][None, : max(log.game.m, context.game.m)]
        state = policy.update(state, played, shown, **context.options)
    return found


def own_rewards(reduced: Any) -> Rewards | None:
    """Return the rewards of actions in terms of what each shows itself, if all show theirs."""
    each = np.arange(len(reduced.features))
    weights, seen = weights_of(reduced.observation_maps, np.eye(len(each)), reduced.features)
    return Rewards(reduced.offsets, weights[each, each]) if seen.all() else None
