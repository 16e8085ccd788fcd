"""Regret bounds of the theory with their constants (sections 3 and 4).

The constants follow the paper with the corrections E13-E17, E19 and E23 of ``docs/paper-notes.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import games, validation
from partial_monitoring.analysis.alignment import pair_alignment
from partial_monitoring.analysis.analysis import Analysis, analyze_game
from partial_monitoring.analysis.cells import on_segment
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.analysis.duels import (
    DuelAnalysis,
    analyze_duels,
    items_of,
    many_duels,
    telling_duels,
)
from partial_monitoring.analysis.guarantees import (
    Growth,
    Guarantee,
    Learning,
    amount,
    delta_max,
    horizons,
    informative_from,
    radius_of,
    refuse_other_analysis,
)
from partial_monitoring.analysis.table_1 import FiniteAlignmentBounds, finite_alignment_bounds
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, brief, real_array


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Guarantee):
    """Guarantees of IDS on one game, for one or several horizons.

    Entries are arrays over the horizons; infinite where the theorem says nothing.
    """

    rank: int
    """r: the dimension of what can be observed of the parameter."""
    alignment: float
    """alpha, the global alignment constant."""
    local_alignment: float
    """A bound of alpha(E) for every convex E; infinite if the game is not locally observable."""
    finite: FiniteAlignmentBounds | None
    """For finite games, the bounds of alpha that need no computation (lemma, a to c)."""
    global_regret: Array
    """The bound of globally observable games."""
    local_regret: Array
    """The bound of locally observable games."""

    @property
    def regret(self) -> Array:
        """The better of the two."""
        return np.minimum(self.global_regret, self.local_regret)

    def _constants(self) -> list[str]:
        near = (
            f"{amount(self.local_alignment)} near the truth"
            if np.isfinite(self.local_alignment)
            else "unbounded near the truth"
        )
        return [
            *super()._constants(),
            f"The alignment constant is {amount(self.alignment)} globally, {near}; {self.rank} "
            f"direction{'' if self.rank == 1 else 's'} of the unknown can be observed.",
        ]


def bounds(
    game: Game | str,
    horizon: ArrayLike,
    *,
    analysis: Analysis | DuelAnalysis | None = None,
    information: str = "log_det",
    regularization: float = 1.0,
    norm_bound: float | None = None,
    max_gap: float | None = None,
    local_alignment: float | None = None,
) -> Bounds:
    """Return the regret bounds of IDS.

    Parameters
    ----------
    game
        The game, or its name in ``pm.games``.
    horizon
        n, or several of them to draw a curve.
    analysis
        The analysis of the game, if it was computed before.
    information
        "log_det", or "directed" for the directed information J: gamma_n grows by a factor of
        8, and the product of ratio and gain is 216 in the global theorem, 16 in the local one.
    regularization, norm_bound
        lambda and B; B comes from the parameter set (from its default prior mean), on R^d it is 1.
    max_gap
        Delta_max; without it the largest gap over the parameter set.
    local_alignment
        An average or a bound of alpha(E_t); without it :func:`uniform_local_alignment`.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> b = pm.bounds(pm.games.apple_tasting(), [10**4, 10**6])
    >>> bool(b.local_regret[1] / b.local_regret[0] < 20)
    True
    """
    n, lam = horizons(horizon), validation.positive_number("regularization", regularization)
    validation.one_of("information", information, ("log_det", "directed"))
    known = games.named(game)
    given: Game = known if many_duels(known) else known.linear  # type: ignore[assignment]
    if norm_bound is None and known.traits.function:
        norm_bound = known.norm_bound  # type: ignore[attr-defined]
    refuse_other_analysis(analysis, given)
    near = None if local_alignment is None else _constant("local_alignment", local_alignment)
    if many_duels(known):
        found, few = analyze_duels(known) if analysis is None else analysis, telling_duels(known)
        near = (4.0 if found.category == "easy" else 0.0) if near is None else near
        if max_gap is None:
            radius = radius_of(few.parameters, norm_bound)
            max_gap = 2 * delta_max(items_of(known), radius)  # a gap is one of each item
    else:
        few = whitened(given) if np.ndim(given.noise_std) > 0 else given
        whole = analyze_game(few) if analysis is None or few is not given else analysis
        near = uniform_local_alignment(whole) if near is None else near  # type: ignore[arg-type]
        found = whole
    growth, alpha = Growth.of([few], lam, norm_bound, max_gap), float(found.alignment)
    # The ratio of J is that of log_det times 4 in the global bound, its information 2 c times.
    directed = information == "directed"
    ratio = 4.0 if directed else 1.0

    def regrets(learned: Learning) -> tuple[Array, Array]:
        """Return the global and the local bound, shapes (n,)."""
        if found.category == "trivial":
            return np.zeros_like(learned.horizon), np.zeros_like(learned.horizon)
        return learned.bound_far(ratio * alpha), learned.bound_near(near)

    learned = growth.at(n)
    scale = 2 * learned.information_constant if directed else 1.0
    total = {"total_information": learned.total_information * scale}
    far_regret, near_regret = regrets(learned)
    return Bounds(
        **vars(learned) | total,
        informative_from=informative_from(
            lambda rounds: np.minimum(*regrets(growth.at(rounds))), growth.max_gap
        ),
        rank=found.rank,
        alignment=alpha,
        local_alignment=near,
        finite=finite_alignment_bounds(few) if few.traits.finite else None,  # type: ignore[arg-type]
        global_regret=far_regret,
        local_regret=near_regret,
    )


def _constant(name: str, value: object) -> float:
    """Return a number that is not negative, possibly infinite."""
    number = float(real_array(name, value, (), finite=False))  # type: ignore[arg-type]
    if not number >= 0:
        raise InvalidInput(f"{name} must not be negative; got {brief(value)}.")
    return number


def whitened(game: Game) -> Game:
    """Return the game with its noise divided out of the maps, so that rho is 1 everywhere."""
    noise = np.broadcast_to(game.noise_std, (game.k,))
    maps = [game.rows(a) / noise[a] for a in range(game.k)]
    return Game(game.features, maps, game.parameters, 1.0, game.actions)


def uniform_local_alignment(analysis: Analysis) -> float:
    """Return a bound of the local alignment alpha(E) that holds for every convex set E.

    Infinite if the game is not locally observable. For a and b both plausible, the actions on the
    segment between them have gaps no larger than theirs, so alpha(E) <= max alpha_ab(segment).
    Where a segment does not observe its own ends, E contains a chain of neighbours from a to b,
    each visited once, and the square roots add up.
    """
    actions = analysis.representatives
    if len(actions) < 2:
        return 0.0
    if not analysis.locally_observable:
        return np.inf
    game, faces = analysis.game, analysis.cells.faces
    chart, every = local_coordinates(game), np.arange(game.k)

    def between(a: int, b: int) -> list[int]:
        """Return the actions on the segment, which may be dominated unless a and b are neighbours.

        Those of the neighbourhood, decided in exact arithmetic where possible, are among them.
        """
        near = every[on_segment(chart, a, b, every)]
        return sorted({*faces[a, b].neighborhood, *near.tolist()})

    roots = {
        (a, b): np.sqrt(pair_alignment(game, a, b, between(a, b)).value)
        for i, a in enumerate(actions)
        for b in actions[i + 1 :]
    }
    steps = sorted(root for pair, root in roots.items() if faces[pair].neighbors)
    chain = float(sum(steps[-(len(actions) - 1) :]))
    return max(min(float(root), chain) for root in roots.values()) ** 2
