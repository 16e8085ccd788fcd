"""What a confidence set E_t answers (section 3.1).

Gaps, information, optimism, Thompson sampling and a learner's status ask E_t and nothing else. It
is seen through k actions that compete in groups: one group in a plain game, one per context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices


class Improvement(NamedTuple):
    """What may be better than the greedy action, in expectation, and what tells about it."""

    gaps: Array
    """The sum of all expected improvements, plus what an action seems to lose, shape (n, k)."""
    information: Array
    """How much of their variances one observation of an action explains, weighted with the
    improvements, shape (n, k)."""


def counted_once(copies: Indices, offered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which actions are rivals: of those that always earn the same the first, (n, k).

    Only actions that are offered (n, k) are; ``copies`` (k,) are the same for those that do.
    """
    counted = np.zeros(offered.shape, dtype=bool)
    for row, own in enumerate(offered):
        chosen = np.flatnonzero(own)
        counted[row, chosen[np.unique(copies[chosen], return_index=True)[1]]] = True
    return counted


def first_of(mask: NDArray[np.bool_]) -> int | None:
    """Return the first place in a mask (k,), None if there is none."""
    first = int(mask.argmax())
    return first if mask[first] else None


class ConfidenceSet(ABC):
    """E_t of n replicates, seen through k actions in groups."""

    data: Any
    """The estimate around which it lies, with its design."""
    beta: Array
    """beta_t, the squared radius, shape (n,)."""
    schedule: Callable[[Array], Array] | None
    """What decided how wide it is, if known."""

    # -- what is known ---------------------------------------------------------------------------

    @property
    def game(self) -> Any:
        """The game whose actions these are."""
        return self.data.design.game

    @property
    def parameters(self) -> ParameterSet:
        """Theta."""
        found: ParameterSet = self.game.parameters
        return found

    @property
    def groups(self) -> Indices:
        """Where each group of competing actions starts, then k, shape (groups + 1,)."""
        return self.data.design.groups  # type: ignore[no-any-return]

    @property
    def k(self) -> int:
        """The number of actions."""
        return self.data.variances.shape[1]  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of replicates and of actions, (n, k)."""
        return self.data.variances.shape  # type: ignore[no-any-return]

    @property
    def round(self) -> Indices:
        """t, shape (n,)."""
        return self.data.round  # type: ignore[no-any-return]

    @property
    def log_det(self) -> Array:
        """Log det W_t - r log lambda, twice the information gained so far, shape (n,)."""
        return self.data.log_det  # type: ignore[no-any-return]

    @property
    def noise_std(self) -> float:
        """Rho."""
        return self.data.design.noise_std  # type: ignore[no-any-return]

    @property
    def signals(self) -> Array:
        """M_a V_t^-1 M_a' on the directions of Theta, shape (n, k, m, m)."""
        return self.data.signals  # type: ignore[no-any-return]

    @property
    def gap_ceiling(self) -> Array:
        """T: no gap exceeds it for any parameter in Theta, shape (k,)."""
        return self.data.design.gap_ceiling  # type: ignore[no-any-return]

    @property
    def always_best(self) -> NDArray[np.bool_]:
        """Actions that are best in their group whatever the parameter in Theta, shape (k,)."""
        return self.data.design.always_best  # type: ignore[no-any-return]

    @property
    def dominant(self) -> int | None:
        """The first of these actions, None if there are none."""
        return self.data.design.dominant  # type: ignore[no-any-return]

    @property
    @abstractmethod
    def center(self) -> Array:
        """theta_hat, the estimate in E_t, shape (n, d)."""

    @property
    @abstractmethod
    def estimate(self) -> Array:
        """The estimate that a decision reports: theta_hat (n, d), or f_hat (n, k)."""

    @property
    @abstractmethod
    def means(self) -> Array:
        """Rewards at theta_hat, shape (n, k)."""

    @property
    @abstractmethod
    def lengths(self) -> Array:
        """|phi_a| in the norm of V_t^-1 on the directions of Theta, shape (n, k)."""

    @property
    @abstractmethod
    def outside(self) -> Array:
        """How far the data pull the estimate out of Theta, |.|^2 in the norm of V_t, (n,)."""

    @property
    @abstractmethod
    def uncut(self) -> ConfidenceSet:
        """The whole ellipsoid around the estimate on the affine hull of Theta."""

    # -- what a rule asks ------------------------------------------------------------------------

    @abstractmethod
    def exact_gaps(self) -> Array:
        """Return max over b in the group and theta in E_t of <phi_b - phi_a, theta>, (n, k)."""

    def lazy_gaps(self, information: Array, kappa: float, zero: float) -> Array | None:
        """Return gaps (n, k) with the same minimiser of gap^kappa / information as the exact ones.

        Those on its support are exact, the others lower bounds. Gaps below the fraction ``zero`` of
        the largest are noise. None if only all exact gaps are known.
        """
        return None

    @abstractmethod
    def relaxed_gaps(self) -> Array:
        """Return delta + max over E_t of <phi_g - phi_a, theta>, with g the greedy action, (n, k).

        delta is the largest plausible gap of g.
        """

    @abstractmethod
    def greedy_gaps(self) -> Array:
        """Return delta + <phi_g - phi_a, theta_hat>, with delta not cut by Theta, (n, k)."""

    @abstractmethod
    def distances(self, row: int, action: int) -> Array:
        """Return |phi_a - phi_b|^2 in the norm of V_t^-1 for all a and one b, shape (k,)."""

    def widths(self, row: int, action: int) -> Array:
        """Return beta^(1/2) |phi_a - phi_b| for all a and one b, of the ellipsoid, shape (k,)."""
        return np.asarray(np.sqrt(self.distances(row, action) * self.beta[row]))

    @abstractmethod
    def duels(self) -> tuple[Array, Indices, Array]:
        """Return greedy gaps (n, k), the greedy action g (n,), and |phi_a - phi_g|^2 (n, k)."""

    @property
    @abstractmethod
    def improvement(self) -> Improvement:
        """Expected improvements over the greedy action of each group, and information on them."""

    @abstractmethod
    def improvement_of_duels(self) -> tuple[Improvement, Indices, Array]:
        """Return gaps of items and information of their duels with the greedy item g, (n, k).

        Then g itself (n,), and |phi_a - phi_g|^2 (n, k).
        """

    @abstractmethod
    def directed(self, *, relaxed: bool) -> Array:
        """Return the information about the two plausible optima that differ most, (n, k)."""

    @abstractmethod
    def ahead(self, row: int) -> tuple[Array, NDArray[np.bool_], Callable[[], NDArray[np.bool_]]]:
        """Return what one replicate may find better than the action g that looks best.

        How far each action may be ahead of g (k,), which may be at least as good (k,), and a
        function that decides which of those are best for some parameter in E_t (k,).
        """

    @abstractmethod
    def expected(self, game: Any, action: int) -> Array:
        """Return what an action of a game shows on average at theta_hat, shape (n, m_a)."""

    @abstractmethod
    def sample(self, normals: Array, scale: Array | float) -> Array:
        """Return the rewards of one draw theta ~ N(theta_hat, scale^2 V_t^-1) each, (n, k)."""

    @abstractmethod
    def restricted(self, actions: Indices) -> Self:
        """Return E_t, seen through some of the actions."""

    def intervals(self, actions: Indices, against: int | None = None) -> tuple[Array, Array]:
        """Return the least and the largest rewards of some actions (q,) in E_t, shapes (n, q).

        With ``against`` these are differences from the reward of that action.
        """
        features = self.game.features
        rows = features[actions] - (0.0 if against is None else features[against])
        return -self.support(-rows), self.support(rows)

    # -- the set itself --------------------------------------------------------------------------

    @abstractmethod
    def support(self, directions: ArrayLike) -> Array:
        """Return max <c, theta> over E_t for directions (q, d), shape (n, q)."""

    @abstractmethod
    def maximizer(self, directions: ArrayLike) -> Array:
        """Return where the maximum is attained, shape (n, q, d)."""

    @abstractmethod
    def observation_covariance(self, maps: ArrayLike) -> Array:
        """Return M V_t^-1 M' for maps (q, m, d), shape (n, q, m, m)."""
