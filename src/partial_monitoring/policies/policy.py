"""What every policy offers, and the decision it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from partial_monitoring import display, randomness
from partial_monitoring.estimation.state import View
from partial_monitoring.model.place import plain_row
from partial_monitoring.validation import Array, Indices

State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class Choices:
    """What a policy chose for n replicates in one round, and why."""

    action: Indices
    """Shape (n,)."""
    distribution: Array
    """mu_t, shape (n, k); if the policy drew more than the action, given what it drew before."""
    gaps: Array | None = None
    """The gap estimates that were used, shape (n, k); infinite where not available."""
    information: Array | None = None
    """The information gains that were used, shape (n, k)."""
    ratio: Array | None = None
    """The information ratio of the distribution, shape (n,)."""
    beta: Array | None = None
    """beta_t, shape (n,)."""
    estimate: Array | None = None
    """theta_hat, shape (n, d). A policy leaves out what it does not know, here as above."""
    candidates: Indices | None = None
    """The actions that were considered, shape (n, c); the arrays above are then over these."""
    index: Array | None = None
    """What the policy played the largest of, shape (n, k), if it decides in that way; -inf for
    actions that it has ruled out."""
    basis: str | None = None
    """What else decided: "contexts", regret and information of all contexts together, or "plans",
    the gaps of whole plans, one action for each context."""

    @property
    def places(self) -> Indices:
        """The positions of the chosen actions in the arrays over actions, shape (n,)."""
        if self.candidates is None:
            return self.action
        return np.asarray((self.candidates == self.action[:, None]).argmax(axis=1))

    @property
    def gained(self) -> Array:
        """The information of the chosen actions, shape (n,); NaN if the policy knows none."""
        if self.information is None:
            return np.full(len(self.action), np.nan)
        return np.asarray(self.information[np.arange(len(self.action)), self.places])


FILLERS: Mapping[str, float] = {
    "action": 0,
    "distribution": 0.0,
    "gaps": np.inf,
    "information": 0.0,
    "ratio": 0.0,
    "beta": 0.0,
    "estimate": np.nan,
    "candidates": 0,
    "index": -np.inf,
}
"""The fields of choices, and their values for an action that was not considered."""


class Policy(Protocol[State]):
    """What ``simulate`` and ``Learner`` drive. All arrays carry a leading axis of n replicates.

    A policy has no state of its own; it is handed the state and returns the next one. If it has a
    method ``draws(state) -> int``, it gets that many uniform numbers (n, draws) in each round
    instead of one.
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


def gathered(views: Sequence[View], choices: Sequence[Choices]) -> Choices:
    """Return the choices in several views of one round as the choices of all replicates."""
    first = views[0]
    if not first.listed:
        pairs = zip(views, choices, strict=True)
        return joined([_among_candidates(view, choice) for view, choice in pairs])
    if first.actions is None:
        return choices[0]
    n = len(choices[0].action) if len(views) == 1 else len(first.rows)
    filled: dict[str, Any] = {"basis": choices[0].basis}
    for name in FILLERS:
        if getattr(choices[0], name) is not None:
            own = [(v, getattr(choice, name)) for v, choice in zip(views, choices, strict=True)]
            filled[name] = _filled(name, own, n)
    return Choices(**filled)


def _among_candidates(view: View, choice: Choices) -> Choices:
    """Return a choice among candidates, whose actions are numbered as in the game."""
    assert view.actions is not None
    return replace(choice, action=view.actions[choice.action], candidates=view.actions[None])


def _filled(name: str, own: Sequence[tuple[View, Any]], replicates: int) -> Any:
    """Return one field of the choices of all replicates, over all actions."""
    view, values = own[0]
    over_actions = name in ("distribution", "gaps", "information", "index")
    width = (view.count,) if over_actions else values.shape[1:]
    whole = np.full((replicates, *width), FILLERS[name], dtype=values.dtype)
    for view, values in own:
        assert view.actions is not None
        if over_actions:
            whole[_block(view.rows, view.actions, replicates)] = values
        else:
            whole[view.rows] = view.actions[values] if name == "action" else values
    return whole


