"""What a learner knows: what may still be best, what exploring costs, what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from partial_monitoring import display
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.kernel.box import shown_of
from partial_monitoring.estimation.linear.design import design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import counted
from partial_monitoring.estimation.state import Prior, initial_state
from partial_monitoring.learner.beliefs import (
    BeliefTable,
    at_points,
    number_of,
    of_pairs,
    table_of,
)
from partial_monitoring.learner.counts import Tallies, Tally
from partial_monitoring.learner.observations import symbols
from partial_monitoring.learner.session import deciding
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.model.any_game import Context
from partial_monitoring.model.game import Game
from partial_monitoring.policies.policy import draws_needed
from partial_monitoring.policies.promise import Promise
from partial_monitoring.policies.units import units_of
from partial_monitoring.validation import Array, Indices

ENOUGH = 30
"""Number of observations from which the data are compared with the model."""

MOST_DECIDED = 200
"""Largest number of rivals of the best-looking action that are checked against all others."""

SUSPICIOUS = 5.0
"""Standard errors beyond which a deviation is reported."""


@dataclass(frozen=True, eq=False)
class Status:
    """What a learner knows by now.

    Attributes
    ----------
    round
        t: one more than the number of observations.
    best
        The label of the action (in duels, the item) that looks best.
    action
        Its number (in duels, that of the item).
    plausible
        The actions (in duels, the items) that may still be best: for some parameter in E_t no
        other is better. If more than 200 may beat the best-looking one, they are not checked
        against each other, see ``decided``.
    at_risk
        What playing the best-looking action loses per round, at most, if the model holds; in
        units of reward.
    exploring
        What the next decision loses in expectation, at most; estimated if no bound is proven.
    warnings
        Where the data contradict the model.
    decided
        Whether every plausible action was shown to be best for some parameter in E_t.
    promise
        What the policy promises, "certified: ..." or "practical: ..."; None if it does not say.
        Where no bound is proven, E_t, and all that follows from it, may miss the truth.
    table
        What each action is estimated to earn, with the interval of E_t, how often it was played and
        is played now, see :class:`partial_monitoring.learner.beliefs.BeliefTable`.
    item
        In duels, the label of the item that looks best, which is ``best``; None in other games.
    settings
        Over a box, the coordinates of the point that looks best, by name.
    """

    round: int
    best: str
    action: int
    plausible: list[str]
    at_risk: float
    exploring: float
    warnings: list[str]
    decided: bool = True
    promise: Promise | None = None
    table: BeliefTable = field(default_factory=BeliefTable)
    item: str | None = None
    settings: Mapping[str, float] | None = None

    def explain(self) -> str:
        """Show the table of actions, and say the rest in plain sentences."""
        table = (
            [display.as_text([self.table.sheet()], width=140).strip("\n")]
            if len(self.table)
            else []
        )
        return "\n".join([*table, *([""] if table else []), display.as_lines(self.sentences())])

    def sentences(self) -> list[str]:
        """Say in sentences what is known, where data and model clash, what the table shows."""
        names = ", ".join(f"'{name}'" for name in self.plausible[:12])
        more = len(self.plausible) - 12
        names += f" and {more} more" if more > 0 else ""
        best = f"'{self.best}'"
        if self.table.noun == "point":  # there are many, with long names
            names, best = f"{len(self.plausible):,} of the points compared", "the best-looking one"
        lines = [f"Round {self.round}: '{self.best}' looks best."]
        proven = self.promise is None or self.promise.certified
        if len(self.plausible) == 1:
            still = "can be best any more, if the model holds" if proven else "is likely to be best"
            lines.append(f"No other {self.table.noun} {still}.")
        else:
            risk = display.number(self.at_risk)
            rest = "" if self.decided else " (not each of them was checked against all others)"
            loses = "loses at most" if proven else "is likely to lose at most"
            lines.append(f"May still be best: {names}{rest}; playing {best} {loses} {risk}.")
            loses = "loses at most" if proven else "is estimated to lose"
            lines.append(f"The next decision {loses} {display.number(self.exploring)}.")
        if self.promise is not None:
            lines.append(f"{self.promise.mode.capitalize()}: {self.promise.words}.")
        lines += [f"Warning: {warning}" for warning in self.warnings]
        return [*lines, *(note[0].upper() + note[1:] for note in self.table.notes)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, with one row per action."""
        known = {own.name: getattr(self, own.name) for own in fields(self)}
        promise = None if self.promise is None else str(self.promise)
        return known | {"promise": promise, **self.table.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Status:
        """Return the status from plain data; numbers that JSON cannot write are missing there."""
        given = {own.name: data[own.name] for own in fields(cls) if own.name in data}
        for name in ("at_risk", "exploring"):
            given[name] = np.inf if given.get(name) is None else float(given[name])
        if given.get("promise") is not None:
            given["promise"] = Promise(*given["promise"].split(": ", 1))
        return cls(**given | {"table": BeliefTable.from_dict(data)})

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return display.as_html([self.sheet()])

    def sheet(self) -> display.Sheet:
        """Return the table with a drawing of every interval, and the sentences."""
        title, *notes = self.sentences()
        return self.table.sheet(title, tuple(notes), bars=True)


def status_of(spec: Spec, session: Session, own: Context) -> Status:
    """Return what is known after some events, with contexts in one of them."""
    policy, confidence = spec.policy, confidence_of(spec, session, own)
    width = draws_needed(policy, session.state)
    middle = np.full((1,) if width is None else (1, width), 0.5)
    choice = policy.decide(deciding(spec, session), middle, **own.options)
    gaps = None if choice.gaps is None else own.own(choice.gaps)
    if gaps is not None and units_of(policy, session.state).summed:
        gaps = gaps - gaps.min()
    counts = session.counts.at(spec.logged(own))
    considered = None if choice.candidates is None else choice.candidates[0]
    decision = own.own(choice.distribution), gaps, considered
    caveat = getattr(policy, "caveat", None)
    found = status(own.game, confidence, *decision, counts, doubtful=caveat is not None)
    warnings = found.warnings if caveat is None else [caveat, *found.warnings]
    table = found.table
    if spec.game.traits.contexts:
        of_all = f"{counts.rounds:,} of {session.round - 1:,} observations"
        note = f"plays, share: in this context, which had {of_all}."
        table = replace(table, notes=(*table.notes, note))
    found = replace(found, round=session.round, warnings=warnings)
    return replace(found, promise=spec.promise, table=table)


def confidence_of(spec: Spec, session: Session, own: Context) -> Any:
    """Return E_t after some events, with contexts in one of them."""
    known = getattr(spec.policy, "confidence_set", None)
    found = known(session.state, **own.options) if callable(known) else None
    return observed_set(spec, session, own) if found is None else found


def status(
    game: Game,
    confidence: Any,
    distribution: Array,
    gaps: Array | None,
    considered: Indices | None,
    observed: Tallies,
    *,
    doubtful: bool = False,
) -> Status:
    """Return what a learner knows.

    Parameters
    ----------
    game, confidence
        The game and E_t (in duels, that of the game of items).
    distribution, gaps, considered
        Of the next decision, over the actions it considered, and their numbers, if not all were;
        without gaps the exact ones.
    observed
        What the actions of the game have shown, in the user's units.
    doubtful
        Whether the confidence set may miss the truth whatever its width.
    """
    greedy = int(confidence.means[0].argmax())
    further, rivals, decide = confidence.ahead(0)
    decided = int(rivals.sum()) <= MOST_DECIDED
    best = decide() if decided else rivals
    if gaps is None:
        gaps = confidence.exact_gaps()[0]
    warnings = _misfit(game, confidence, observed)
    if confidence.outside[0] > _believable(confidence):
        pressed = "the data pull the estimate out of the parameter set, which may be too small."
        warnings = [pressed, *warnings]
    played = np.flatnonzero(distribution)
    numbers = played if considered is None else considered[played]
    chances = dict(zip(numbers.tolist(), distribution[played].tolist(), strict=True))
    plausible, names = np.flatnonzero(best), confidence.game.actions
    number = number_of(game, confidence, greedy)
    if of_pairs(game, confidence):  # an item is best if its duel with itself is
        greedy = number = greedy // game.item_count  # type: ignore[attr-defined]
        plausible, names = np.flatnonzero(best[:: game.item_count + 1]), game.items  # type: ignore[attr-defined]
    return Status(
        int(confidence.round[0]),
        names[greedy],
        number,
        [names[a] for a in plausible.tolist()],
        max(float(further.max()), 0.0),
        float(distribution @ gaps),
        warnings,
        decided,
        table=table_of(game, confidence, best, chances, observed, doubtful=doubtful),
        **game.described_best(number),
    )


def _believable(confidence: Any) -> float:
    """Return how far from the parameter set an estimate may be, as a squared distance.

    That is beta_t if the truth is in E_t with high probability; otherwise what normal estimates in
    as many dimensions hardly ever exceed.
    """
    beta, schedule = float(confidence.beta[0]), confidence.schedule
    if schedule is not None and schedules.level(schedule, int(confidence.round[0])) is not None:
        return beta
    usual = float(np.sqrt(confidence.center.shape[1])) + SUSPICIOUS
    return max(beta, (float(confidence.noise_std) * usual) ** 2)


def _misfit(game: Game, confidence: Any, observed: Tallies) -> list[str]:
    """Compare residuals with the noise that the game claims, and early ones with late ones.

    The residuals are those of all observations from the present estimate, exactly. Late ones begin
    at ``Tallies.middle``: half of the rounds, to within a 32nd of them.
    """
    if observed.rounds < ENOUGH:
        return []
    shown, noise = _expected(game, confidence), np.ravel(game.noise_std)
    squares, count, drifting = 0.0, 0, []
    for a, tally in sorted(observed.actions.items()):
        size, rows = float(noise[a % len(noise)]), len(tally.total)
        if rows == 0:
            continue
        if not symbols(game, a):  # signals scatter as their probabilities imply
            squares += tally.squares(shown(a)) / size**2
            count += tally.plays * rows
        if _has_changed(tally, observed.middle, size):
            drifting.append(
                f"what '{game.action_label(a)}' shows has changed over time; the truth may be "
                f"drifting: half_life= of the policy forgets gradually, learner.reset() at once."
            )
    spread = float(np.sqrt(squares / count)) if count else 0.0
    if spread > 1 + SUSPICIOUS / np.sqrt(2 * max(count, 1)):
        return [f"observations scatter {spread:.2f} times as much as noise_std says.", *drifting]
    return drifting


def _has_changed(tally: Tally, middle: int, noise: float) -> bool:
    """Whether the mean of what an action shows before a round differs from that after it."""
    early, before = tally.before(middle)
    late, after = tally.plays - early, np.array(tally.total) - before
    if min(early, late) < ENOUGH // 3:
        return False
    change = np.abs(after / late - before / early).max() / noise
    return float(change) > SUSPICIOUS * float(np.sqrt(1 / early + 1 / late))


def _expected(game: Any, confidence: Any) -> Callable[[int], Array]:
    """Return the function from actions to what they show on average by the estimate, (m_a,)."""
    if not at_points(game):
        return lambda a: np.asarray(confidence.expected(game, a)[0])
    # The numbers of the estimate are values at points, among them all that were played.
    points = confidence.game.computed.points
    values = dict(zip(game.nearest(points).tolist(), confidence.center[0], strict=True))

    def shown(action: int) -> Array:
        numbers, pairs = game.places_of(np.array([action]))
        return shown_of(
            pairs, np.array([values.get(number, np.nan) for number in numbers.tolist()])
        )

    return shown


def observed_set(spec: Spec, session: Session, own: Context) -> Any:
    """Return what least squares makes of the observations, for policies without a set E_t."""
    game: Any = spec.game
    counts = session.counts.settled()
    if not game.traits.listed or counts.unlisted:
        raise InvalidInput(
            f"{type(spec.policy).__name__} has no confidence set, and so no status in games whose "
            f"actions or contexts are not listed."
        )
    if not game.traits.contexts:
        linear = game.linear
        known = counted(design(linear), *_totals(counts.at(None), linear.k, linear.m))
        return Ellipsoid.around(known, schedules.paper())
    each = [_totals(counts.at(name), game.at(name).k, game.m) for name in game.contexts]
    plays, sums = (np.concatenate(part, axis=1) for part in zip(*each, strict=True))
    state = initial_state(game, 1, Prior())
    seen = state.having_seen(plays, sums, np.array([session.round]))
    return seen.confidence(schedules.paper(), **own.options)


def _totals(observed: Tallies, k: int, m: int) -> tuple[Indices, Array]:
    """Return the plays (1, k) of all actions and the sums (1, k, m) of what they showed."""
    plays, sums = np.zeros((1, k), dtype=np.int64), np.zeros((1, k, m))
    for action, tally in observed.actions.items():
        plays[0, action] = tally.plays
        sums[0, action, : len(tally.total)] = tally.total
    return plays, sums
