"""What every policy offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.later import Later
from partial_monitoring.estimation.state import Pending, View
from partial_monitoring.validation import Array, Indices, brief, is_ragged

State = TypeVar("State")

PENDING = ("expected", "ignored")
"""What open decisions are to a policy that can expect them."""


@dataclass(eq=False)
class Choices:
    """What a policy chose for n replicates in one round, and why."""

    action: Indices
    """Shape (n,)."""
    distribution: Array
    """mu_t, shape (n, k); if the policy drew more than the action, given what it drew before."""
    gaps: Later = Later()
    """The gap estimates that were used, shape (n, k), infinite where not available; or a function
    that returns them, because few ask for them."""
    information: Later = Later()
    """The information gains that were used, shape (n, k), or a function."""
    ratio: Array | None = None
    """The information ratio of the distribution, shape (n,)."""
    beta: Later = Later()
    """beta_t, shape (n,), or a function."""
    estimate: Later = Later()
    """theta_hat, shape (n, d), or a function. A policy leaves out what it does not know, here as
    above."""
    candidates: Indices | None = None
    """The actions that were considered, shape (n, c); the arrays above are then over these. If some
    replicates considered fewer, -1 fills their rows up."""
    index: Later = Later()
    """What the policy played the largest of, shape (n, k), if it decides in that way, or a
    function; -inf for actions that it has ruled out."""
    decided_by: str | None = None
    """What decided: "contexts", regret and information of all contexts together; "plans", the gaps
    of whole plans, one action for each context; "savings", information per unit lost, where
    gaps are what actions cost now and information what they show is worth later; or "guard",
    a rule whose action may lose no more, by the gaps, than a budget allows."""
    probed: NDArray[np.bool_] | None = None
    """Which actions are probes, shape (n,), if the policy mixes in uniform actions."""
    floor: Array | None = None
    """The probability that probes give to every action that is available, shape (n,)."""

    @property
    def positions(self) -> Indices:
        """The positions of the chosen actions in the arrays over actions, shape (n,)."""
        if self.candidates is None:
            return self.action
        return np.asarray((self.candidates == self.action[:, None]).argmax(axis=1))

    @property
    def chosen(self) -> Array:
        """The probabilities of the chosen actions, shape (n,)."""
        return np.asarray(self.distribution[np.arange(len(self.action)), self.positions])

    @property
    def gained(self) -> Array:
        """The information of the chosen actions, shape (n,); NaN if the policy knows none."""
        if self.information is None:
            return np.full(len(self.action), np.nan)
        return np.asarray(self.information[np.arange(len(self.action)), self.positions])


FILLERS: Mapping[str, float] = {
    "action": 0,
    "distribution": 0.0,
    "gaps": np.inf,
    "information": 0.0,
    "ratio": 0.0,
    "beta": 0.0,
    "estimate": np.nan,
    "candidates": -1,
    "index": -np.inf,
    "probed": False,
    "floor": 0.0,
}
"""The fields of choices, and their values for an action that was not considered."""


OVER_ACTIONS = ("distribution", "gaps", "information", "index")
"""The fields of choices with one column per action."""


class Policy(Protocol[State]):
    """What ``simulate`` and ``Learner`` drive. All arrays carry a leading axis of n replicates.

    A policy has no state of its own; it is handed the state and returns the next one. If it has a
    method ``draws(state) -> int``, it gets that many uniform numbers (n, draws) in each round
    instead of one. If it has a method ``expecting(state, pending, context=None) -> state``, it
    decides from the state that this returns while decisions are open: the state as if they had been
    answered with what is expected, so that what is known moves and the estimate does not. If
    ``weighted`` is true, ``update`` is handed the probabilities (n,) with which the actions were
    drawn, as ``probability``: they need not be those of the present state when answers come late.
    With a method ``update_often`` it learns from many equal observations at one stroke, and from
    weighted ones (``policies/repeated.py``).
    """

    def init(self, game: Any, replicates: int) -> State:
        """Return the state before the first round of a game (of one with contexts, if it can).

        With contexts, ``decide`` and ``update`` are handed them as ``context``: one per replicate
        (n,), or the game of a context that was not known before.
        """
        ...

    def decide(self, state: State, uniforms: Array, available: Array | None = None) -> Choices:
        """Choose an action for every replicate, with one uniform number (n,) each.

        ``available`` (k,) restricts the choice of this round.
        """
        ...

    def update(self, state: State, action: Indices, observation: Array) -> State:
        """Return the state after the observations (n, m) of the actions (n,)."""
        ...


def gathered(chosen: Sequence[tuple[View, Choices]]) -> Choices:
    """Return the choices in the views of one round as the choices of all replicates."""
    first, choice = chosen[0]
    if not first.listed:
        return joined([_among_candidates(view, own) for view, own in chosen])
    if first.actions is None:
        return choice
    n = len(choice.action) if len(chosen) == 1 else len(first.rows)
    each = [(np.arange(n)[view.rows], view, own) for view, own in chosen]
    filled: dict[str, Any] = {"decided_by": choice.decided_by}
    for name, filler in FILLERS.items():
        shown = getattr(choice, name)
        if shown is None:
            continue
        over_actions = name in OVER_ACTIONS
        whole = np.empty((n, first.width) if over_actions else (n, *shown.shape[1:]), shown.dtype)
        whole.fill(filler)
        for rows, view, own in each:
            values, numbers = getattr(own, name), np.asarray(view.actions)
            if over_actions:
                whole[rows[:, None], numbers] = values
            else:
                whole[rows] = numbers[values] if name == "action" else values
        filled[name] = whole
    return Choices(**filled)


def _among_candidates(view: View, choice: Choices) -> Choices:
    """Return a choice among candidates, whose actions are numbered as in the game."""
    local = np.arange(view.width)[None] if choice.candidates is None else choice.candidates
    return replace(choice, action=view.numbers(choice.action), candidates=view.numbers(local))


def joined(choices: Sequence[Choices]) -> Choices:
    """Put the choices of single replicates one below the other.

    If they considered different numbers of actions, shorter arrays are filled up with actions that
    are never chosen.
    """
    if len(choices) == 1:
        return choices[0]
    values: dict[str, Any] = {"decided_by": choices[0].decided_by}
    for name, filler in FILLERS.items():
        each = [getattr(choice, name) for choice in choices]
        if each[0] is None:
            continue
        if each[0].ndim == 2:
            most = max(own.shape[1] for own in each)
            room = [((0, 0), (0, most - own.shape[1])) for own in each]
            each = [np.pad(*pair, constant_values=filler) for pair in zip(each, room, strict=True)]
        values[name] = np.concatenate(each)
    return Choices(**values)


def over_all_actions(choices: Choices, k: int) -> Array:
    """Return the distribution of choices over all k actions, (n, k), not only over candidates."""
    if choices.candidates is None:
        return choices.distribution
    whole = np.zeros((len(choices.action), k))
    rows = np.arange(len(whole))[:, None]
    np.add.at(whole, (rows, choices.candidates), choices.distribution)  # fillers add 0
    return whole


def checked_actions(choices: Choices, n: int, k: int) -> Indices:
    """Return the actions (n,) that a policy chose, if they are numbers of actions.

    A policy that answers anything else is refused in one sentence.
    """
    if not isinstance(choices, Choices):
        raise InvalidInput(f"a policy must return pm.Choices; got {brief(choices)}.")
    try:
        action = np.asarray(choices.action)
        if action.shape == (n,) and action.dtype.kind in "iu":
            found = action.tolist() if n < 100 else (action.min(), action.max())  # what is faster
            if min(found) >= 0 and max(found) < k:
                return action
    except ValueError:  # rows of unequal length
        pass
    raise InvalidInput(
        f"a policy must return actions of shape ({n},), whole numbers from 0 to {k - 1}; got "
        f"{brief(choices.action)}."
    )


def is_policy(policy: object) -> bool:
    """Whether an object has what ``simulate`` and ``Learner`` need."""
    parts = (getattr(policy, name, None) for name in ("init", "decide", "update"))
    return not isinstance(policy, type) and all(map(callable, parts))


def check_choices(choices: Any, k: int, n: int) -> None:
    """Refuse what a policy returned unless it holds choices of n replicates among k actions."""
    action, considered, width = checked_actions(choices, n, k), choices.candidates, k
    if considered is not None:
        known = isinstance(considered, np.ndarray) and considered.ndim == 2
        if not known or not (considered == action[:, None]).any(axis=1).all():
            raise InvalidInput(
                f"a policy must choose among its candidates, an array of shape ({n}, c); got "
                f"{brief(considered)}."
            )
        width = considered.shape[1]
    for name in (*OVER_ACTIONS, "ratio", "beta"):
        values, shape = getattr(choices, name), (n, width) if name in OVER_ACTIONS else (n,)
        if values is None and name != "distribution":
            continue
        array = np.array(None) if is_ragged(values) else np.asarray(values)
        if array.dtype.kind not in "iuf" or array.shape != shape:
            raise InvalidInput(
                f"a policy must give {name} as numbers of shape {shape}; got {brief(values)}."
            )


def uniform_stream(policy: Policy[Any], state: Any, seeds: Indices) -> Callable[[int], Array]:
    """Return the function that gives a policy its uniform numbers of a round (from 0).

    Shape (n,), or (n, draws) if the policy says how many it needs. The numbers of a round depend on
    the seed, the round and how many there are, and on nothing else.
    """
    width = draws_needed(policy, state)
    stream = randomness.Stream(seeds, randomness.POLICY, 1 if width is None else width)
    if width is None:
        return lambda t: stream.at(t)[:, 0]
    return stream.at


def seen(context: Any) -> dict[str, Any]:
    """Return a context as options: only games that have some need to know of them."""
    return {} if context is None else {"context": context}


def drawn_with(policy: Policy[Any], probability: ArrayLike) -> dict[str, Array]:
    """Return the probabilities (n,) of actions as options, for policies that weight by them."""
    return {"probability": np.asarray(probability)} if getattr(policy, "weighted", False) else {}


def probability_or_nan(probability: Array | None, n: int) -> Array:
    """Return recorded probabilities (n,), or NaN for unknown ones."""
    return np.full(n, np.nan) if probability is None else np.asarray(probability, dtype=float)


def expecting(policy: Policy[Any], state: Any, open_: Iterable[tuple[Any, Pending]]) -> Any:
    """Return the state from which a policy decides while decisions are open.

    They are given for each context (None without contexts).
    """
    own = getattr(policy, "expecting", None)
    if own is not None:
        for context, pending in open_:
            state = own(state, pending, **seen(context))
    return state


def draws_needed(policy: Policy[Any], state: Any) -> int | None:
    """Return how many uniform numbers a policy needs per round, or None if it does not say."""
    draws = getattr(policy, "draws", None)
    return None if draws is None else int(draws(state))


def draw(distribution: Array, uniforms: Array) -> Indices:
    """Draw one action per row by inverting the cumulative distribution, (n, k), (n,) -> (n,)."""
    passed = np.cumsum(distribution, axis=1) <= uniforms[:, None]
    # Rounding may leave the total below 1: the last action with any probability is meant.
    last = distribution.shape[1] - 1 - (distribution[:, ::-1] > 0).argmax(axis=1)
    return np.asarray(np.minimum(passed.sum(axis=1), last), dtype=np.int64)


def point_mass(action: Indices, k: int) -> Array:
    """Return distributions that are all on the given actions (n,), shape (n, k)."""
    distribution = np.zeros((len(action), k))
    distribution[np.arange(len(action)), action] = 1.0
    return distribution
