"""The live interface: ask what to do, tell what was seen."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.finite_game import FiniteGame
from partial_monitoring.game import Game
from partial_monitoring.game_files import game_from_dict, game_to_dict
from partial_monitoring.ids.gaps import exact as exact_gaps
from partial_monitoring.observability.hopeless import refuse_hopeless
from partial_monitoring.policies import policy_from_dict, policy_to_dict
from partial_monitoring.policy import (
    Choices,
    Decision,
    Policy,
    draws_of,
    is_policy,
    uniforms_of,
)
from partial_monitoring.states import arrays_of, with_arrays
from partial_monitoring.status import Status, status
from partial_monitoring.validation import Array, boolean, file_path, is_whole, observation_array

FORMAT = 1
"""Version of the files that ``save`` writes."""


class Learner:
    """A policy that learns from one live problem.

    Parameters
    ----------
    game
        The game.
    policy
        What decides; ``pm.IDS()`` unless given.
    seed
        Everything random follows from it: the same seed, answers and order give the same decisions.
    allow_hopeless
        Play a game in which the best action cannot be found out, instead of refusing it.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    >>> decision = learner.ask()
    >>> learner.tell(decision, "yes")
    >>> learner.round
    2
    """

    def __init__(
        self,
        game: Game,
        policy: Policy[Any] | None = None,
        seed: int = 0,
        *,
        allow_hopeless: bool = False,
    ) -> None:
        if not isinstance(game, Game):
            raise InvalidInput(f"game must be a Game; got {game!r}.")
        if policy is None:
            from partial_monitoring.ids.policy import IDS

            policy = IDS()
        if not is_policy(policy):
            raise InvalidInput(f"policy must be a policy such as IDS(); got {policy!r}.")
        self.game, self.policy = game, policy
        self.seed = randomness.checked_seed("seed", seed)
        self.allow_hopeless = boolean("allow_hopeless", allow_hopeless)
        if not allow_hopeless:
            refuse_hopeless(game)
        self._state = policy.init(game, 1)
        self._uniforms = uniforms_of(policy, self._state, np.array([self.seed]))
        self._asked = 0
        self._open: dict[int, Decision] = {}
        self._history: list[dict[str, Any]] = []
        self._told: list[tuple[int, Array]] = []

    # -- what it uses ------------------------------------------------------------------------

    @property
    def round(self) -> int:
        """t: one more than the number of observations told."""
        return 1 + len(self._told)

    @property
    def regularization(self) -> float:
        """lambda, as used."""
        return float(self._model.regularization)

    @property
    def prior_mean(self) -> Array:
        """theta_0, as used."""
        return np.asarray(self._model.prior_mean)

    @property
    def norm_bound(self) -> float:
        """B, as used."""
        return float(self._model.norm_bound)

    @property
    def noise_std(self) -> float:
        """rho, as used; 1 if the noise depends on the action."""
        return float(self._model.noise_std)

    @property
    def history(self) -> list[dict[str, Any]]:
        """One row per decision: id, round, action, label, probability and the observation told."""
        return [dict(row) for row in self._history]

    @property
    def _model(self) -> Any:
        """The model of the estimate, or of the state itself."""
        found = getattr(getattr(self._state, "estimate", self._state), "model", None)
        if found is None:
            raise InvalidInput(f"{type(self.policy).__name__} has no model whose options to show.")
        return found

    # -- ask and tell ------------------------------------------------------------------------

    def ask(
        self, *, context: object = None, available: Iterable[int | str] | None = None
    ) -> Decision:
        """Return the next decision.

        Parameters
        ----------
        context
            What is seen before acting; only games with contexts have one.
        available
            The actions that can be played this time; all of them unless given.
        """
        if context is not None:
            raise InvalidInput(f"context must be left out, the game has none; got {context!r}.")
        mask = self._mask(available)
        choice = self.policy.decide(self._state, self._uniforms(self._asked), mask)
        action, place = int(choice.action[0]), int(choice.places[0])
        decision = Decision(
            self._asked,
            self.round,
            action,
            self.game.action_label(action),
            choice.distribution[0],
            float(choice.distribution[0, place]),
            choice.gaps[0],
            choice.information[0],
            float(choice.ratio[0]),
            float(choice.beta[0]),
            choice.estimate[0],
            self._labels(choice),
            place,
            None if choice.index is None else choice.index[0],
        )
        self._open[decision.id] = decision
        self._history.append(decision.to_dict() | {"observation": None})
        self._asked += 1
        return decision

    def tell(self, decision: Decision | int | Sequence[Decision | int], observation: Any) -> None:
        """Report what was seen after a decision, given itself or by its id, in any order.

        Finite games are told the signal; other games a vector with the observations of the action
        (or one of full length, whose padding is ignored). With a list of decisions a list of
        observations is expected; either all of them are taken or none.
        """
        if isinstance(decision, Sequence):
            if isinstance(observation, str) or not isinstance(observation, Iterable):
                raise InvalidInput(
                    f"observation must be a list, one entry per decision; got {observation!r}."
                )
            decisions, observations = list(decision), list(observation)
            if len(decisions) != len(observations):
                raise InvalidInput(
                    f"observation must hold one entry per decision, {len(decisions)}; got "
                    f"{len(observations)}."
                )
        else:
            decisions, observations = [decision], [observation]
        ids = [self._open_id(item) for item in decisions]
        if len(set(ids)) < len(ids):
            raise InvalidInput("decision must not name the same decision twice.")
        vectors = [
            self._vector(self._open[number].action, seen)
            for number, seen in zip(ids, observations, strict=True)
        ]
        for number, vector, seen in zip(ids, vectors, observations, strict=True):
            self._learn(self._open.pop(number).action, vector)
            self._history[number]["observation"] = _plain(seen)

    def tell_past(self, actions: Iterable[int | str], observations: Iterable[Any]) -> None:
        """Start from logged data: actions that were played before and what was seen after them."""
        for name, value in (("actions", actions), ("observations", observations)):
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(f"{name} must be a list; got {value!r}.")
        played = [self.game.action_index(action) for action in actions]
        seen = list(observations)
        if len(played) != len(seen):
            raise InvalidInput(
                f"observations must hold one entry per action, {len(played)}; got {len(seen)}."
            )
        vectors = [self._vector(a, entry) for a, entry in zip(played, seen, strict=True)]
        for a, vector in zip(played, vectors, strict=True):
            self._learn(a, vector)

    def _learn(self, action: int, vector: Array) -> None:
        self._state = self.policy.update(self._state, np.array([action]), vector[None])
        self._told.append((action, vector))

    def _open_id(self, decision: Decision | int) -> int:
        number = decision.id if isinstance(decision, Decision) else decision
        if is_whole(number):
            if number in self._open:
                self._recognize(decision)
                return int(number)
            if 0 <= number < self._asked:
                raise InvalidInput(f"decision {number} has been told already.")
        raise InvalidInput(f"decision must be one that was asked for; got {decision!r}.")

    def _recognize(self, decision: Decision | int) -> None:
        """Refuse a decision that only shares its number with one of this learner."""
        if not isinstance(decision, Decision) or decision is self._open[decision.id]:
            return
        own = self._open[decision.id]
        if decision.to_dict() != own.to_dict():
            raise InvalidInput(
                f"decision must be one of this learner, whose decision {own.id} was {own.label!r} "
                f"in round {own.round}; got {decision.label!r} in round {decision.round}."
            )

    def _vector(self, action: int, observation: Any) -> Array:
        """Return an observation as a vector of length m, or refuse it."""
        vector = np.zeros(self.game.m)
        rows = self.game.row_count(action)
        if isinstance(self.game, FiniteGame):
            if not isinstance(observation, Hashable):
                raise InvalidInput(f"observation must be a signal; got {observation!r}.")
            vector[:rows] = self.game.observation(action, observation)
            return vector
        if observation is None and rows == 0:
            return vector
        lengths = (rows, self.game.m)
        if isinstance(observation, list) and len(observation) in lengths:
            vector[:rows] = observation_array("observation", observation[:rows], (rows,))
            return vector
        seen = np.atleast_1d(np.asarray(observation, dtype=object))
        if seen.ndim != 1 or len(seen) not in lengths:
            raise InvalidInput(
                f"observation must be a vector of length {rows}, what action "
                f"{self.game.action_label(action)!r} shows; got shape {seen.shape}."
            )
        vector[:rows] = observation_array("observation", seen[:rows].tolist(), (rows,))
        return vector

    def _labels(self, choice: Choices) -> Sequence[str]:
        if choice.candidates is None:
            return self.game.actions
        return [self.game.action_label(int(action)) for action in choice.candidates[0]]

    def _mask(self, available: Iterable[int | str] | None) -> Array | None:
        if available is None:
            return None
        if isinstance(available, str) or not isinstance(available, Iterable):
            raise InvalidInput(f"available must be a list of actions; got {available!r}.")
        mask = np.zeros(self.game.k, dtype=bool)
        for action in available:
            mask[self.game.action_index(action)] = True
        if not mask.any():
            raise InvalidInput("available must hold at least one action; got none.")
        return mask

    def status(self) -> Status:
        """Return which actions may still be best, what is at risk, and where data and model clash.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting())
        >>> learner.tell_past(["taste"] * 200, ["good"] * 180 + ["rotten"] * 20)
        >>> print(learner.status())
        Round 201: 'sell' looks best.
        No other action can be best any more, if the model holds.
        """
        if not callable(getattr(self.policy, "confidence_set", None)):
            raise InvalidInput(
                f"status needs a policy with a confidence set; {type(self.policy).__name__} has "
                f"none."
            )
        width = draws_of(self.policy, self._state)
        middle = np.full((1,) if width is None else (1, width), 0.5)
        choice = self.policy.decide(self._state, middle)
        confidence = self.policy.confidence_set(self._state)  # type: ignore[union-attr]
        known = confidence.data.model.game  # of duels, the items
        gaps = exact_gaps(known, confidence) if np.isnan(choice.gaps).any() else choice.gaps
        return status(self.game, confidence, choice.distribution[0], gaps[0], self._told)

    # -- save and load -----------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to a file; after loading it the same decisions follow."""
        data = {
            "format": FORMAT,
            "game": game_to_dict(self.game),
            "policy": policy_to_dict(self.policy),
            "seed": self.seed,
            "allow_hopeless": self.allow_hopeless,
            "history": self._history,
            "open": list(self._open),
            "told": [[action, vector.tolist()] for action, vector in self._told],
            "arrays": arrays_of(self._state),
        }
        target = file_path(path)
        try:
            target.write_text(json.dumps(data), encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be written: {error.strerror}.") from None

    @classmethod
    def load(cls, path: str | Path) -> Learner:
        """Read a learner that was saved."""
        source = file_path(path)
        try:
            data = json.loads(source.read_text(encoding="utf-8"))
            version = data["format"]
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError):
            raise InvalidInput(f"{path}: is not a saved learner.") from None
        if version != FORMAT:
            raise InvalidInput(f"{path}: has format {version!r}; this version reads {FORMAT}.")
        try:
            game = game_from_dict(data["game"])
            policy = policy_from_dict(data["policy"])
            learner = cls(game, policy, data["seed"], allow_hopeless=True)  # type: ignore[arg-type]
            learner.allow_hopeless = data["allow_hopeless"]
            learner._restore(data)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise InvalidInput(f"{path}: is not a saved learner.") from None
        return learner

    def _restore(self, data: dict[str, Any]) -> None:
        self._state = with_arrays(self._state, data["arrays"])
        self._history = data["history"]
        self._told = [(action, np.array(vector, dtype=float)) for action, vector in data["told"]]
        self._asked = len(self._history)
        self._open = {number: self._blank(number) for number in data["open"]}

    def _blank(self, number: int) -> Decision:
        """Return what is needed of a decision whose observation is still to come."""
        row, nothing = self._history[number], np.zeros(0)
        blank = np.full(self.game.d, np.nan)
        return Decision(
            number,
            row["round"],
            row["action"],
            row["label"],
            nothing,
            row["probability"],
            nothing,
            nothing,
            np.nan,
            np.nan,
            blank,
            (),
            0,
        )


def _plain(observation: Any) -> Any:
    """Return an observation as plain data: strings, numbers, lists of them."""
    if isinstance(observation, np.ndarray | np.generic):
        return _plain(observation.tolist())
    if isinstance(observation, list | tuple):
        return [_plain(item) for item in observation]
    if observation is None or isinstance(observation, str | int | float):
        return observation
    return float(observation) if isinstance(observation, Real) else str(observation)
