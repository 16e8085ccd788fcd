"""What a learner plays and how, and what it knows after some events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from hashlib import sha256
from json import dumps
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring import games, randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.forgetting import REMEMBERING, Forgetting
from partial_monitoring.learner.contexts import Unlisted, is_described
from partial_monitoring.learner.counts import Counts
from partial_monitoring.learner.identity import Tokens
from partial_monitoring.learner.waiting import OpenDecisions, Started
from partial_monitoring.learner.window import Window
from partial_monitoring.model.any_game import AnyGame, Context
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.numerics import compiled
from partial_monitoring.policies import DEFAULT, make, policy_from_dict, policy_to_dict
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.on_device import on_device, on_host
from partial_monitoring.policies.policy import PENDING, Policy, is_policy, uniform_stream
from partial_monitoring.policies.probing import probing
from partial_monitoring.policies.promise import Promise, promise_of
from partial_monitoring.policies.units import Units, units_of
from partial_monitoring.validation import Array, brief, one_of

MOST_UNCOMPILED = 10_000
"""Largest k^2 d of games that are played uncompiled at first, so that nobody waits."""


class Session(NamedTuple):
    """What a learner knows after some events, never changed.

    Its size does not grow with their number, unless the state of its policy does, as with kernels.
    """

    state: Any
    """Of the policy."""
    seq: int = 0
    """The number of the last event."""
    asked: int = 0
    told: int = 0
    """The number of observations."""
    open: OpenDecisions = OpenDecisions()
    """The decisions whose observations are still to come, by id."""
    counts: Counts = Counts()
    tokens: Tokens = ()
    time: float | None = None
    """Of the last decision whose time is known, in seconds since 1970."""
    oldest: int | None = None
    """No decision with a lower number is waiting to be due; None if that was not looked for."""
    since: int = 0
    """The number of observations before the last reset, which the state does not know of."""
    before: int = 0
    """The number of decisions in another game, before the learner moved to this one."""
    due: int = 0
    """One more than the number of the last decision that was counted because it was due."""
    repeated: int = 0
    """The number of observations beyond one per event, of counts and votes."""
    started: Started = Started()
    """Decisions that were held whose windows have begun."""

    @property
    def round(self) -> int:
        """t: one more than the number of observations."""
        return 1 + self.told


class Spec:
    """What a learner plays and how, built once: a game, a policy, a seed and settings.

    Parameters
    ----------
    game, policy, seed, probe, device
        As for :class:`Learner`.
    settings
        Anything else that is kept with them, as plain data. ``pending`` says what open decisions
        are to the policy; it is missing in files of earlier versions, which ignored them and
        weighted late answers by the probabilities of the day. ``window`` is a window, if there is
        one.
    """

    def __init__(
        self,
        game: AnyGame | str,
        policy: Policy[Any] | str | None = None,
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        *,
        probe: float = 0.0,
        device: str | None = None,
    ) -> None:
        game = games.named(game)
        if policy is None or isinstance(policy, str):
            policy = make(DEFAULT if policy is None else policy)
        if not is_policy(policy):
            raise InvalidInput(
                f"policy must be a policy such as IDS() or the name of one; got {brief(policy)}."
            )
        self.game, self.settings = game, dict(settings or {})
        self.settings |= {} if device is None else {"device": device}
        self.pending: str | None = self.settings.get("pending")
        if self.pending is not None:
            one_of("pending", self.pending, PENDING)
        given = self.settings.get("window")
        self.window = None if given is None else Window.from_dict(given)
        self.policy = on_device(probing(policy, probe), self.settings.get("device"))
        self.foreign, self.signals = not _is_known(policy), game.traits.signals
        self.small = game.k**2 * game.d <= MOST_UNCOMPILED
        self.seed = randomness.checked_seed("seed", seed)
        with self.patience:
            self.start = Session(initial_state_of(self.policy, game, 1))
        self._drawn: tuple[int, Sequence[Array]] = -1, ()
        self._contexts: dict[str | int | None, Context] = {}
        self._unlisted: Unlisted | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_contexts": {}}  # other threads may be adding to them

    @property
    def patience(self) -> AbstractContextManager[None]:
        """In which decisions of a small game do not wait until their functions are compiled."""
        return compiled.patience.patience if self.small else nullcontext()

    @cached_property
    def promise(self) -> Promise | None:
        """What the policy promises on the game."""
        return promise_of(self.policy, self.game)

    @cached_property
    def units(self) -> Units:
        """What the policy measures gaps and information in, in words."""
        return units_of(self.policy, self.start.state)

    def context(self, given: Any) -> Context:
        """Return the game of a round in a context; those of listed contexts are kept."""
        if given is not None and type(given) not in (str, int):
            return self.game.context(given)
        if given not in self._contexts:
            self._contexts[given] = self.game.context(given)
        return self._contexts[given]

    @property
    def nowhere(self) -> Context:
        """The context of an event that has none."""
        return Context(self.game)

    def counted(self, session: Session) -> int:
        """Return how many observations the state of a session counts.

        Those since the last reset, but no more than its policy remembers.
        """
        return min(session.told - session.since, self.forgetting.memory - 1)

    @property
    def forgetting(self) -> Forgetting:
        """How fast the state forgets what was observed."""
        design = getattr(self.start.state, "design", None)
        own: Forgetting = getattr(design, "forgetting", REMEMBERING)
        return own

    def logged(self, context: Context) -> str | Unlisted | None:
        """Return a context as events have it: by its label, or as an unlisted one."""
        if context.name is None or isinstance(context.name, str):
            return context.name
        if self._unlisted is None or self._unlisted.game is not context.name:
            self._unlisted = Unlisted(context.name)
        return self._unlisted

    def read_context(self, written: Any) -> Context:
        """Return the game of a round in a context that is given as plain data."""
        if isinstance(written, Mapping) and not is_described(written):
            written = game_from_dict(written)
        return self.context(written)

    def uniforms(self, number: int) -> Array:
        """Return the uniform numbers of a decision, which follow from the seed and its number.

        Threads may call it at the same time: they share only numbers that are drawn.
        """
        block, place = divmod(number, randomness.BLOCK)
        drawn, numbers = self._drawn
        if block != drawn:
            draw = uniform_stream(self.policy, self.start.state, np.array([self.seed]))
            start = block * randomness.BLOCK
            numbers = [draw(start + t) for t in range(randomness.BLOCK)]
            self._drawn = block, numbers
        return numbers[place]

    @cached_property
    def digest(self) -> str | None:
        """A hash of the spec, by which another one is recognized; None with parts of one's own.

        States that forget are no longer those of before file format 5, and are made again.
        """
        weights = {"weights": "by age and repetition"} if self.forgetting.active else {}
        try:
            return sha256(dumps(self.to_dict() | weights, sort_keys=True).encode()).hexdigest()
        except InvalidInput:
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain data."""
        return {
            "game": game_to_dict(self.game),
            "policy": policy_to_dict(on_host(self.policy)),
            "seed": self.seed,
            "settings": self.settings,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Spec:
        """Return the spec from plain data."""
        game, policy = game_from_dict(data["game"]), policy_from_dict(data["policy"])
        return cls(game, policy, data["seed"], data["settings"])


def _is_known(policy: Policy[Any]) -> bool:
    """Whether a policy and its parts are the library's, whose choices need no check."""
    try:
        policy_to_dict(policy)
    except InvalidInput:
        return False
    return True
