"""The live interface: ask what to do, tell what was seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.status import Status, status, warned
from partial_monitoring.learner.storage import saved, with_arrays
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.observation import observation_vector, one_per_action, plain
from partial_monitoring.model.place import Place, place_of, plain_row, read, same_place, written
from partial_monitoring.policies import policy_from_dict, policy_to_dict
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import (
    Choices,
    Decision,
    Policy,
    draws_of,
    is_policy,
    uniforms_of,
)
from partial_monitoring.validation import Array, boolean, file_path, is_whole

MOST_MASKED = 10**8
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
        game: AnyGame,
        policy: Policy[Any] | None = None,
        seed: int = 0,
        *,
        allow_hopeless: bool = False,
    ) -> None:
        if not isinstance(game, AnyGame):
            raise InvalidInput(f"game must be a Game or a ContextualGame; got {game!r}.")
        if policy is None:
            from partial_monitoring.policies.ids.ids import IDS

            policy = IDS()
        if not is_policy(policy):
            raise InvalidInput(f"policy must be a policy such as IDS(); got {policy!r}.")
        self.game, self.policy = game, policy
        self.seed = randomness.checked_seed("seed", seed)
        self.allow_hopeless = boolean("allow_hopeless", allow_hopeless)
        if not allow_hopeless:
            refuse_hopeless(game)
        self._state = initial_state_of(policy, game, 1)
        self._uniforms = uniforms_of(policy, self._state, np.array([self.seed]))
        self._asked = 0
        self._open: dict[int, tuple[Decision, Place]] = {}
        self._history: list[dict[str, Any]] = []
        self._told: list[tuple[int, Array, Any]] = []

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
        """One row of plain data per decision: what it was, and the observation told."""
        return [plain_row(row) for row in self._history]

    @property
    def _model(self) -> Any:
        """The model of the state, or of its estimate."""
        found = getattr(self._state, "design", None)
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
            What is seen before acting, only in games with contexts: one of theirs by label or
            index, or one that was not known before, as a ``Game`` over the same parameters or as a
            dict with its ``features`` and ``observation_maps``.
        available
            The actions that can be played this time; all of them unless given.
        """
        place = place_of(self.game, context)
        mask = self._mask(place, available)
        uniforms = self._uniforms(self._asked)
        choice = self.policy.decide(self._state, uniforms, mask, **place.options)
        action, where = (place.local(int(x[0])) for x in (choice.action, choice.places))
        distribution = place.own(choice.distribution)
        decision = Decision(
            self._asked,
            self.round,
            action,
            place.game.action_label(action),
            distribution,
            float(distribution[where]),
            distribution * np.nan if choice.gaps is None else place.own(choice.gaps),
            distribution * np.nan if choice.information is None else place.own(choice.information),
            np.nan if choice.ratio is None else float(choice.ratio[0]),
            np.nan if choice.beta is None else float(choice.beta[0]),
            np.full(self.game.d, np.nan) if choice.estimate is None else choice.estimate[0],
            self._labels(place, choice),
            where,
            None if choice.index is None else place.own(choice.index),
            place.name,
            choice.basis,
            None if choice.candidates is None else choice.candidates[0],
        )
        self._open[decision.id] = decision, place
        self._history.append(decision.row() | {"observation": None})
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
        steps = []
        for number, seen in zip(ids, observations, strict=True):
            asked, place = self._open[number]
            steps.append((place, asked.action, self._vector(place, asked.action, seen)))
        self._learn(steps)
        for number, seen in zip(ids, observations, strict=True):
            del self._open[number]
            self._history[number]["observation"] = plain(seen)

    def tell_past(
        self,
        actions: Iterable[int | str],
        observations: Iterable[Any],
        contexts: Iterable[Any] | None = None,
    ) -> None:
        """Start from logged data: actions that were played before and what was seen after them.

        Of games with contexts these are given too, one per action.
        """
        given: dict[str, Any] = {"actions": actions, "observations": observations}
        lists = one_per_action(given if contexts is None else given | {"contexts": contexts})
        where = lists.get("contexts", [None] * len(lists["actions"]))
        steps = []
        for context, action, seen in zip(
            where, lists["actions"], lists["observations"], strict=True
        ):
            place = place_of(self.game, context)
            played = place.game.action_index(action)
            steps.append((place, played, self._vector(place, played, seen)))
        self._learn(steps)

    def _vector(self, place: Place, action: int, observation: Any) -> Array:
        length = max(self.game.m, place.game.m)
        return observation_vector(place.game, action, observation, length)

    def _learn(self, steps: Iterable[tuple[Place, int, Array]]) -> None:
        """Take in all observations, or none of them if the policy refuses one."""
        state, told = self._state, []
        for place, action, vector in steps:
            played = np.array([place.outer(action)])
            state = self.policy.update(state, played, vector[None], **place.options)
            told.append((action, vector, place.name))
        self._state = state
        self._told += told

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
        if not isinstance(decision, Decision) or decision is self._open[decision.id][0]:
            return
        own, _ = self._open[decision.id]
        if decision.to_dict() != own.to_dict():
            raise InvalidInput(
                f"decision must be one of this learner, whose decision {own.id} was {own.label!r} "
                f"in round {own.round}; got {decision.label!r} in round {decision.round}."
            )

    def _labels(self, place: Place, choice: Choices) -> Sequence[str]:
        if choice.candidates is None:
            return list(place.game.actions)
        return [place.game.action_label(int(action)) for action in choice.candidates[0]]

    def _mask(self, place: Place, available: Iterable[int | str] | None) -> Array | None:
        if available is None:
            return None
        if isinstance(available, str) or not isinstance(available, Iterable):
            raise InvalidInput(f"available must be a list of actions; got {available!r}.")
        if place.game.k > MOST_MASKED:
            raise InvalidInput(f"available cannot be given among {place.game.k} actions.")
        mask = np.zeros(place.game.k if place.positions is None else self.game.k, dtype=bool)
        for action in available:
            mask[place.outer(place.game.action_index(action))] = True
        if not mask.any():
            raise InvalidInput("available must hold at least one action; got none.")
        return mask

    def confidence_set(self, *, context: object = None) -> Any:
        """Return E_t, with the estimate and what is still plausible; with contexts, in one."""
        found = getattr(self.policy, "confidence_set", None)
        if not callable(found):
            raise InvalidInput(
                f"{type(self.policy).__name__} has no confidence set, and so no status."
            )
        return found(self._state, **place_of(self.game, context).options)

    def status(self, *, context: object = None) -> Status:
        """Return which actions may still be best, what is at risk, and where data and model clash.

        Of a game with contexts, in one of them.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting())
        >>> learner.tell_past(["taste"] * 200, ["good"] * 180 + ["rotten"] * 20)
        >>> print(learner.status())
        Round 201: 'sell' looks best.
        No other action can be best any more, if the model holds.
        """
        confidence = self.confidence_set(context=context)
        place = place_of(self.game, context)
        width = draws_of(self.policy, self._state)
        middle = np.full((1,) if width is None else (1, width), 0.5)
        choice = self.policy.decide(self._state, middle, **place.options)
        gaps = confidence.exact_gaps()[0] if choice.gaps is None else place.own(choice.gaps)
        told = [(a, vector) for a, vector, name in self._told if same_place(name, place.name)]
        found = status(place.game, confidence, place.own(choice.distribution), gaps, told)
        return warned(found, getattr(self.policy, "caveat", None))

    # -- save and load -----------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to a file; after loading it the same decisions follow."""
        data = {
            "format": FORMAT,
            "game": game_to_dict(self.game),
            "policy": policy_to_dict(self.policy),
            "seed": self.seed,
            "allow_hopeless": self.allow_hopeless,
            "history": self.history,
            "open": list(self._open),
            "told": [
                [action, vector.tolist(), written(name)] for action, vector, name in self._told
            ],
            "arrays": saved(self._state),
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
            learner = cls(game, policy, data["seed"], allow_hopeless=True)
            learner.allow_hopeless = data["allow_hopeless"]
            learner._restore(data)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: is not a saved learner: {error}") from None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise InvalidInput(f"{path}: is not a saved learner.") from None
        return learner

    def _restore(self, data: dict[str, Any]) -> None:
        self._history = data["history"]
        for row in self._history:
            if "context" in row:
                row["context"] = read(row["context"])
        told = [(a, np.array(vector, dtype=float), read(name)) for a, vector, name in data["told"]]
        if data["arrays"] is None:
            self._learn((place_of(self.game, name), a, vector) for a, vector, name in told)
        else:
            self._state, self._told = with_arrays(self._state, data["arrays"]), told
        self._asked = len(self._history)
        self._open = {number: self._blank(number) for number in data["open"]}

    def _blank(self, number: int) -> tuple[Decision, Place]:
        """Return what is needed of a decision whose observation is still to come."""
        row = self._history[number]
        place = place_of(self.game, row.get("context"))
        return Decision.remembered(row, place.name), place