def _block(rows: Any, actions: Indices, replicates: int) -> Any:
    """Return the index of some replicates and actions in an array (n, k)."""
    return np.ix_(np.arange(replicates)[rows], actions)


def joined(choices: Sequence[Choices]) -> Choices:
    """Put the choices of single replicates one below the other.

    If they considered different numbers of actions, shorter arrays are filled up with actions that
    are never chosen.
    """
    if len(choices) == 1:
        return choices[0]
    values: dict[str, Any] = {}
    for name, filler in FILLERS.items():
        each = [getattr(choice, name) for choice in choices]
        if each[0] is None:
            continue
        if each[0].ndim == 2:
            most = max(part.shape[1] for part in each)
            room = [[(0, 0), (0, most - part.shape[1])] for part in each]
            each = [
                np.pad(part, own, constant_values=filler)
                for part, own in zip(each, room, strict=True)
            ]
        values[name] = np.concatenate(each)
    return Choices(**values)


def is_policy(policy: object) -> bool:
    """Whether an object has what ``simulate`` and ``Learner`` need."""
    parts = (getattr(policy, name, None) for name in ("init", "decide", "update"))
    return not isinstance(policy, type) and all(map(callable, parts))


def uniforms_of(policy: Policy[Any], state: Any, seeds: Indices) -> Callable[[int], Array]:
    """Return the function that gives a policy its uniform numbers of a round (from 0).

    Shape (n,), or (n, draws) if the policy says how many it needs. The numbers of a round depend on
    the seed, the round and how many there are, and on nothing else.
    """
    width = draws_of(policy, state)
    stream = randomness.Stream(seeds, randomness.POLICY, 1 if width is None else width)
    if width is None:
        return lambda t: stream.at(t)[:, 0]
    return stream.at


def draws_of(policy: Policy[Any], state: Any) -> int | None:
    """Return how many uniform numbers a policy needs per round, or None if it does not say."""
    draws = getattr(policy, "draws", None)
    return None if draws is None else int(draws(state))


def draw(distribution: Array, uniforms: Array) -> Indices:
    """Draw one action per row by inverting the cumulative distribution, (n, k), (n,) -> (n,)."""
    passed = np.cumsum(distribution, axis=1) <= uniforms[:, None]
    # Rounding may leave the total below 1: the last action with any probability is meant.
    last = distribution.shape[1] - 1 - (distribution[:, ::-1] > 0).argmax(axis=1)
    return np.asarray(np.minimum(passed.sum(axis=1), last), dtype=np.int64)


