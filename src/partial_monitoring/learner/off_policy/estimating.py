"""Off-policy values: what other actions or policies would have earned, from a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.off_policy.intervals import INTERVALS, interval_of
from partial_monitoring.learner.off_policy.logged import Log, read_log
from partial_monitoring.learner.off_policy.reweighted import (
    METHODS,
    Blind,
    Difference,
    Rewards,
    Reweighting,
    Scores,
    kind_of,
)
from partial_monitoring.learner.off_policy.targets import (
    Target,
    logged_target,
    own_rewards,
    read_target,
)
from partial_monitoring.learner.off_policy.values import OffPolicy, Value
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.validation import Array, brief, items, one_of, real_number

LOGGED = "logged"
"""The name of the policy that made the log."""

MOST_TARGETS = 200
"""Largest number of actions that are all compared."""

ENOUGH = 30
"""Number of decisions from which it is asked whether probabilities can be right: in one context, or
in all unlisted ones together."""

SUSPICIOUS = 5.0
"""Standard errors by which the weights of an action may miss their expectation."""


def off_policy(
    history: Any,
    target: Any = None,
    against: Any = None,
    *,
    game: AnyGame | str | None = None,
    method: str = "doubly_robust",
    interval: str = "normal",
    level: float = 0.95,
    observers: Sequence[int | str] | None = None,
    seed: int = 0,
) -> OffPolicy:
    """Estimate from a log what other actions or policies would have earned per round.

    Rewards need not be observed: a difference of rewards is estimated from what the logged actions
    showed, wherever ``pm.analyze`` proves that they show it. Where they do not, or where an action
    that is needed had probability 0, the answer says so in a sentence.

    Parameters
    ----------
    history
        A learner; or its ``history`` or ``events``, a list of dicts, a dict of columns or a data
        frame, with ``action`` (or ``label``), ``probability`` and ``observation``, where there are
        contexts ``context``, and ``distribution`` (over the actions of the context) if it is
        known. The distributions of a learner are computed again from its log.
    target
        What is evaluated: an action, probabilities of actions (a dict from labels, or a list), a
        dict from the labels of contexts to these, or a policy, which is asked at every logged
        decision and then told what was observed there. All actions unless given.
    against
        What it is compared with: the same, or "logged", the policy that made the log. The action
        that was played most unless given.
    game
        The game, or the name of one of ``pm.games``; left out with a learner.
    method
        "importance": weights of one over the probability, unbiased; "doubly_robust": the same
        around a least-squares estimate from earlier decisions, unbiased and usually narrower;
        "self_normalised": around weighted averages of what actions showed, consistent.
    interval
        "normal": from the standard error; "bernstein": holds for every number of decisions, however
        the policy that made the log learned; wider, and only for bounded observations.
    level
        How often intervals contain the truth.
    observers
        The actions whose observations are used where distributions are not known; all must have
        had positive probability. Those that were played unless given.
    seed
        Of the random numbers of a policy that is evaluated.

    Returns
    -------
    OffPolicy
        One value per target, with a table, ``print`` and ``plot``.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.apple_tasting()
    >>> learner = pm.Learner(game, seed=1, probe=0.2)
    >>> for outcome in [0, 0, 0, 1] * 50:
    ...     decision = learner.ask()
    ...     learner.tell(decision, game.signal(decision.action, outcome))
    >>> found = pm.off_policy(learner, target="taste", against="sell")
    >>> found.values[0].possible
    True
    """
    one_of("method", method, METHODS)
    one_of("interval", interval, INTERVALS)
    randomness.checked_seed("seed", seed)
    if not 0 < real_number("level", level) < 1:
        raise InvalidInput(f"level must lie between 0 and 1; got {brief(level)}.")
    log = read_log(history, game)
    labels = None
    if observers is not None:
        labels = [
            log.game.action_label(log.game.action_index(x)) for x in items("observers", observers)
        ]
    work = Reweighting(log, method, labels)
    if against is None:
        base = read_target(log, work.places, _most_played(log), seed)
    elif isinstance(against, str) and against == LOGGED:
        base = logged_target(log, work.places, LOGGED)
    else:
        base = read_target(log, work.places, against, seed, "against")
    if target is None:
        if log.game.k > MOST_TARGETS:
            raise InvalidInput(f"target must be given among {log.game.k:,} actions; got None.")
        several = [label for label in _labels(log) if label != base.name]
        targets = [read_target(log, work.places, label, seed) for label in several]
    elif isinstance(target, str) and target == LOGGED:
        targets = [logged_target(log, work.places, LOGGED)]
    else:
        targets = [read_target(log, work.places, target, seed)]
    values = [_value(work, own, base, interval, level) for own in targets]
    return OffPolicy(tuple(values), len(log), method, interval, level, (*log.notes, *_doubts(work)))


def _value(work: Reweighting, target: Target, base: Target, interval: str, level: float) -> Value:
    """Return the estimate of one difference, or why there is none."""
    why = target.why or base.why
    parts: list[Scores | Blind] = []
    for number, place in enumerate(work.places):
        if why:
            break
        found = _difference(work, number, target, base)
        if isinstance(found, str):
            why = found
            continue
        feedback = place.context.feedback
        parts.append(work.scores(number, found, (feedback.low, feedback.high)))
    blind = [part for part in parts if isinstance(part, Blind)]
    if blind:
        why = _sentence(work, blind, target.name, base.name)
    if why:
        return Value(target.name, base.name, why=why)
    n = len(work.log)
    ordered = Scores(*(np.zeros(n) for _ in Scores._fields))
    for place, part in zip(work.places, parts, strict=True):
        assert isinstance(part, Scores)
        for whole, own in zip(ordered, part, strict=True):
            whole[place.rows] = own
    estimate, error, low, high = interval_of(
        ordered, interval, level, work.method, known=work.log.distributions is not None
    )
    total, squares = ordered.weight.sum(), (ordered.weight**2).sum()
    effective = float(total**2 / squares) if squares > 0 else float(n)
    return Value(target.name, base.name, estimate, low, high, error, effective)


def _difference(work: Reweighting, number: int, target: Target, base: Target) -> Difference | str:
    """Return the differences of rewards at a place, or why they cannot be written down."""
    place = work.places[number]
    reduced = place.context.game.linear.reduced
    chances, other = target.chances(number), base.chances(number)
    if chances is not None and other is not None:
        shares = chances - other
        return Difference(shares @ reduced.offsets, shares @ reduced.features)
    own = own_rewards(reduced)
    if own is None:
        return (
            "What the policy that made the log earned is not known from the probabilities of the "
            "actions that it played; give the learner itself, or rows with 'distribution'."
        )
    n, k = len(place.rows), len(reduced.offsets)
    shares = (np.zeros((n, k)) if chances is None else chances) - (0 if other is None else other)
    sign = float(other is None) - float(chances is None)  # 0: the log against itself
    subtracted = Rewards(sign * own.offsets, sign * own.weights)
    return Difference(shares @ reduced.offsets, shares @ reduced.features, subtracted)


def _sentence(work: Reweighting, blind: list[Blind], target: str, base: str) -> str:
    """Say why a difference cannot be estimated."""
    for found in blind:
        where = _where(found)
        if found.missing is None:
            return (
                f"'{target}' cannot be compared with '{base}'{where}: no action shows the "
                f"difference of their rewards; pm.advise(game) says what to measure."
            )
    rows = sum(len(found.rows) for found in blind)
    first = blind[0]
    assert first.missing is not None
    label = first.place.context.game.action_label(first.missing)
    never = not (work.log.action[first.place.rows] == first.missing).any()
    if work.log.distributions is None and label not in (work.observers or (label,)):
        how = f"'{label}' is not among observers"
    elif work.log.distributions is None and never:
        how = f"'{label}' was never played{_where(first)}"
    else:
        how = f"'{label}' had probability 0 in {rows:,} of {len(work.log):,} decisions"
    return (
        f"'{target}' cannot be compared with '{base}': {how}, and what it shows is needed; "
        f"probes make it possible, as with pm.Learner(..., probe=0.02)."
    )


def _where(found: Blind) -> str:
    """Return in which context something happened, as a part of a sentence."""
    if not found.place.listed:
        return " in an unlisted context"
    name = found.place.context.name
    return "" if name is None else f" in context {brief(name)}"


def _doubts(work: Reweighting) -> list[str]:
    """Say which actions were played so rarely that their probabilities must have been 0 at times.

    If an action always has positive probability, the mean of [it is played] / probability is 1.
    """
    log = work.log
    if log.distributions is not None:
        return []
    by_label: dict[tuple[Any, str], list[Array]] = {}
    for number, place in enumerate(work.places):
        action, p = log.action[place.rows], log.probability[place.rows]
        for c in np.flatnonzero(work.designs[number].any(axis=0)):
            label = place.context.game.action_label(int(c))
            own = by_label.setdefault((kind_of(place), label), [])
            own.append(np.where(action == c, 1 / p, 0.0))
    found: dict[str, str] = {}
    for (_, label), parts in by_label.items():
        weights = np.concatenate(parts)
        error = weights.std() / np.sqrt(len(weights))
        if len(weights) >= ENOUGH and 0 < weights.mean() < 1 - SUSPICIOUS * error:
            found.setdefault(
                label,
                f"'{label}' seems to have had probability 0 at times: its weights are "
                f"{weights.mean():.2g} on average instead of 1, so that estimates may be biased; "
                f"give the learner itself, or rows with 'distribution'.",
            )
    return list(found.values())


def _labels(log: Log) -> list[str]:
    """Return the labels of the actions that every context offers, in order."""
    every = [place.context.game.actions for place in log.places]
    return [label for label in every[0] if all(label in own for own in every[1:])]


def _most_played(log: Log) -> str:
    """Return the label of the action that was played most, of those that all contexts offer."""
    counts = dict.fromkeys(_labels(log), 0)
    for context, action in zip(log.contexts, log.action.tolist(), strict=True):
        label = context.game.action_label(action)
        if label in counts:
            counts[label] += 1
    if not counts:
        raise InvalidInput("against must be given: no action is offered in every context.")
    return max(counts, key=counts.__getitem__)
