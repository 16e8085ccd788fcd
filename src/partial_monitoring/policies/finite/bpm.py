"""BPM-TS and BPM-Least: a normal posterior of the distribution of outcomes.

Vanchinathan, Bartok and Krause, "Efficient partial monitoring with prior information" (NeurIPS
2014). With signal matrices S_a, the prior N(u, I / lambda) around the uniform distribution u, and
symbols e_s observed with unit noise along whitened rows, the posterior after some rounds is

    N(p, P^-1),   P = lambda I + sum S_a' (S_a S_a')^-1 S_a,
                  p = P^-1 (lambda u + sum S_a' (S_a S_a')^-1 e_s).

The vector of ones is an eigenvector of P, so that p sums to 1, and conditioning on sum 1 leaves out
this direction: theta = u + W x + U y with orthonormal columns, where W spans what is observed.
BPM-TS draws theta and plays what is best for it. BPM-Least considers the cells C_a that meet

    E = {theta : (theta - p)' P (theta - p) <= radius_t^2},

and plays the least played action among those of these cells and of the neighbourhoods of pairs of
them. The estimate is never made a distribution by force, as in other code: cells lie in the simplex
already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.design import Design, design
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.geometry import Geometry, geometry
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import Loops
from partial_monitoring.policies.promise import CERTIFIED, Promise, practical
from partial_monitoring.validation import Array, Indices

RADII = ("log", "derived")
"""Kinds of radii, in the order of their codes in ``play_bpm``."""

PAPER = "Vanchinathan, Bartok and Krause (NeurIPS 2014)"


@dataclass(frozen=True, eq=False)
class BPMState:
    """What BPM knows after some rounds: counts, and the posterior that they give."""

    geometry: Geometry
    design: Design
    """Coordinates of theta."""
    model: Any
    """What actions show and cost in these coordinates: ``play_bpm.Model``."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    plays: Indices
    """Shape (n, k)."""
    precision: Array
    """W' P W, shape (n, r, r)."""
    target: Array
    """W' P W x_hat, shape (n, r)."""

    @property
    def known(self) -> Any:
        """What is learned, as compiled loops see it."""
        from partial_monitoring.numerics.compiled import play_bpm

        return play_bpm.State(self.plays, self.precision, self.target)

    @property
    def mean(self) -> Array:
        """The posterior means p, shape (n, d)."""
        x = np.linalg.solve(self.precision, self.target[:, :, None])[:, :, 0]
        basis = self.design.basis[:, : self.design.rank]
        return np.asarray(self.design.prior_mean + (x[:, None, :] * basis).sum(axis=2))


@dataclass(frozen=True)
class BPM:
    """What BPM-TS and BPM-Least share: the posterior."""

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False, hardest="easy")

    regularization: float = 1.0
    allow_outside: bool = False

    def __post_init__(self) -> None:
        validation.positive_number("regularization", self.regularization)
        validation.boolean("allow_outside", self.allow_outside)

    def init(self, game: FiniteGame, replicates: int) -> BPMState:
        refuse(self, game)
        own = design(game)
        n, k, r = replicates, game.k, own.rank
        shape = geometry(game, type(self).__name__)
        return BPMState(
            shape,
            own,
            model_of(game, own),
            round=np.ones(n, dtype=np.int64),
            plays=np.zeros((n, k), dtype=np.int64),
            precision=np.repeat(self.regularization * np.eye(r)[None], n, axis=0),
            target=np.zeros((n, r)),
        )

    def update(self, state: BPMState, action: Indices, observation: Array) -> BPMState:
        from partial_monitoring.numerics.compiled import play_bpm

        moved = replace(
            state,
            round=state.round + 1,
            plays=state.plays.copy(),
            precision=state.precision.copy(),
            target=state.target.copy(),
        )
        shown = np.ascontiguousarray(observation, dtype=float)
        play_bpm.learn_all(state.model, moved.known, np.asarray(action), shown)
        return moved