def all_on(action: Indices, k: int) -> Array:
    """Return distributions that are all on the given actions (n,), shape (n, k)."""
    distribution = np.zeros((len(action), k))
    distribution[np.arange(len(action)), action] = 1.0
    return distribution


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do next, and why."""

    id: int
    """The number of the decision, to tell the observation by."""
    round: int
    """t: one more than the number of observations told."""
    action: int
    label: str
    distribution: Array
    """mu_t, shape (k,)."""
    probability: float
    """The probability with which this action was chosen."""
    gaps: Array
    """The gap estimates that were used, shape (k,)."""
    information: Array
    """The information gains that were used, shape (k,)."""
    ratio: float
    beta: float
    """beta_t, the squared radius of the confidence set."""
    estimate: Array
    """theta_hat, shape (d,)."""
    labels: Sequence[str]
    """The actions that were considered."""
    place: int
    """Where the action stands among them."""
    index: Array | None = None
    """What the policy played the largest of, shape (k,), if it decides in that way."""
    context: Any = None
    """The label of the context in which it was made, or its game if it was not known before."""
    basis: str | None = None
    """What else decided: "contexts", regret and information of all contexts together, or "plans",
    the gaps of whole plans, one action for each context."""
    considered: Indices | None = None
    """The numbers of the actions that were considered, if not all were; arrays are over these."""

    @classmethod
    def remembered(cls, row: Mapping[str, Any], context: Any) -> Decision:
        """Return a decision from its row of the history, without its reasons."""
        nothing = np.zeros(0)
        return cls(
            row["id"],
            row["round"],
            row["action"],
            row["label"],
            distribution=nothing,
            probability=row["probability"],
            gaps=nothing,
            information=nothing,
            ratio=np.nan,
            beta=np.nan,
            estimate=nothing,
            labels=(),
            place=0,
            context=context,
        )

    def explain(self) -> str:
        """Say why: what each action may lose, what it tells, and how often it is chosen."""
        return display.as_text(self.sheets())

    def sheets(self) -> list[display.Sheet]:
        """Return the table that explains the decision."""
        possible = [a for a in range(len(self.labels)) if not np.isposinf(self.gaps[a])]
        shown = sorted(possible, key=self._rank)[:12]
        columns = self._columns()
        rows = tuple(
            (
                display.Cell(self.labels[a] + (" <" if a == self.place else "")),
                *(display.Cell(_number(float(values[a]))) for values in columns.values()),
                display.Cell(f"{self.distribution[a]:.1%}"),
            )
            for a in shown
        )
        hidden = len(possible) - len(shown)
        notes = [_reason(self)] + ([f"{hidden} more actions are not shown"] if hidden else [])
        if self.basis == "plans":
            notes.append("plans for all contexts decided; shown are the gaps of this context")
        title = f"round {self.round}: {self.label}"
        return [display.Sheet(title, ("action", *columns, "chosen"), rows, tuple(notes))]

    def _columns(self) -> dict[str, Array]:
        """Return what the policy knows about the actions."""
        known = {"may lose": self.gaps, "tells": self.information}
        known = {name: values for name, values in known.items() if not np.isnan(values).all()}
        return known if self.index is None else known | {"index": self.index}

    def _rank(self, a: int) -> tuple[float, float, int]:
        """Sort by probability, then by what decided, then by number."""
        better = self.gaps[a] if self.index is None else -self.index[a]
        return -float(self.distribution[a]), float(better), a

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return display.as_html(self.sheets())

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data; a context that was not listed as in a game file."""
        return plain_row(self.row())

    def row(self) -> dict[str, Any]:
        """Return the decision as data, with its context as it is."""
        row = {
            "id": self.id,
            "round": self.round,
            "action": self.action,
            "label": self.label,
            "probability": self.probability,
        }
        return row if self.context is None else row | {"context": self.context}


def _number(value: float) -> str:
    """Show a number of a table; actions that are ruled out have none, those to be tried all."""
    return display.number(value) if np.isfinite(value) else "inf" if value > 0 else "-"


def _reason(decision: Decision) -> str:
    """Say in one sentence what the chosen action is traded against."""
    a = decision.place
    if decision.index is not None:
        if np.isposinf(decision.index[a]):
            return "it was never played, and what it shows is needed"
        out = np.isneginf(decision.index) & ~np.isposinf(decision.gaps)
        if out.sum() == len(out) - 1 > 0:
            return "every other action is ruled out"
        rest = "of the actions that are not ruled out " if out.any() else ""
        return f"{rest}it has the largest index"
    if np.isnan(decision.gaps).any():
        share = f"with probability {decision.probability:.0%}"
        return f"the policy chose it {share} and does not say why"
    greedy = int(decision.gaps.argmin())
    if (decision.gaps[decision.distribution > 0] <= 0).all():
        return "nothing else can be better, so there is nothing to explore"
    if a == greedy:
        others = np.flatnonzero(decision.distribution > 0)
        rival = next((int(b) for b in others if b != a), None)
        if rival is None:
            return "the least may be lost with it, and no other action tells enough to pay for more"
        return (
            f"the least may be lost with it; '{decision.labels[rival]}' is tried now and then "
            f"because it tells more"
        )
    if decision.gaps[a] <= decision.gaps[greedy] * (1 + 1e-9):
        return "no action may lose less, and it tells more than others that lose as little"
    worth = "is worth that price"
    if decision.context is not None and decision.gaps[greedy] <= 0:
        worth = "serves other contexts"
    elif decision.basis is not None:
        worth = "is worth that price, here and in other contexts"
    return f"it may lose more than '{decision.labels[greedy]}', but what it tells {worth}"
