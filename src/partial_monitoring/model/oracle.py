"""Linear games whose actions are found by an oracle instead of a list."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.any_game import AnyGame, Traits
from partial_monitoring.model.feedback import Feedback, NoiseFunction, noise_named
from partial_monitoring.model.game import checked_parameters
from partial_monitoring.model.oracles import Oracle
from partial_monitoring.model.truths import Truths
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices, brief

BITS = 62
"""Number of bits of the numbers of actions."""

SHOWS = ("semi-bandit", "bandit")
"""What actions show unless a function says it: each of their entries, or the sum."""


class OracleGame(AnyGame):
    """A linear game with too many actions to list, of which an oracle knows the best.

    An action is the vector phi of its features; playing it earns <phi, theta>, unseen, and shows
    M(phi) theta with noise. Paths, trees, matchings and other sets of items have phi = 1 for their
    items and 0 for the others.

    Parameters
    ----------
    oracle
        theta (d,) -> phi (d,), the action with the largest <phi, theta>. It may have an attribute
        ``log_count``, the logarithm of the number of actions (d log 2 is taken otherwise), and one
        ``antichain``, True if no set of items contains another.
    parameters
        The set Theta.
    noise_std
        Sub-Gaussian constant of the noise.
    shows
        "semi-bandit" (theta_i for every entry of phi that is not zero), "bandit" (<phi, theta>), or
        a function phi (d,) -> M(phi), shape (m_a, d).
    observers
        Actions that may be explored with, shape (q, d); policies take those that they need, by the
        rank that their maps add. Found with the oracle unless given.
    second
        theta (d,) -> the second best action; found by leaving out items unless given.
    m
        The largest number of rows that a function ``shows`` returns; that of the observers unless
        given.
    noise
        As for :class:`Game`.

    Notes
    -----
    Actions are numbered by a hash of their features, so that a number means the same in every run.
    A number or label is understood after the action was met in this game, a label such as "{0, 3}"
    always. Policies that explore with a fixed set of observers (``pm.PEGE``, ``pm.GCB``,
    ``pm.ETC``) play such games; analyses and policies that compare all actions need them listed.

    Examples
    --------
    Any three of a thousand items:

    >>> import numpy as np
    >>> import partial_monitoring as pm
    >>> def best(theta):
    ...     phi = np.zeros(1000)
    ...     phi[np.argsort(-theta)[:3]] = 1
    ...     return phi
    >>> game = pm.OracleGame(best, pm.Box([0] * 1000, [1] * 1000), 0.1)
    >>> game.action_label(game.best_for(np.arange(1000) / 1000))
    '{997, 998, 999}'
    """

    NOISES: ClassVar[tuple[str, ...]] = ("gaussian", "bernoulli", "sign")

    oracle: Oracle
    noise_std: float
    shows: str | Callable[[Array], ArrayLike]
    second: Oracle | None
    noise: str
    given: Array | None
    """The observers that were given, shape (q, d)."""
    _met: dict[int, Array]
    """The features of actions by their numbers."""
    _width: int

    def __init__(
        self,
        oracle: Oracle,
        parameters: ParameterSet,
        noise_std: float = 1.0,
        *,
        shows: str | Callable[[Array], ArrayLike] = "semi-bandit",
        observers: ArrayLike | None = None,
        second: Oracle | None = None,
        m: int | None = None,
        noise: str = "gaussian",
    ) -> None:
        for name, function in (("oracle", oracle), ("second", second)):
            if not callable(function) and not (name == "second" and function is None):
                raise InvalidInput(f"{name} must be a function; got {brief(function)}.")
        d = getattr(oracle, "d", getattr(parameters, "d", 0))
        validation.set_fields(
            self,
            oracle=oracle,
            parameters=checked_parameters(parameters, d),
            noise_std=validation.positive_number("noise_std", noise_std),
            shows=shows if callable(shows) else validation.one_of("shows", shows, SHOWS),
            second=second,
            noise=validation.one_of("noise", noise, self.NOISES),
            given=None if observers is None else _checked_observers(observers, d),
            _met={},
        )
        validation.set_fields(self, _width=self._rows_at_most(m))

    # -- actions ---------------------------------------------------------------------------------

    def number(self, phi: ArrayLike) -> int:
        """Return the number of an action, given by its features (d,)."""
        vector = validation.real_array("an action", phi, (self.d,)) + 0.0  # no -0.0
        digest = blake2b(np.ascontiguousarray(vector, dtype="<f8").tobytes(), digest_size=8)
        number = int.from_bytes(digest.digest(), "little") >> (64 - BITS)
        known = self._met.setdefault(number, validation.frozen(vector))
        if not np.array_equal(known, vector):
            raise SolverError("two actions have the same number by chance.")
        return number

    def vector(self, action: int) -> Array:
        """Return the features (d,) of an action that was met."""
        found: Array | None = self._met.get(int(action))
        if found is None:
            raise InvalidInput(
                f"action must be the label of one, or its number once it was met; got "
                f"{brief(action)}."
            )
        return found

    def best_action(self, theta: Array) -> Array:
        """Return the features of the best action for a parameter (d,)."""
        answer = self.oracle(np.array(theta))
        return validation.real_array("what oracle returns", answer, (self.d,))

    def best_for(self, theta: ArrayLike) -> int:
        """Return the number of the best action for a parameter (d,)."""
        return self.number(self.best_action(np.asarray(theta, dtype=float)))

    def earned_by(self, action: int, theta: Array) -> float:
        """Return what an action earns for a parameter (d,)."""
        return float(self.vector(action) @ theta)

    def rows_of(self, phi: Array) -> Array:
        """Return the observation map of an action, given by its features (d,), shape (m_a, d)."""
        if self.shows == "bandit":
            return phi[None]
        if self.shows == "semi-bandit":
            chosen = np.flatnonzero(phi)
            rows = np.zeros((len(chosen), self.d))
            rows[np.arange(len(chosen)), chosen] = 1.0
            return rows
        assert callable(self.shows)
        return validation.real_array("what shows returns", self.shows(np.array(phi)), ("m", self.d))

    def rows(self, action: int | str) -> Array:
        """Return the observation map of an action, shape (m_a, d)."""
        return self.rows_of(self.vector(self.action_index(action)))

    def row_count(self, action: int) -> int:
        phi = self.vector(action)
        if self.shows == "semi-bandit":
            return int(np.count_nonzero(phi))
        found = 1 if self.shows == "bandit" else len(self.rows_of(phi))
        if found > self.m:
            raise InvalidInput(
                f"m must be the largest number of rows that shows returns, {found} for action "
                f"{brief(self.action_label(action))}; got {self.m}."
            )
        return found

    def _rows_at_most(self, m: int | None) -> int:
        """Return the largest number of rows of an observation."""
        if m is not None:
            return validation.whole_number("m", m, at_least=0)
        if self.shows == "bandit":
            return 1
        if self.shows == "semi-bandit":
            most = self.best_action(np.ones(self.d))
            return int(most.sum()) if np.isin(most, (0.0, 1.0)).all() else self.d
        return max(len(self.rows_of(phi)) for phi in self.offered)

    @cached_property
    def offered(self) -> Array:
        """The observers that were given, or else actions that the oracle finds, shape (q, d).

        If actions show their entries, actions with most entries that no other showed, until there
        are none. Otherwise the best ones for every coordinate, with both signs.
        """
        if self.given is not None:
            return self.given
        if self.shows != "semi-bandit":
            turns = np.concatenate([np.eye(self.d), -np.eye(self.d)])
            return np.unique([self.best_action(theta) for theta in turns], axis=0)
        found = [self.best_action(np.ones(self.d))]
        hidden = found[0] == 0
        for sign in (1.0, -1.0):
            while hidden.any():
                phi = self.best_action(sign * hidden)
                if not (phi[hidden] != 0).any():
                    break
                found.append(phi)
                hidden &= phi == 0
        return np.array(found)

    # -- what every game offers ------------------------------------------------------------------

    @property
    def traits(self) -> Traits:
        return Traits(listed=False, oracle=True)

    @property
    def k(self) -> int:
        """One more than the largest number of an action."""
        return int(2**BITS)

    @property
    def d(self) -> int:
        return int(self.parameters.d)

    @property
    def m(self) -> int:
        return self._width

    @property
    def log_count(self) -> float:
        """The logarithm of the number of actions, or an upper bound for sets of items."""
        return float(getattr(self.oracle, "log_count", self.d * np.log(2.0)))

    @property
    def shows_own_reward(self) -> bool:
        return self.shows == "bandit"

    def _refuse_list(self) -> NoReturn:
        raise InvalidInput(
            "game must list its actions, but those of an oracle are too many to list; use a "
            "pm.Game, such as pm.games.combinatorial_bandit."
        )

    @property
    def linear(self) -> NoReturn:
        self._refuse_list()

    @property
    def actions(self) -> NoReturn:
        """Refused: the actions are too many to list."""
        self._refuse_list()

    def earned(self, theta: Array) -> NoReturn:
        """Refused: the actions are too many to list."""
        self._refuse_list()

    def action_index(self, action: int | str) -> int:
        if isinstance(action, str):
            return self.number(self._read(action))
        if not validation.is_whole(action):
            raise InvalidInput(f"action must be a label or a number; got {brief(action)}.")
        self.vector(action)
        return int(action)

    def action_label(self, action: int) -> str:
        """Return an action in words: the items of a set, or all features."""
        phi = self.vector(action)
        if np.isin(phi, (0.0, 1.0)).all():
            return "{" + ", ".join(map(str, np.flatnonzero(phi).tolist())) + "}"
        return json.dumps(phi.tolist())

    def _read(self, label: str) -> Array:
        """Return the features of an action from its label."""
        try:
            if label.startswith("{") and label.endswith("}"):
                phi = np.zeros(self.d)
                items = json.loads("[" + label[1:-1] + "]")
                if not all(validation.is_whole(item) and item >= 0 for item in items):
                    raise IndexError
                phi[np.array(items, dtype=np.intp)] = 1.0
                return phi
            return validation.real_array("action", json.loads(label), (self.d,))
        except (ValueError, TypeError, IndexError, RecursionError):
            raise InvalidInput(
                f"action must be a label such as '{{0, 1}}' with items below {self.d}; got "
                f"{brief(label)}."
            ) from None

    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        return noise_named(self.noise if noise is None else noise, self)

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return OracleTruths(self, theta)

    def sheets(self, title: str = "") -> list[display.Sheet]:
        shown = {"bandit": "their sum", "semi-bandit": "each of their entries"}
        rows = (
            ("actions", f"those of {brief(self.oracle)}"),
            ("earn", "the sum of θ over their features"),
            ("show", shown.get(str(self.shows), f"what {brief(self.shows)} returns")),
        )
        words = self.feedback().words.format(size=f"size {display.number(self.noise_std)}")
        notes = (f"the unknown θ lies in {self.parameters.describe()}", words)
        cells = tuple(tuple(map(display.TableCell, row)) for row in rows)
        return [display.Sheet(title or "actions of an oracle", ("", ""), cells, notes)]

    def __repr__(self) -> str:
        return f"OracleGame(d={self.d}, m={self.m}, parameters={type(self.parameters).__name__})"


class OracleTruths(Truths):
    """What the actions that are played earn and show under true parameters (n, d)."""

    def __init__(self, game: OracleGame, theta: Array) -> None:
        self.game, self.theta = game, theta
        self._sizes = np.full(len(theta), game.noise_std)

    @cached_property
    def _best(self) -> Array:
        """What the best action earns, shape (n,)."""
        distinct, place = np.unique(self.theta, axis=0, return_inverse=True)
        values = [float(self.game.best_action(own) @ own) for own in distinct]
        return np.asarray(np.array(values)[place.ravel()])

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        found = np.zeros((len(action), self.game.m))
        for i, (a, theta) in enumerate(zip(action.tolist(), self.theta, strict=True)):
            if self.game.shows == "semi-bandit":
                shown = theta[np.flatnonzero(self.game.vector(a))]
            else:
                shown = self.game.rows_of(self.game.vector(a)) @ theta
            found[i, : self.game.row_count(a)] = shown
        return found

    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        return self._sizes

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        played = zip(action.tolist(), self.theta, strict=True)
        earned = np.array([self.game.earned_by(a, theta) for a, theta in played])
        return np.asarray(np.maximum(self._best - earned, 0.0))

    def outside(self, low: float, high: float) -> str | None:
        game = self.game
        for theta in np.unique(self.theta, axis=0):
            extremes = [game.best_action(theta), game.best_action(-theta), *game.offered]
            for phi in extremes:
                for mean in game.rows_of(phi) @ theta:
                    if not low <= mean <= high:
                        label = game.action_label(game.number(phi))
                        return f"action {brief(label)} has mean {mean:g}"
        return None


def _checked_observers(observers: Any, d: int) -> Array:
    """Return observers as features (q, d)."""
    found: Array = validation.real_array("observers", observers, ("q", d))
    if len(found) == 0:
        raise InvalidInput("observers must hold at least one action; got none.")
    return found
