"""PG-TS and PG-IDS: contextual apple tasting with a logistic model of the labels.

Grant and Leslie, "Apple tasting revisited: Bayesian approaches to partially monitored online binary
classification" (2021). One of two actions shows a label, which is 1 with probability
s(x_z' theta), s(c) = 1 / (1 + e^-c); the other shows nothing. What both lose is linear in that
probability. Draws of theta come from a Gibbs sampler with Polya-Gamma variables, in rounds of
constant cost (see ``numerics.compiled.polya_gamma``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.contextual.features import (
    check_features,
    given_features,
    listed_context,
)
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import Loops
from partial_monitoring.validation import Array, Indices, brief


@dataclass(frozen=True, eq=False)
class TastingState:
    """What PG-TS and PG-IDS know after some rounds."""

    shape: Any
    """The tables of compiled code, ``polya_gamma.Shape``."""
    rows: int
    """The largest number of rows of an observation."""
    labels: Indices
    """How many labels were seen, shape (n, contexts)."""
    ones: Array
    """How many of them are 1, shape (n, contexts)."""
    mode: Array
    """Of the posterior of theta, shape (n, q)."""


@dataclass(frozen=True)
class PGTS:
    """Thompson sampling for contextual apple tasting with a logistic model of the labels.

    Parameters
    ----------
    features
        x, one row per context, shape (contexts, q). Unless given, those of an identity matrix:
        every context has a probability of its own and is learned separately.
    prior_mean, prior_std
        Every entry of theta is normal with this mean and standard deviation.
    sweeps
        Of the Gibbs sampler in a round, from a draw of the normal approximation at the mode.

    Notes
    -----
    The first action is the one that shows a label. The distribution of a decision is given the
    draw of theta, so it is all on one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.contextual_apple_tasting()
    >>> theta = [0.1, 0.9, 0.1, 1.0]
    >>> result = pm.simulate(game, "pg_ts", theta, horizon=200, seeds=4)
    >>> bool((result.regret["pg_ts"] < 60).all())
    True
    """

    needs: ClassVar[Needs] = Needs(contexts=True, duels=False)
    card: ClassVar[Card] = Card(
        setting="Bayesian",
        games="contextual apple tasting: two actions, one shows a binary label",
        guarantee="none is proven for its logistic model",
        cost="O(sweeps contexts (q^2 + 5 gamma variables)) operations",
        reference="Grant and Leslie (2021)",
    )

    features: ArrayLike | None = None
    prior_mean: float = 0.0
    prior_std: float = 1.0
    sweeps: int = 10

    def __post_init__(self) -> None:
        check_features(self)
        validation.real_number("prior_mean", self.prior_mean)
        validation.positive_number("prior_std", self.prior_std)
        validation.whole_number("sweeps", self.sweeps, at_least=1, at_most=100_000)

    def init(self, game: ContextualGame, replicates: int) -> TastingState:
        refuse(self, game)
        x = given_features(game, self.features)
        x = np.eye(len(game.contexts)) if x is None else np.ascontiguousarray(x)
        n, (count, q) = replicates, x.shape
        mode = np.full((n, q), float(self.prior_mean))
        labels, ones = np.zeros((n, count), dtype=np.int64), np.zeros((n, count))
        shape = tasting(game, type(self).__name__, x)
        return TastingState(shape, game.m, labels, ones, mode)

    def draws(self, state: TastingState) -> int:
        """Return the number of uniform numbers that a round needs: one starts all draws."""
        return 1

    def decide(
        self,
        state: TastingState,
        uniforms: Array,
        available: Array | None = None,
        context: Indices | Any = None,
    ) -> Choices:
        from partial_monitoring.numerics.compiled import polya_gamma

        shape, n = state.shape, len(state.mode)
        contexts, scratch, rule = listed_context(self, context), _scratch(state), self._rule()
        known = polya_gamma.State(state.labels, state.ones, state.mode)
        chosen, action = np.empty(n), np.empty(n, dtype=np.int64)
        first = np.ascontiguousarray(uniforms[:, 0])
        last = np.ascontiguousarray(uniforms[:, 1]) if rule.directed else np.full(n, 0.5)
        polya_gamma.decide_all(shape, rule, known, scratch, contexts, first, chosen)
        gaps = np.empty((n, 2))
        gaps[:, [shape.shows, shape.other]] = scratch.gaps
        if available is not None and not np.all(available):
            gaps[:, np.logical_not(available)] = np.inf
            chosen[:] = float(available[shape.shows])
        polya_gamma.act_all(shape, chosen, last, action)
        distribution = np.empty((n, 2))
        distribution[:, shape.shows], distribution[:, shape.other] = chosen, 1.0 - chosen
        return Choices(action, distribution, gaps=gaps)

    def update(
        self,
        state: TastingState,
        action: Indices,
        observation: Array,
        context: Indices | Any = None,
    ) -> TastingState:
        from partial_monitoring.numerics.compiled import polya_gamma

        contexts, scratch = listed_context(self, context), _scratch(state)
        scratch.shown[:] = observation[:, : state.rows]
        labels, ones, mode = state.labels.copy(), state.ones.copy(), state.mode.copy()
        known = polya_gamma.State(labels, ones, mode)
        actions = np.array(action, dtype=np.int64)
        polya_gamma.learn_all(state.shape, self._rule(), known, scratch, contexts, actions)
        return replace(state, labels=labels, ones=ones, mode=mode)

    def program(self, state: TastingState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled import polya_gamma

        own = polya_gamma.State(state.labels.copy(), state.ones.copy(), state.mode.copy())
        return Loops(polya_gamma.play, (state.shape, self._rule(), own, _scratch(state)))

    def _rule(self) -> Any:
        from partial_monitoring.numerics.compiled import polya_gamma

        return polya_gamma.Rule(
            directed=False,
            sweeps=int(self.sweeps),
            samples=1,
            mean=float(self.prior_mean),
            precision=float(self.prior_std) ** -2,
        )


@dataclass(frozen=True)
class PGIDS(PGTS):
    """Information-directed sampling for contextual apple tasting with a logistic model.

    With D_shows and D_other the mean losses of the two actions against the best one over draws of
    theta, the action that shows a label is played with probability 1 if D_shows <= D_other, else
    min(1, D_other / (D_shows - D_other)): only one action informs, so its information cancels in
    the ratio (expected loss)^2 / (expected information).

    Parameters
    ----------
    features, prior_mean, prior_std, sweeps
        As for :class:`PGTS`.
    samples
        The number of draws of theta, one per sweep after the first ``sweeps``.

    Notes
    -----
    The distribution of a decision is given the draws of theta.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.contextual_apple_tasting()
    >>> theta = [0.1, 0.9, 0.1, 1.0]
    >>> result = pm.simulate(game, "pg_ids", theta, horizon=200, seeds=4)
    >>> bool((result.regret["pg_ids"] < 60).all())
    True
    """

    card: ClassVar[Card] = replace(
        PGTS.card, cost="O((sweeps + samples) contexts (q^2 + 5 gamma variables)) operations"
    )

    samples: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.whole_number("samples", self.samples, at_least=1, at_most=100_000)

    def draws(self, state: TastingState) -> int:
        """Return the number of uniform numbers that a round needs: for theta and the action."""
        return 2

    program = PGTS.program

    def _rule(self) -> Any:
        return super()._rule()._replace(directed=True, samples=int(self.samples))


def _scratch(state: TastingState) -> Any:
    from partial_monitoring.numerics.compiled import polya_gamma

    n, q = state.mode.shape
    return polya_gamma.Scratch(
        theta=np.zeros((n, q)),
        line=np.zeros((n, q)),
        matrix=np.zeros((n, q, q)),
        own=np.zeros((n, 1), dtype=np.uint64),
        gaps=np.zeros((n, 2)),
        shown=np.zeros((n, state.rows)),
    )


def tasting(game: ContextualGame, policy: str, features: Array) -> Any:
    """Return the contexts of a game as apple tasting, or refuse it in the name of a policy."""
    from partial_monitoring.numerics.compiled import polya_gamma

    chances = game.feedback().chances
    shows, other, rows, lines = -1, -1, [], []
    for z, own in enumerate(game.games):
        informs = np.abs(own.reduced.observation_maps).max(axis=(1, 2), initial=0.0)
        informs = informs > RANK_TOLERANCE
        labelled = int(informs.argmax())
        fits = own.k == game.k == 2 and informs.sum() == 1
        fits = fits and len(chances) * own.row_count(labelled) == 2
        places = game.positions(z)
        fits = fits and shows in (-1, int(places[labelled]))
        if not fits:
            raise InvalidInput(
                f"{policy} plays contextual apple tasting, two actions of which one, the same in "
                f"all contexts, shows a binary label; got {brief(game)}."
            )
        shows, other = int(places[labelled]), int(places[1 - labelled])
        # Of the two symbols of a finite game, the label 1 is that of the last outcome.
        row = int(own.observation_maps[labelled, :, -1].argmax()) if len(chances) == 1 else 0
        rows.append(row)
        lines.append(_line(own, labelled, row, *chances[0], policy))
    offset, slope = np.array(lines).T.copy()
    return polya_gamma.Shape(features, offset, slope, shows, other, np.array(rows), *chances[0])


def _line(
    game: Any, labelled: int, row: int, scale: float, shift: float, policy: str
) -> tuple[float, float]:
    """Return a, b with (loss of the labelled action) - (loss of the other) = a + b p on Theta."""
    reduced = game.reduced
    shown = game.observation_maps[labelled, row]
    mean = np.append(reduced.observation_maps[labelled, row], shown @ reduced.center)
    one = np.eye(len(mean))[-1]
    chance = scale * mean + shift * one
    rewards = np.column_stack([reduced.features, reduced.offsets])
    difference = rewards[1 - labelled] - rewards[labelled]
    matrix = np.column_stack([one, chance])
    found = np.linalg.lstsq(matrix, difference, rcond=RANK_TOLERANCE)[0]
    if np.abs(matrix @ found - difference).max() > 1e-8 * max(1.0, np.abs(difference).max()):
        raise InvalidInput(
            f"{policy} plays contexts in which the label decides what the actions lose; "
            f"got {brief(game)}."
        )
    return float(found[0]), float(found[1])
