"""Mario sampling: Thompson sampling that also plays what lies on the way to the best action.

Lattimore and Szepesvari, "An information-theoretic approach to minimax regret in partial
monitoring" (COLT 2019). Let q be the posterior probabilities with which each action of A is best,
and nu the posterior mean. Neighbours form a tree whose root is best at nu; the parent of an action
is its best neighbour at nu. Instead of q, as Thompson sampling does, P is played with

    (a) sum_a P_a l_a(nu) <= sum_a q_a l_a(nu),
    (b) P_a <= P_b for the parent b of a,
    (c) P_a >= q_a / |A|,

which is all that the bound needs. Two ways to get there: "path" spreads the probability of every
action evenly over its path to the root, for which one draw suffices; "level" is the nearest P to q
with (b), the levels of water that flows towards the root until it stands. The original pictures
that flow in words; both have its properties. Actions between two neighbours then get their share by
``redistribute``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.geometry import helpers
from partial_monitoring.policies.finite.posterior import Drawing, Posterior, initial_posterior
from partial_monitoring.policies.needs import Needs, analysis_of, refuse
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import Loops
from partial_monitoring.policies.promise import Promise, practical
from partial_monitoring.validation import Array, Indices

OPERATORS = ("path", "level")
"""How probability is moved towards the root."""

TIE = 1e-12
"""Rewards closer than this fraction of the largest one are tied."""


@dataclass(frozen=True, eq=False)
class MarioState:
    """What Mario sampling knows after some rounds."""

    posterior: Posterior
    shape: Any
    """A, its neighbours, and the actions between them."""


@dataclass(frozen=True)
class Mario:
    """Thompson sampling that also plays what lies between a likely best action and the leader.

    Parameters
    ----------
    operator
        "path": play a random action on the path from the best action of one draw to the root.
        "level": change the probabilities of Thompson sampling as little as possible.
    samples
        The number of draws from which "level" takes these probabilities.
    allow_outside
        Play games that are not locally observable, too; the regret may grow linearly.

    Notes
    -----
    The bound on the regret, averaged over the prior, is m k^(3/2) (8 n log k)^(1/2). Here the prior
    is uniform, nu is the posterior mean up to a small error (see ``posterior_draw``), and
    "level" counts finitely many draws. The distribution of a decision is given the draws.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "mario", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["mario"] < 60).all())
    True
    """

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False, hardest="easy")
    card: ClassVar[Card] = Card(
        setting="Bayesian",
        games="finite, locally observable",
        guarantee="m k^(3/2) (8 n log k)^(1/2) on average over the prior",
        cost="one posterior draw, or 200 of them, and O(k^2) operations",
        reference="Lattimore and Szepesvari (COLT 2019)",
    )

    operator: str = "path"
    samples: int = 200
    allow_outside: bool = False

    def __post_init__(self) -> None:
        validation.one_of("operator", self.operator, OPERATORS)
        validation.whole_number("samples", self.samples, at_least=1, at_most=1_000_000)
        validation.boolean("allow_outside", self.allow_outside)

    def init(self, game: FiniteGame, replicates: int) -> MarioState:
        """Return the state before the first round."""
        from partial_monitoring.numerics.compiled.play_mario import Shape

        refuse(self, game)
        analysis = analysis_of(game)
        own = np.array(analysis.representatives, dtype=np.int64)
        place = {int(a): i for i, a in enumerate(own)}
        near = np.zeros((len(own), len(own)), dtype=bool)
        for a, b in analysis.neighboring_cells:
            near[place[a], place[b]] = near[place[b], place[a]] = True
        between, rewards = helpers(analysis), np.array(game.rewards[own])
        tie = TIE * float(np.abs(rewards).max())
        levels = self.operator == "level"
        also = between.actions, between.ends, between.shares
        shape = Shape(rewards, own, near, tie, levels, self.samples if levels else 1, *also)
        return MarioState(initial_posterior(game, replicates), shape)

    def draws(self, state: MarioState) -> int:
        """Return 1: a private stream of random numbers starts with one uniform number."""
        return 1

    def decide(self, state: MarioState, uniforms: Array, available: Array | None = None) -> Choices:
        """Choose actions."""
        from partial_monitoring.numerics.compiled import play_mario

        if available is not None:
            raise InvalidInput(
                "available cannot be given with Mario, which moves probability between all actions."
            )
        *own, tree = self._arrays(state, state.posterior)
        actions = np.empty(len(uniforms), dtype=np.int64)
        play_mario.decide_all(*own, tree, np.array(uniforms[:, 0], dtype=float), actions)
        return Choices(actions, tree.chances, estimate=state.posterior.middle)

    def update(self, state: MarioState, action: Indices, observation: Array) -> MarioState:
        """Return the state after one more observation."""
        return replace(state, posterior=state.posterior.after(action, observation))

    def program(self, state: MarioState) -> Loops:
        """Return the compiled rounds."""
        from partial_monitoring.numerics.compiled import play_mario

        return Loops(play_mario.play, self._arrays(state, state.posterior.copied()))

    def promise(self, game: AnyGame | None) -> Promise:
        """Return what is proven."""
        return practical("a bound holds on average over the prior, with exact posterior means")

    def _arrays(self, state: MarioState, known: Posterior) -> tuple[Any, ...]:
        """Return what compiled loops need, with scratch."""
        from partial_monitoring.numerics.compiled.play_mario import Tree

        n, c, k = known.replicates, len(state.shape.own), known.game.k
        parent, block = np.zeros((2, n, c), dtype=np.int64)
        values, mass, sums, sizes = np.zeros((4, n, c))
        before, chances = np.zeros((2, n, k))
        tree = Tree(values, parent, mass, block, sums, sizes, before, chances)
        return state.shape, known.parts, Drawing().law, known.belief, known.work(), tree
