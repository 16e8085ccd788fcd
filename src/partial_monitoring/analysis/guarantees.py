"""What regret bounds are made of: the growth of information and confidence, and their words.

The constants follow the paper with the corrections E13-E16 and E23 of ``docs/paper-notes.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.analysis.coordinates import all_actions
from partial_monitoring.display import Sheet, TableCell, as_html, number, shortened
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, brief, non_negative_number, real_array

FAILED_ROUNDS = np.pi**2 / 6
"""Sum of 1/t^2, at least the expected number of rounds whose confidence set misses the truth."""

DOUBLINGS: Array = 2.0 ** np.arange(64, dtype=np.float64)
"""Horizons among which the first is sought at which a bound says something."""

MOST_HORIZONS = 6
"""Largest number of horizons that are explained one by one."""


@dataclass(frozen=True, eq=False)
class Learning:
    """The growth of information and confidence; arrays are over the horizons."""

    horizon: Array
    """n: the numbers of rounds for which the bounds hold."""
    regularization: float
    """lambda, of the least-squares estimate."""
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
    apart: float | Array
    """Twice the largest reward difference of two plausible parameters: 4 |phi| B (E23)."""

    def bound_far(self, alpha: float) -> Array:
        """Return n^(2/3) (54 alpha beta gamma (Delta_max + 4B))^(1/3) + ..., where c = 4."""
        ceiling = self.max_gap + self.apart
        with np.errstate(invalid="ignore", over="ignore"):  # infinity times zero, and beyond
            psi = 27 / 2 * self.information_constant * alpha * self.beta * ceiling
        return self._bound(psi, 3)

    def bound_near(self, alpha: float) -> Array:
        """Return (16 alpha beta gamma n)^(1/2) + ..., where c = 4 (E16)."""
        with np.errstate(invalid="ignore", over="ignore"):  # infinity times zero, and beyond
            psi = 4 * self.information_constant * alpha * self.beta
        return self._bound(psi, 2)

    def _bound(self, psi: Array, kappa: float) -> Array:
        """Apply the general theorem if the information ratio is bounded at all."""
        if not np.isfinite(psi).all():
            return np.full_like(self.horizon, np.inf)
        missed = self.max_gap * FAILED_ROUNDS
        with np.errstate(over="ignore"):
            return _general(psi, self.total_information, self.horizon, kappa, missed)


@dataclass(frozen=True, eq=False, repr=False)
class Guarantee(Learning):
    """Regret bounds with words: what they guarantee, and from which round they say something."""

    informative_from: float
    """The first round from which the bound is below the largest possible loss; infinite if there
    is none."""

    @property
    def regret(self) -> Array:
        """The regret bound of the theorems; infinite where they say nothing."""
        raise NotImplementedError

    @property
    def largest_loss(self) -> Array:
        """What any policy can lose at most: n Delta_max."""
        return self.horizon * self.max_gap

    @property
    def guaranteed(self) -> Array:
        """The smaller of the theorems' bound and the largest possible loss."""
        return np.minimum(self.regret, self.largest_loss)

    def explain(self) -> str:
        """Say in plain sentences what is guaranteed, and where the bound says nothing."""
        if not np.isfinite(self.regret).any():
            first = "No theorem bounds the regret of IDS here: what matters cannot be observed."
            return "\n".join([first, *self._constants()])
        rows = zip(self.horizon, self.regret, self.largest_loss, strict=True)
        lines = [
            "…" if row is None else _sentence(*row)
            for row in shortened([*rows], most=MOST_HORIZONS)
        ]
        if (self.regret >= self.largest_loss).any() and (self.regret > 0).any():
            lines.append(f"The bound says nothing before {self._first_round()}.")
        return "\n".join([*lines, *self._constants()])

    def _first_round(self) -> str:
        if np.isinf(self.informative_from):
            return "any round that is ever played"
        return f"round {amount(self.informative_from)}"

    def _constants(self) -> list[str]:
        """Return sentences on the constants of the bound."""
        return [
            f"No policy can lose more than {amount(self.max_gap)} in a round (Delta_max); the "
            f"truth is taken to lie within {amount(self.norm_bound)} of the prior mean (B), the "
            f"noise to have size {amount(self.noise_std)} (rho)."
        ]

    def __repr__(self) -> str:
        n, bound = self.horizon[-1], self.guaranteed[-1]
        proof = "" if bound < self.largest_loss[-1] or bound == 0 else ", which says nothing"
        return f"{type(self).__name__}(regret at most {amount(bound)} after {_rounds(n)}{proof})"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        rows = zip(self.horizon, self.regret, self.largest_loss, strict=True)
        dots = ("…",) * 3
        cells = [
            dots if row is None else tuple(map(amount, row))
            for row in shortened([*rows], most=MOST_HORIZONS)
        ]
        notes = self.explain().splitlines()
        kept = [line for line in notes if not line.startswith(("After", "…"))]
        columns = ("rounds", "bound of the theorems", "lost at most by any policy")
        table = tuple(tuple(map(TableCell, row)) for row in cells)
        return as_html([Sheet("Regret bounds of IDS", columns, table, tuple(kept))])


