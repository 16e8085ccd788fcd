"""Opponents of finite games: outcomes that are chosen in answer to the actions before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.simulation.changing import Answering, Choose
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.truths.kinds import Truth
from partial_monitoring.simulation.truths.outcomes import FIXED, outcome_number, require_finite
from partial_monitoring.validation import Array, Indices, boolean, brief, positive_number


class Opponent(Truth):
    """An opponent that sees what a policy has played before, and chooses the next outcome."""

    against: ClassVar[str] = FIXED

    def begin(self, game: Any, seeds: Indices) -> Choose:
        """Return the function that chooses the outcomes of runs with some seeds."""
        raise NotImplementedError

    def possible(self, game: AnyGame, seeds: Indices) -> Array:
        return np.eye(game.d)

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        require_finite(game)
        return self

    def environment(
        self, game: AnyGame, seeds: Indices, horizon: int, noise: str | NoiseFunction | None = None
    ) -> Environment:
        game.feedback(noise)  # refuses noise
        return Answering(game, seeds, horizon, lambda: self.begin(game, seeds))


@dataclass(frozen=True, eq=False)
class Adaptive(Opponent):
    """A function of the user's that chooses outcomes."""

    chosen: Callable[..., Any]
    batched: bool = False

    @property
    def name(self) -> str:
        return str(getattr(self.chosen, "__name__", "adaptive"))

    def begin(self, game: Any, seeds: Indices) -> Choose:
        numbers = [int(seed) for seed in seeds]

        def choose(t: int, actions: Indices) -> Indices:
            if self.batched:
                found = self.chosen(t, seeds, actions)
            else:
                each = zip(numbers, actions, strict=True)
                found = [self.chosen(t, seed, own) for seed, own in each]
            if np.shape(found) != (len(seeds),):
                raise InvalidInput(
                    f"the opponent must return one outcome for each of {len(seeds)} seeds; got "
                    f"{brief(found)}."
                )
            where = f"what the opponent returns in round {t + 1}"
            return np.array([outcome_number(game, own, where) for own in found])

        return choose


@dataclass(frozen=True, eq=False)
class Hostile(Opponent):
    """The outcome in which the actions of the last rounds, as often as they occur, lose most."""

    memory: float = 10.0

    def begin(self, game: Any, seeds: Indices) -> Choose:
        rewards = game.rewards  # (k, d)
        gaps = rewards.max(axis=0) - rewards
        kept = 1.0 - 1.0 / self.memory
        weights, each = np.zeros((len(seeds), game.k)), np.arange(len(seeds))

        def choose(t: int, actions: Indices) -> Indices:
            if t > 0:
                weights[:] *= kept
                weights[each, actions[:, -1]] += 1.0
            return np.asarray((weights @ gaps).argmax(axis=1))

        return choose


def adaptive(function: Callable[..., Any], *, batched: bool = False) -> Truth:
    """An opponent of a finite game that chooses each outcome when it has seen the actions before.

    Parameters
    ----------
    function
        (t, seed, actions) -> outcome: the number of rounds played before, the seed, and the
        actions that the policy played in them, their numbers, shape (t,), read only. The outcome
        is a label of the game or its number. The function has to give the same answer whenever it
        is asked the same.
    batched
        Whether the function chooses for all seeds at once: (t, seeds (n,), actions (n, t)) ->
        outcomes (n,). What it chooses for a seed must not depend on the others.

    Notes
    -----
    Regret is measured against the best fixed action for the outcomes that were chosen. They might
    have been others if that action had been played: this is the usual "policy-blind" regret. It can
    be negative. Such runs are not compiled (``result.backend`` says so).

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> def contrary(t, seed, actions):
    ...     return 0 if t == 0 else int(actions[-1])
    >>> theta = pm.truths.adaptive(contrary)
    >>> pm.simulate("apple_tasting", "cbp", theta, horizon=50, seeds=2).against
    'the best fixed action in hindsight'
    """
    if not callable(function):
        raise InvalidInput(
            f"function must be a function (t, seed, actions) -> outcome; got {brief(function)}."
        )
    return Adaptive(function, boolean("batched", batched))


def hostile(memory: float = 10.0) -> Truth:
    """An opponent of a finite game that chooses the outcome worst for what was played so far.

    Action a has the share w_a of the rounds played before, and the outcome x is chosen for which
    sum_a w_a (max_b r(b, x) - r(a, x)) is largest (the first of equals): what the policy loses if
    it goes on like that.

    Parameters
    ----------
    memory
        How many rounds count, at least 1: one that was played s rounds before the last has the
        weight (1 - 1 / memory)^s. With infinity (``math.inf``) all count the same.

    Notes
    -----
    The outcomes switch whenever the policy has changed its mind, so a policy that follows what it
    has seen, and can be foretold, is always late: its regret is linear. Policies that randomise
    cannot be foretold. See :func:`adaptive` for what regret means here.
    """
    if isinstance(memory, float) and np.isposinf(memory):
        return Hostile(memory)
    if positive_number("memory", memory) < 1:
        raise InvalidInput(f"memory must be at least one round; got {brief(memory)}.")
    return Hostile(float(memory))
