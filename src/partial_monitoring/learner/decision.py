"""A decision: what to do next, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring import display
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.policies.promise import Promise
from partial_monitoring.policies.units import USUAL, Units
from partial_monitoring.validation import Array, Indices

SAVING = ("costs now", "worth later", "index")
"""What gaps, information and the index of actions are called that an expected saving decided."""

SAVED = (
    "how much less than the best-looking action it is estimated to earn, in units of reward",
    "what it shows is expected to save in all rounds to come, in units of reward",
    "worth later per unit lost: its cost now, and what is expected to be lost in a round because "
    "the best action is not known; the largest is played, '-' is not worth its cost",
)
"""What these numbers are."""

REASONS = ("distribution", "gaps", "information", "ratio", "beta", "estimate", "labels", "index")
"""The fields of a decision that may be computed when they are first read."""

MOST_SHOWN = 12
"""Largest number of actions in the table that explains a decision."""


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do next, and why; what the policy does not know is None or nan.

    Attributes
    ----------
    id
        By which the observation is reported: a token of the learner and a number, as in
        "k3f9x0q7tm-17". No other decision has it, of this learner or of another one.
    round
        t: one more than the number of observations so far.
    action
        The number of the action to play; in duels, of the pair of items.
    label
        Its label.
    distribution
        mu_t, the probabilities from which it was drawn, shape (k,).
    probability
        That of this action.
    gaps
        The gap estimates that were used, what each action may lose per round in units of reward,
        shape (k,); infinite for actions that are not available.
    information
        The information gains that were used, shape (k,), in nats for ``pm.information.log_det``.
    ratio
        The information ratio of the distribution.
    beta
        beta_t, the squared radius of the confidence set.
    estimate
        theta_hat, shape (d,); in games with a list of actions ``game.features @ estimate`` is what
        each is estimated to earn.
    labels
        The labels of the actions that were considered.
    place
        The index of the action among them.
    index
        The index whose maximum the policy played, shape (k,), if it decides in that way.
    context
        The label of the context in which it was made, or its game if the context is unlisted.
    decided_by
        What decided: "contexts", regret and information of all contexts together; "plans", the
        gaps of whole plans, one action for each context; "savings", information per unit
        lost, where gaps are what actions cost now and information what they show is worth later;
        or "guard", a rule whose action may lose no more, by the gaps, than a budget allows.
    units
        What gaps and information are measured in, in words.
    considered
        The numbers of the actions that were considered, if not all were; arrays are over these.
    available
        Which of the actions could be played, shape (k,), if not all could.
    probed
        Whether it is a probe, drawn uniformly whatever the policy would have chosen.
    floor
        The probability that probes give to every action that is available; 0 without probes.
    promise
        What the policy promises, "certified: ..." or "practical: ..."; None if it does not say.
    first
        In duels, the first item: its label, or over a box its settings by name.
    second
        In duels, the second item.
    settings
        Over a box, the coordinates of the point by name (x1, x2, ... if they have none).
    fallback
        Whether it is the action that the caller named for when the service is away.
    """

    id: str | int
    round: int
    action: int
    label: str
    distribution: Array
    probability: float
    gaps: Array | None
    information: Array | None
    ratio: float
    beta: float
    estimate: Array | None
    labels: Sequence[str]
    place: int
    index: Array | None = field(default_factory=lambda: None)  # not of the class: see ``later``
    context: Any = None
    decided_by: str | None = None
    units: Units = USUAL
    considered: Indices | None = None
    available: NDArray[np.bool_] | None = None
    probed: bool = False
    floor: float = 0.0
    promise: Promise | None = None
    first: Any = None
    second: Any = None
    settings: Mapping[str, float] | None = None
    fallback: bool = False

    @classmethod
    def later(cls, known: dict[str, Any], reason: Callable[[str], Any]) -> Decision:
        """Return a decision of which a function computes the ``REASONS`` by name, when first read.

        All other fields are known; the dict becomes that of the decision. The function must return
        the same whenever it is called.
        """
        decision = object.__new__(cls)
        object.__setattr__(decision, "__dict__", known)
        known["_later"] = reason
        return decision

    if not TYPE_CHECKING:  # for a type checker every field is there

        def __getattr__(self, name: str) -> Any:
            """Return a field that is not computed yet."""
            known = vars(self)
            if name not in REASONS or "_later" not in known:
                raise AttributeError(f"a Decision has no attribute {name!r}.")
            known[name] = value = known["_later"](name)
            return value

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def explain(self) -> str:
        """Say why: what each action may lose, what it tells, and how often it is chosen."""
        return display.as_text(self.sheets())

    def sheets(self) -> list[display.Sheet]:
        """Return the table that explains the decision."""
        possible = np.flatnonzero(~self._unavailable()).tolist()
        shown = sorted(possible, key=self._rank)[:MOST_SHOWN]
        columns = self._columns()
        rows = tuple(
            (
                display.TableCell(self.labels[a] + (" <" if a == self.place else "")),
                *(display.TableCell(_number(float(values[a]))) for values in columns.values()),
                display.TableCell(f"{self.distribution[a]:.1%}"),
            )
            for a in shown
        )
        hidden = len(possible) - len(shown)
        notes = [self._reason()] + ([f"{hidden} more actions are not shown"] if hidden else [])
        if self.decided_by == "plans":
            notes.append("plans for all contexts decided; shown are the gaps of this context")
        notes += [f"{name}: {words}" for name, words in self._measured(columns)]
        if self.promise is not None:
            notes.append(str(self.promise))
        title = f"round {self.round}: {self.label}"
        return [display.Sheet(title, ("action", *columns, "chosen"), rows, tuple(notes))]

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return display.as_html(self.sheets())

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data; an unlisted context as in a game file."""
        row = {
            "id": self.id,
            "round": self.round,
            "action": self.action,
            "label": self.label,
            "probability": self.probability,
        }
        parts = {name: getattr(self, name) for name in ("first", "second", "settings")}
        row |= {name: value for name, value in parts.items() if value is not None}
        if self.floor > 0:
            row["probed"] = self.probed
        return row if self.context is None else row | {"context": written(self.context)}

    def _unavailable(self) -> NDArray[np.bool_]:
        """Return which of the actions could not be played, shape (k,)."""
        if self.available is not None:
            return ~self.available
        if self.gaps is None:
            return np.zeros(len(self.labels), dtype=bool)
        return np.isposinf(self.gaps)

    def _columns(self) -> dict[str, Array]:
        """Return what the policy knows about the actions."""
        names = SAVING if self.decided_by == "savings" else ("may lose", "tells", "index")
        given = dict(zip(names, (self.gaps, self.information, self.index), strict=True))
        return {name: x for name, x in given.items() if x is not None and not np.isnan(x).all()}

    def _measured(self, columns: Mapping[str, Array]) -> list[tuple[str, str]]:
        """Return what the numbers of the columns are, in words, if that is known."""
        meant = SAVED if self.decided_by == "savings" else (*self.units[:2], "")
        names = SAVING if self.decided_by == "savings" else ("may lose", "tells", "index")
        each = zip(names, meant, strict=True)
        return [(name, words) for name, words in each if words and name in columns]

    def _rank(self, a: int) -> tuple[float, float, int]:
        """Return the key of the order of actions: probability, what decided, number."""
        better = 0.0
        if self.index is not None:
            better = -float(self.index[a])
        elif self.gaps is not None and not np.isnan(self.gaps[a]):
            better = float(self.gaps[a])
        return -float(self.distribution[a]), better, a

    def _reason(self) -> str:
        """Say in one sentence why the action was chosen."""
        a, gaps = self.place, self.gaps
        if self.probed:
            share = self.floor * (~self._unavailable()).sum()
            return f"it is a probe, drawn uniformly like {share:.3g} of the decisions"
        if self.decided_by == "savings":
            return self._saving()
        if self.decided_by == "guard":
            return "the practical rule chose it, and what it may lose is within the guard's budget"
        if self.index is not None:
            if np.isposinf(self.index[a]):
                return "it was never played, and what it shows is needed"
            out = np.isneginf(self.index) & ~self._unavailable()
            if out.sum() == len(out) - 1 > 0:
                return "every other action is ruled out"
            rest = "of the actions that are not ruled out " if out.any() else ""
            return f"{rest}it has the largest index"
        if gaps is None or np.isnan(gaps).any():
            share = f"with probability {self.probability:.0%}"
            return f"the policy chose it {share} and does not say why"
        greedy = int(gaps.argmin())
        played = np.flatnonzero(self.distribution > self.floor * (1 + 1e-9)).tolist()
        if (gaps[played] <= 0).all():
            return "nothing else can be better, so there is nothing to explore"
        if a == greedy:
            rivals = [self.labels[b] for b in played if b != a]
            rest = "and no other action tells enough to pay for more"
            if rivals:
                return (
                    f"the least may be lost with it; '{rivals[0]}' is tried now and then because "
                    f"it tells more"
                )
            return f"the least may be lost with it, {rest}"
        if gaps[a] <= gaps[greedy] * (1 + 1e-9):
            return "no action may lose less, and it tells more than others that lose as little"
        worth = "is worth that price"
        if self.context is not None and gaps[greedy] <= 0:
            worth = "serves other contexts"
        elif self.decided_by is not None:
            worth = "is worth that price, here and in other contexts"
        return f"it may lose more than '{self.labels[greedy]}', but what it tells {worth}"

    def _saving(self) -> str:
        """Say what the action costs now, and what is shown for that is worth later."""
        assert self.gaps is not None
        assert self.information is not None
        cheapest = self.gaps <= self.gaps.min()
        a, greedy = self.place, int(np.where(cheapest, self.information, -np.inf).argmax())
        cost, saving = self.gaps[a] - self.gaps[greedy], self.information[a]
        if cost <= 1e-9 * saving:  # or nothing but rounding
            alone = (~self._unavailable()).sum() == 1
            rest = ", and no other action shows enough to pay off"
            pays = (self.information > 0.0) & (self.information >= self.gaps)
            if np.delete(pays, a).any():
                rest = ", and what it shows itself comes without a price"
            return f"'{self.label}' looks best{'' if alone else rest}"
        also = float(self.information[greedy])
        instead = f", not {display.number(also)} as with '{self.labels[greedy]}'" if also else ""
        return (
            f"'{self.label}' costs {display.number(float(cost))} more now, and what it shows is "
            f"valued at {display.number(float(saving))} for the rounds to come{instead}"
        )


def written(context: Any) -> Any:
    """Return a context as plain data: its label, or as in a game file if it is unlisted."""
    return context if context is None or isinstance(context, str) else game_to_dict(context)


def _number(value: float) -> str:
    """Show a number: "-" for actions that are ruled out, "inf" for those that must be tried."""
    return display.number(value) if np.isfinite(value) else "inf" if value > 0 else "-"