def _sentence(n: float, bound: float, most: float) -> str:
    if bound == 0:
        return f"After {_rounds(n)} the regret is 0: one action is always best."
    if bound < most:
        return f"After {_rounds(n)} the regret of IDS is at most {amount(bound)}."
    return (
        f"After {_rounds(n)} the theorems allow a regret of {amount(bound)}, but no policy can "
        f"lose more than {amount(most)}."
    )


def _rounds(n: float) -> str:
    return f"{amount(n)} round{'' if n == 1 else 's'}"


def amount(value: float) -> str:
    """Show a size for people.

    >>> amount(1234567.8), amount(0.25), amount(3e20), amount(float("inf"))
    ('1,234,568', '0.25', '3e+20', 'infinity')
    """
    if np.isinf(value):
        return "infinity"
    return f"{value:,.0f}" if 100 <= abs(value) < 1e15 else number(float(value))


def informative_from(regret: Callable[[Array], Array], max_gap: float) -> float:
    """Return the first round from which a bound is below n max_gap; infinite if there is none.

    >>> informative_from(lambda n: 10 * np.sqrt(n), 1.0)
    101.0
    """

    def silent(n: Array) -> Array:
        bound = regret(n)
        return np.asarray((bound >= n * max_gap) & (bound > 0))

    without = np.flatnonzero(silent(DOUBLINGS))
    if len(without) == 0:
        return 1.0
    if without[-1] == len(DOUBLINGS) - 1:
        return np.inf
    low, high = DOUBLINGS[without[-1] : without[-1] + 2].tolist()
    while (middle := float((low + high) // 2)) not in (low, high):
        low, high = (middle, high) if silent(np.array([middle]))[0] else (low, middle)
    return float(high)


@dataclass(frozen=True, eq=False)
class Growth:
    """The numbers of games, one per context and of equal noise, from which bounds follow."""

    game: Game
    """All actions of the games."""
    regularization: float
    norm_bound: float
    noise_std: float
    map_bound: float
    max_gap: float
    longest: float
    """The largest norm of a feature."""
    bounded: bool
    """Whether Theta is bounded."""

    @classmethod
    def of(
        cls,
        games: Sequence[Game],
        regularization: float,
        norm_bound: float | None,
        max_gap: float | None = None,
    ) -> Growth:
        """Compute the numbers of games; the norm bound comes from Theta unless it is given."""
        parameters, rho = games[0].parameters, float(np.ravel(games[0].noise_std)[0])
        whole = games[0] if len(games) == 1 else all_actions(games)
        big_b = radius_of(parameters, norm_bound)
        if max_gap is None:
            gap = max(delta_max(game, big_b) for game in games)
        else:
            gap = non_negative_number("max_gap", max_gap)
        longest = float(np.linalg.norm(whole.features, axis=1).max())
        bounded = bool(np.isfinite(parameters.diameter()))
        return cls(whole, regularization, big_b, rho, map_bound(whole), gap, longest, bounded)

    def at(self, n: Array) -> Learning:
        """Return the growth of information and confidence up to horizons, shape (n,)."""
        lam, big_b = self.regularization, self.norm_bound
        before = self._total_information(n - 1)
        beta = (self.noise_std * np.sqrt(2 * before + 4 * np.log(n)) + np.sqrt(lam) * big_b) ** 2
        # Two plausible parameters are 2B apart on a bounded set, 2 (beta / lambda)^(1/2) on R^d
        # (E23).
        reach = big_b if self.bounded else np.sqrt(beta / lam)
        return Learning(
            horizon=n,
            regularization=lam,
            norm_bound=big_b,
            noise_std=self.noise_std,
            map_bound=self.map_bound,
            information_constant=information_constant(self.map_bound, lam),
            max_gap=self.max_gap,
            total_information=self._total_information(n),
            beta=beta,
            apart=4 * self.longest * reach,
        )

    def _total_information(self, n: Array) -> Array:
        return information_growth(self.game, n, self.regularization, self.map_bound)


def radius_of(parameters: ParameterSet, norm_bound: float | None) -> float:
    """Return B: as given, or that of the set from its default prior mean; 1 if it is unbounded."""
    if norm_bound is not None:
        return non_negative_number("norm_bound", norm_bound)
    return parameters.assumed_bound(parameters.relative_interior_point())


def refuse_other_analysis(analysis: object, game: object) -> None:
    """Refuse an analysis that is not one of the given game; None is accepted."""
    if analysis is None or getattr(analysis, "game", None) is game:
        return
    got = "one of another game" if hasattr(analysis, "game") else brief(analysis)
    raise InvalidInput(f"analysis must be one of the same game; got {got}.")


def horizons(horizon: ArrayLike) -> Array:
    """Return one or several numbers of rounds as an array, shape (n,)."""
    several = validation.axes(horizon) > 0
    n = np.atleast_1d(real_array("horizon", horizon, ("n",) if several else ()))
    if (n < 1).any() or len(n) == 0:
        raise InvalidInput(f"horizon must be at least 1; got {brief(horizon)}.")
    return n


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
    if not validation.real_number("kappa", kappa) >= 2:
        raise InvalidInput(f"kappa must be at least 2; got {kappa!r}.")
    n = _not_negative("horizon", horizon)
    ratio = _not_negative("information_ratio", information_ratio)
    gained, lost = (
        _not_negative("total_information", total_information),
        non_negative_number("missed", missed),
    )
    lengths = {len(array) for array in (n, ratio, gained) if array.ndim}
    if len(lengths) > 1:
        raise InvalidInput(
            f"information_ratio, total_information and horizon must have equal lengths; got "
            f"{', '.join(map(str, sorted(lengths)))}."
        )
    return _general(ratio, gained, n, kappa, lost)


def _general(ratio: Array, gained: Array, n: Array, kappa: float, missed: float) -> Array:
    return np.asarray((ratio * gained) ** (1 / kappa) * n ** (1 - 1 / kappa) + missed)


def _not_negative(name: str, value: ArrayLike) -> Array:
    array = real_array(name, value, () if validation.axes(value) == 0 else ("n",))
    if (array < 0).any():
        raise InvalidInput(f"{name} must not be negative; got {float(array.min()):g}.")
    return array


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
    return information_growth(game, n, regularization, map_bound(game))


def information_growth(game: Game, n: Array, regularization: float, map_bound: float) -> Array:
    """Return the bound of gamma_n, given L."""
    r = game.rank
    if r == 0:
        return np.zeros_like(n)
    size = min(max(game.row_counts), r) * map_bound**2
    return np.asarray(r / 2 * np.log1p(n * size / (regularization * r)))


def map_bound(game: Game) -> float:
    """Return L, the largest spectral norm of a map on the directions that can be observed."""
    seen = game.observation_maps @ game.reduced.basis
    return float(np.linalg.norm(seen, ord=2, axis=(1, 2)).max()) if seen.size else 0.0


def delta_max(game: Game, norm_bound: float) -> float:
    """Return the largest gap over Theta; on an unbounded set over the ball of radius B."""
    largest = 0.0
    for phi in game.features:
        largest = max(largest, float(game.parameters.support(game.features - phi).max()))
        if np.isinf(largest):
            break
    else:
        return largest
    center = game.parameters.relative_interior_point()
    return max(
        float((away @ center + norm_bound * np.linalg.norm(away, axis=1)).max())
        for away in (game.features - phi for phi in game.features)
    )
