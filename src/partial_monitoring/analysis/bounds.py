"""Regret bounds of the theory with their constants (sections 3 and 4).

The constants follow the paper with the corrections E13-E17, E19 and E23 of ``docs/paper-notes.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.analysis.alignment import pair_alignment
from partial_monitoring.analysis.analysis import Analysis, analyze_game
from partial_monitoring.analysis.table_1 import FiniteAlignmentBounds, finite_alignment_bounds
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.validation import (
    Array,
    non_negative_number,
    one_of,
    positive_number,
    real_array,
    real_number,
)

FAILED_ROUNDS = np.pi**2 / 6
"""Sum of 1/t^2, at least the expected number of rounds whose confidence set misses the truth."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Guarantees of IDS on one game, for one or several horizons.

    Entries are arrays over the horizons; infinite where the theorem says nothing.
    """

    horizon: Array
    rank: int
    regularization: float
    norm_bound: float
    """B: the largest distance of the truth from the prior mean."""
    noise_std: float
    """rho: 1 if the noise depends on the action (the maps are then divided by it)."""
    map_bound: float
    """L: the largest spectral norm of a map M_a W on the directions that can be observed."""
    information_constant: float
    """c with |M_a W|^2 <= c I(a): 4 if regularization >= L^2, larger below (E13)."""
    max_gap: float
    """Delta_max: the largest gap that any parameter gives."""
    total_information: Array
    """gamma_n <= r/2 log(1 + n min(m, r) L^2 / (lambda r)) (E14)."""
    beta: Array
    """beta_n at failure probability 1/n^2, with gamma_{n-1} (E15)."""
    alignment: float
    """alpha, the global alignment constant."""
    local_alignment: float
    """A bound of alpha(E) for every convex E; infinite if the game is not locally observable."""
    finite: FiniteAlignmentBounds | None
    """For finite games, the bounds of alpha that need no computation (lemma, a to c)."""
    global_regret: Array
    """Globally observable games: n^(2/3) (54 alpha beta gamma (Delta_max + 4B))^(1/3) + ..."""
    local_regret: Array
    """Locally observable games: (16 alpha(E) beta gamma n)^(1/2) + ... (E16)."""

    @property
    def regret(self) -> Array:
        """The better of the two."""
        return np.minimum(self.global_regret, self.local_regret)


def bounds(
    game: Game,
    horizon: ArrayLike,
    *,
    analysis: Analysis | None = None,
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
        The game.
    horizon
        n, or several of them to draw a curve.
    analysis
        The analysis of the game, if it is at hand.
    information
        "log_det", or "directed" for the directed information J, for which gamma_n grows by a
        factor of 8 and the information ratio shrinks by 2 (E17).
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
    n = horizons(horizon)
    one_of("information", information, ("log_det", "directed"))
    lam = positive_number("regularization", regularization)
    if norm_bound is None and game.traits.function:
        norm_bound = game.norm_bound  # type: ignore[attr-defined]
    game = game.linear
    if analysis is not None and analysis.game is not game:
        raise InvalidInput("analysis must be one of the same game; got one of another game.")
    if np.ndim(game.noise_std) > 0:
        game = whitened(game)
        analysis = None
    found = analyze_game(game) if analysis is None else analysis
    learned = learning(game, n, lam, norm_bound)
    constant, gamma, beta = learned.constant, learned.information, learned.beta
    big_b = learned.norm_bound
    gap = delta_max(game, big_b) if max_gap is None else non_negative_number("max_gap", max_gap)
    ceiling = gap + learned.apart
    near = uniform_local_alignment(found) if local_alignment is None else local_alignment
    ratio = 1.0 if information == "log_det" else 4.0
    missed = gap * FAILED_ROUNDS
    if found.category == "trivial":
        far = close = np.zeros_like(n)
    else:
        psi_3 = 27 / 2 * constant * ratio * found.alignment * beta * ceiling
        far = bound_or_inf(psi_3, gamma, n, 3, missed)
        close = bound_or_inf(4 * constant * near * beta, gamma, n, 2, missed)
    return Bounds(
        horizon=n,
        rank=found.rank,
        regularization=lam,
        norm_bound=big_b,
        noise_std=learned.noise_std,
        map_bound=learned.map_bound,
        information_constant=constant,
        max_gap=gap,
        total_information=gamma * (1.0 if information == "log_det" else 2 * constant),
        beta=beta,
        alignment=float(found.alignment),
        local_alignment=float(near),
        finite=finite_alignment_bounds(game) if game.traits.finite else None,  # type: ignore[arg-type]
        global_regret=far,
        local_regret=close,
    )


def horizons(horizon: ArrayLike) -> Array:
    """Return one or several numbers of rounds as an array, shape (n,)."""
    n = np.atleast_1d(real_array("horizon", horizon, ("n",) if np.ndim(horizon) else ()))
    if (n < 1).any() or len(n) == 0:
        raise InvalidInput(f"horizon must be at least 1; got {horizon!r}.")
    return n


@dataclass(frozen=True, eq=False)
class Learning:
    """The growth of information and confidence; arrays are over the horizons n."""

    noise_std: float
    map_bound: float
    norm_bound: float
    constant: float
    """Of the information gain, see :func:`information_constant`."""
    information: Array
    """gamma_n."""
    beta: Array
    """beta_n (E15)."""
    apart: float | Array
    """Twice the largest reward difference of two plausible parameters: 4 |phi| B (E23)."""


def learning(game: Game, n: Array, lam: float, norm_bound: float | None) -> Learning:
    """Return the growth of information and confidence where all actions have the same noise."""
    big_b = _norm_bound(game, norm_bound)
    rho, big_l = _noise_and_maps(game)
    before = total_information_bound(game, n - 1, lam)
    beta = (rho * np.sqrt(2 * before + 4 * np.log(n)) + np.sqrt(lam) * big_b) ** 2
    phi = float(np.linalg.norm(game.features, axis=1).max())
    # Two plausible parameters are 2B apart on a bounded set, 2 (beta / lambda)^(1/2) on R^d (E23).
    bounded = np.isfinite(game.parameters.diameter())
    return Learning(
        rho,
        big_l,
        big_b,
        information_constant(big_l, lam),
        total_information_bound(game, n, lam),
        beta,
        4 * phi * (big_b if bounded else np.sqrt(beta / lam)),
    )


def bound_or_inf(psi: Array, gamma: Array, n: Array, kappa: float, missed: float) -> Array:
    """Apply the general theorem where the information ratio is bounded at all."""
    if not np.isfinite(psi).all():
        return np.full_like(n, np.inf)
    return regret_bound(psi, gamma, n, kappa=kappa, missed=missed)


def regret_bound(
    information_ratio: ArrayLike,
    total_information: ArrayLike,
    horizon: ArrayLike,
    *,
    kappa: float = 2.0,
    missed: float = 0.0,
) -> Array:
    """Return the bound of the general theorem for any kappa >= 2.

    R_n <= (mean Psi_kappa * gamma_n)^(1/kappa) n^(1 - 1/kappa) + missed, where mean Psi_kappa is a
    bound of the information ratio, or its realised average over the n rounds of a finished run, and
    gamma_n the information gained in them.

    >>> float(regret_bound(4.0, 25.0, 100, kappa=2))
    100.0
    """
    if not real_number("kappa", kappa) >= 2:
        raise InvalidInput(f"kappa must be at least 2; got {kappa!r}.")
    n = _not_negative("horizon", horizon)
    ratio = _not_negative("information_ratio", information_ratio)
    product = ratio * _not_negative("total_information", total_information)
    return np.asarray(product ** (1 / kappa) * n ** (1 - 1 / kappa) + missed)


def _not_negative(name: str, value: ArrayLike) -> Array:
    array = real_array(name, value, () if np.ndim(value) == 0 else ("n",))
    if (array < 0).any():
        raise InvalidInput(f"{name} must not be negative; got {float(array.min()):g}.")
    return array


def whitened(game: Game) -> Game:
    """Return the game with its noise divided out of the maps, so that rho is 1 everywhere."""
    noise = np.broadcast_to(game.noise_std, (game.k,))
    maps = [game.rows(a) / noise[a] for a in range(game.k)]
    return Game(game.features, maps, game.parameters, 1.0, game.actions)


def information_constant(map_bound: float, regularization: float) -> float:
    """Return c such that |M W|^2 in the norm of W_t^-1 is at most c times the information gain.

    x <= [x0 / log(1 + x0)] log(1 + x) for 0 <= x <= x0 = L^2 / lambda; the paper's c = 4 covers
    all x0 up to 2.51 (E13).
    """
    x0 = map_bound**2 / regularization
    return max(4.0, 2 * x0 / float(np.log1p(x0))) if x0 > 0 else 4.0


def total_information_bound(game: Game, horizon: ArrayLike, regularization: float = 1.0) -> Array:
    """Return the bound of gamma_n, the information gained in n rounds (E14).

    gamma_n <= (r/2) log(1 + n min(m, r) L^2 / (lambda r)); zero if nothing can be observed.
    """
    n = np.asarray(horizon, dtype=float)
    r = game.rank
    if r == 0:
        return np.zeros_like(n)
    _, big_l = _noise_and_maps(game)
    rows = max(game.row_counts)
    return np.asarray(r / 2 * np.log1p(n * min(rows, r) * big_l**2 / (regularization * r)))


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
    faces = analysis.cells.faces
    roots = {
        (a, b): np.sqrt(pair_alignment(analysis.game, a, b, faces[a, b].neighborhood).value)
        for i, a in enumerate(actions)
        for b in actions[i + 1 :]
    }
    steps = sorted(root for pair, root in roots.items() if faces[pair].neighbors)
    chain = float(sum(steps[-(len(actions) - 1) :]))
    return max(min(float(root), chain) for root in roots.values()) ** 2


def _norm_bound(game: Game, given: float | None) -> float:
    if given is not None:
        return non_negative_number("norm_bound", given)
    bound = game.parameters.norm_bound(game.parameters.relative_interior_point())
    return bound if np.isfinite(bound) else 1.0


def _noise_and_maps(game: Game) -> tuple[float, float]:
    """Return rho and L; noise that depends on the action is divided out of the maps."""
    seen = game.observation_maps @ game.reduced.basis
    sizes = np.linalg.norm(seen, ord=2, axis=(1, 2)) if seen.size else np.zeros(game.k)
    noise = np.broadcast_to(game.noise_std, (game.k,))
    if np.ndim(game.noise_std) == 0:
        return float(noise[0]), float(sizes.max())
    return 1.0, float((sizes / noise).max())


def delta_max(game: Game, norm_bound: float) -> float:
    """Return the largest gap over Theta; on an unbounded set over the ball of radius B."""
    best = -np.inf
    for phi in game.features:
        best = max(best, float(game.parameters.support(game.features - phi).max()))
    if np.isfinite(best):
        return best
    center = game.parameters.relative_interior_point()
    away = game.features[:, None] - game.features[None]
    return float((away @ center + norm_bound * np.linalg.norm(away, axis=-1)).max())