@dataclass(frozen=True)
class BPMTS(BPM):
    """Thompson sampling from a normal posterior of the outcomes.

    Parameters
    ----------
    regularization
        lambda, the precision of the prior.
    allow_outside
        Play hard games, too, where regret may grow linearly.

    Notes
    -----
    A draw may lie outside the simplex, where a dominated action may be best: only actions that are
    best somewhere on it are played, one of each class of duplicates. Directions that nothing shows
    do not change which of them is best, and are not drawn. Published runs restrict draws to the
    simplex and take lambda = 0.001, which hardly matters: all four combinations agree with their
    figures. The distribution of a decision is given the draw, all on one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "bpm_ts", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["bpm_ts"] < 60).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="finite, locally observable; actions between two neighbours are never played",
        guarantee="none proven",
        cost="O(r^3 + r k) operations for r observed dimensions",
        reference=PAPER,
    )

    def draws(self, state: BPMState) -> int:
        """Return the number of uniform numbers that a round needs: one per observed dimension."""
        return state.design.rank

    def decide(self, state: BPMState, uniforms: Array, available: Array | None = None) -> Choices:
        from partial_monitoring.numerics.compiled import play_bpm

        room = scratch(len(state.round), state.design, 0, 0)
        room.noise[:] = uniforms
        action = np.empty(len(state.round), dtype=np.int64)
        allowed = _candidates(state.geometry, available)
        play_bpm.draw_all(state.model, state.known, room, allowed, action)
        return Choices(action, point_mass(action, len(allowed)), estimate=state.mean)

    def program(self, state: BPMState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled import play_bpm

        room = scratch(len(state.round), state.design, 0, 0)
        own = self.update(state, np.zeros(0, dtype=np.int64), np.zeros((0, state.geometry.game.m)))
        allowed = _candidates(state.geometry, None)
        return Loops(play_bpm.play_draws, (state.model, own.known, room, allowed))

    def promise(self, game: AnyGame | None) -> Promise:
        """Return that nothing is proven."""
        return practical()


@dataclass(frozen=True)
class BPMLeast(BPM):
    """Play the least played of the actions whose cells meet an ellipsoid of the outcomes.

    Parameters
    ----------
    regularization, allow_outside
        As for :class:`BPMTS`.
    radius
        "log": radius_t^2 = log(t + 1), a heuristic of published code with little regret. "derived":
        radius_t = (log t^2 + (log det W' P W - r log lambda) / 2)^(1/2) + (lambda (1 - 1/d))^(1/2),
        for which the ellipsoid contains the truth with probability at least 1 - 1/t^2.
    scale
        What the radius is multiplied with. Published runs sample the ellipsoid at tenths of its
        radius up to nine, hence 0.9: with it they are reproduced, with 1 regret is about 20 %
        larger. The guarantee holds from 1 on.

    Notes
    -----
    The paper's own radius is of the order of (k log(d t^2))^(1/2) with constants that are not known
    here; "derived" follows from the concentration of least squares with whitened signals, whose
    noise has the sub-Gaussian constant 2^(-1/2). Whether a cell is met is one quadratic program,
    solved exactly by a dual active-set method that mostly ends after one facet. If the ellipsoid
    lies outside the simplex, the nearest cell is meant. Of the actions between neighbours those
    that show nothing are left out. The distribution of a decision is all on one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.apple_tasting()
    >>> result = pm.simulate(game, "bpm_least", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["bpm_least"] < 60).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="finite, locally observable",
        guarantee='O(n^(1/2) log n) with radius="derived", scale at least 1; else none',
        cost="one small quadratic program per competing action, mostly O(f d^2) for f facets",
        reference=PAPER,
    )

    radius: str = "log"
    scale: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.one_of("radius", self.radius, RADII)
        validation.positive_number("scale", self.scale)

    def decide(self, state: BPMState, uniforms: Array, available: Array | None = None) -> Choices:
        from partial_monitoring.numerics.compiled import play_bpm

        if available is not None:
            raise InvalidInput(
                "available cannot be given with BPMLeast, which compares all actions."
            )
        cells, n = self.cells(state), len(state.round)
        room = scratch(n, state.design, len(cells.bounds), len(cells.actions))
        action = np.empty(n, dtype=np.int64)
        play_bpm.explore_all(state.model, state.known, cells, room, state.round, action)
        return Choices(action, point_mass(action, state.geometry.game.k), estimate=state.mean)

    def program(self, state: BPMState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled import play_bpm

        cells = self.cells(state)
        room = scratch(len(state.round), state.design, len(cells.bounds), len(cells.actions))
        own = self.update(state, np.zeros(0, dtype=np.int64), np.zeros((0, state.geometry.game.m)))
        return Loops(play_bpm.play_least, (state.model, own.known, room, cells))

    def promise(self, game: AnyGame | None) -> Promise:
        """Return what is proven, which depends on the radius."""
        if self.radius == "derived" and self.scale >= 1 and not self.allow_outside:
            return Promise(
                CERTIFIED,
                "regret of order n^(1/2) log n against random outcomes, from ellipsoids that "
                "contain the truth with probability at least 1 - 1/t^2",
            )
        return practical()

    def cells(self, state: BPMState) -> Any:
        """Return the cells of A in coordinates x, y as ``play_bpm.Cells``."""
        from partial_monitoring.numerics.compiled import play_bpm

        shape, own = state.geometry, state.design
        actions, (d, _) = shape.actions, own.basis.shape
        losses = -shape.game.features
        # Of the simplex, -theta_x <= 0; of neighbours (a, b), l_a - l_b <= 0 in a and its opposite.
        ends = [(actions.index(a), actions.index(b)) for a, b in shape.pairs]
        sides = [losses[a] - losses[b] for a, b in shape.pairs]
        normals = np.array([*-np.eye(d), *sides, *(-side for side in sides)])
        facets, bounds = normals @ own.basis, -normals @ own.prior_mean
        lengths = np.linalg.norm(facets, axis=1)
        kept = lengths > 0  # without any direction there is no facet
        facets, bounds = (
            facets / np.where(kept, lengths, 1)[:, None],
            bounds / np.where(kept, lengths, 1),
        )
        members: list[list[int]] = [list(range(d)) for _ in actions]
        for e, (a, b) in enumerate(ends):
            members[a].append(d + e)
            members[b].append(d + len(ends) + e)
        own_facets = np.full((len(actions), max(map(len, members))), -1)
        for a, found in enumerate(members):
            own_facets[a, : len(found)] = [f if kept[f] else -1 for f in found]
        return play_bpm.Cells(
            np.array(actions, dtype=np.int64),
            facets,
            bounds,
            own_facets,
            np.array(ends, dtype=np.int64).reshape(-1, 2),
            shape.neighborhoods & shape.useful,
            RADII.index(self.radius),
            float(self.scale),
            float(self.regularization),
            float(np.sqrt(1.0 - 1.0 / d)),
        )


def model_of(game: FiniteGame, own: Design) -> Any:
    """Return what actions show and cost in the observed coordinates: ``play_bpm.Model``."""
    from partial_monitoring.numerics.compiled import play_bpm

    basis = own.basis[:, : own.rank]  # W
    maps = game.observation_maps  # (k, m, d)
    sizes = maps.sum(axis=2, keepdims=True)  # S S' is diagonal: the outcomes of each symbol
    pull = (maps @ basis) / np.maximum(sizes, 1.0)
    shown = (maps @ basis).transpose(0, 2, 1) @ pull
    losses = -game.rewards
    return play_bpm.Model(
        np.ascontiguousarray(shown),
        np.ascontiguousarray(pull),
        np.ascontiguousarray(losses @ basis),
        np.ascontiguousarray(losses @ own.prior_mean),
    )


def scratch(n: int, own: Design, facets: int, cells: int) -> Any:
    """Return room for n replicates; without facets only for the observed coordinates."""
    from partial_monitoring.numerics.compiled import nearest, play_bpm

    r, m = own.rank, own.game.m
    dim = own.basis.shape[1] if facets else r
    near = nearest.Nearest(
        rows=np.zeros((n, facets, dim)),
        slack=np.zeros((n, facets)),
        basis=np.zeros((n, dim + 1, dim)),
        triangle=np.zeros((n, dim + 1, dim + 1)),
        lines=np.zeros((n, 4, dim + 1)),
        active=np.zeros((n, dim + 1), dtype=np.int64),
    )
    return play_bpm.Scratch(
        root=np.zeros((n, dim, dim)),
        x=np.zeros((n, dim)),
        noise=np.zeros((n, r)),
        shown=np.zeros((n, m)),
        near=near,
        reached=np.zeros((n, cells), dtype=bool),
    )


def _candidates(shape: Geometry, available: Array | None) -> Any:
    """Return which actions may be played, (k,): those of A that are available, if there are any."""
    competing = np.zeros(shape.game.k, dtype=bool)
    competing[list(shape.actions)] = True
    if available is None:
        return competing
    open_ = np.asarray(available, dtype=bool)
    return competing & open_ if (competing & open_).any() else open_.copy()
