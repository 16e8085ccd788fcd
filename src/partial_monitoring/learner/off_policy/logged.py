"""Logged decisions as arrays: what was played, how likely it was, and what it showed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring import games
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.beginning import asked_in
from partial_monitoring.learner.learner import Learner
from partial_monitoring.learner.observations import from_log
from partial_monitoring.learner.votes import Votes
from partial_monitoring.model.any_game import AnyGame, Context
from partial_monitoring.model.contextual import CONTEXT_KEYS
from partial_monitoring.model.files import game_from_dict
from partial_monitoring.validation import (
    Array,
    Indices,
    brief,
    items,
    real_array,
    real_number,
    whole_number,
)

CERTAIN = 1e-9
"""An action whose probability is less than this below 1 was certain, and all others impossible."""

SMALLEST = 1e-30
"""Smallest probability of an action that was played; what it weighs can still be squared twice."""

ROUNDING = 1e-6
"""By how much a probability that is computed again may differ from the logged one."""


MOST_ROWS = 10_000_000
"""Largest number of decisions, each as often as it is counted."""


class Place(NamedTuple):
    """A context, and which rows of the log are in it."""

    context: Context
    rows: Indices

    @property
    def listed(self) -> bool:
        """Whether the context is one of the game's; others are seen once."""
        return self.context.name is None or isinstance(self.context.name, str)


@dataclass(frozen=True, eq=False)
class Log:
    """Decisions that were answered, in the order in which they were made; n of them."""

    game: AnyGame
    contexts: list[Context]
    """That of each decision; decisions in a listed context share one."""
    action: Indices
    """The numbers of the actions in the games of their contexts, shape (n,)."""
    probability: Array
    """With which they were chosen, shape (n,)."""
    observation: Array
    """What they showed, as vectors, shape (n, m)."""
    distributions: list[Array] | None
    """From which they were drawn, each over the actions of its context, where all are known."""
    available: list[Any]
    """The labels of the actions that could be played; None where all could."""
    notes: tuple[str, ...] = ()
    """What was left out, in sentences."""

    def __len__(self) -> int:
        return len(self.action)

    @property
    def places(self) -> list[Place]:
        """The contexts that occur, each with its rows."""
        found: dict[int, list[int]] = {}
        for row, context in enumerate(self.contexts):
            found.setdefault(id(context), []).append(row)
        return [Place(self.contexts[rows[0]], np.array(rows)) for rows in found.values()]


def read_log(history: Any, game: AnyGame | str | None) -> Log:
    """Return the answered decisions of a learner, its history or events, or a table of rows."""
    distributions: dict[Any, Array] = {}
    if isinstance(history, Learner):
        if game is not None:
            raise InvalidInput("game must be left out with a learner, which has its own.")
        game, events = _listed(history.game), history.events
        distributions = _recomputed(history, events)
        rows: list[Any] = decisions(events)
    elif game is None:
        raise InvalidInput("game must be given, unless history is a learner; got None.")
    else:
        rows = _rows(history)
        if any(isinstance(row, Mapping) and "kind" in row for row in rows):
            rows = decisions(rows)
    return _read(_listed(game), _expanded(rows), distributions)


def _listed(game: AnyGame | str) -> AnyGame:
    """Return a game that lists its actions, or refuse one that does not."""
    known = games.named(game)
    if not known.traits.listed:
        raise InvalidInput("game must list its actions; those of a box are too many to reweight.")
    return known


def decisions(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Return one row per decision in the events of a learner, as in its ``history``.

    The answer of a decision is its last one; cancelled decisions are left out. Logged data of a
    time before the learner are there if their probabilities are.
    """
    rows: dict[Any, dict[str, Any]] = {}
    for event in steps.amended(events):
        if not isinstance(event, Mapping) or "kind" not in event:
            continue
        name = event.get("decision")
        if event["kind"] in ("ask", "moved"):
            for ask in asked_in([event]):
                rows[ask["decision"]] = {"id": ask["decision"]} | dict(ask)
        elif event["kind"] == "history" and "probability" in event:
            rows[None, event["seq"]] = {"id": None} | dict(event)
        elif event["kind"] == "cancel":
            rows.pop(name, None)
        elif name in rows and event["kind"] == "tell":
            rows[name]["observation"] = event["observation"]
    return list(rows.values())


def _expanded(rows: list[Any]) -> list[Any]:
    """Return the rows, each as often as its count says."""
    counts = [row.get("count") if isinstance(row, Mapping) else None for row in rows]
    often = [1 if n is None or n != n else whole_number("count", n, at_least=1) for n in counts]
    if sum(often) == len(rows):
        return rows
    if sum(often) > MOST_ROWS:
        raise InvalidInput(f"history must count at most {MOST_ROWS} decisions; got {sum(often)}.")
    return [row for row, count in zip(rows, often, strict=True) for _ in range(count)]


def _rows(history: Any) -> list[Any]:
    """Return the rows of a list of dicts, a dict of columns, or a data frame."""
    names = list(history) if isinstance(history, Mapping) else getattr(history, "columns", None)
    if names is None:
        return items("history", history, " of decisions, a data frame or a learner")
    columns = {str(name): items(f"history[{name!r}]", history[name]) for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidInput("history must have columns of the same length.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _read(game: AnyGame, rows: list[Any], distributions: dict[Any, Array]) -> Log:
    """Return the rows that were answered as a log."""
    found: list[tuple[Context, int, float, Array, Array | None, Any]] = []
    contexts: dict[Any, Context] = {}
    unanswered = without = 0
    for number, row in enumerate(rows):
        try:
            if not isinstance(row, Mapping):
                raise InvalidInput(f"a decision must be a dict; got {brief(row)}.")
            context = _context(game, row.get("context"), contexts)
            action = _action(context, row)
            seen = from_log(context.game, action, row.get("observation"))
            if _missing(seen) and context.game.row_count(action):
                unanswered += 1
                continue
            if _missing(row.get("probability")):
                without += 1
                continue
            probability = _probability(row["probability"])
            own = distributions.get(row.get("id")) if distributions else row.get("distribution")
            if own is not None:
                own = _distribution(own, context.game.k, action, probability)
            seen, own_game = None if _missing(seen) else seen, context.game
            if isinstance(seen, Votes):
                shown = seen.mean(context, own_game.m)
            else:
                shown = context.feedback.encode(own_game, action, seen, own_game.m)
            found.append((context, action, probability, shown, own, row.get("available")))
        except InvalidInput as error:
            raise InvalidInput(f"row {number} of history: {error}") from None
    if not found:
        raise InvalidInput(
            "history must hold decisions with action, probability and observation; got none that "
            "was answered."
        )
    notes = []
    if unanswered:
        notes.append(_left_out(unanswered, "decision", "an answer"))
    if without:
        notes.append(_left_out(without, "row", "a probability"))
    drawn_from = [row[4] for row in found if row[4] is not None]
    return Log(
        game,
        [row[0] for row in found],
        np.array([row[1] for row in found]),
        np.array([row[2] for row in found]),
        _padded([row[3] for row in found]),
        drawn_from if len(drawn_from) == len(found) else None,
        [row[5] for row in found],
        tuple(notes),
    )


def _left_out(count: int, what: str, missing: str) -> str:
    """Say how many rows lack something and are not used."""
    many = f"{what} without {missing} is" if count == 1 else f"{what}s without {missing} are"
    return f"{count:,} {many} left out."


def _padded(vectors: list[Array]) -> Array:
    """Return vectors of different lengths as rows of one array, filled up with zeros."""
    filled = np.zeros((len(vectors), max(map(len, vectors))))
    for row, vector in zip(filled, vectors, strict=True):
        row[: len(vector)] = vector
    return filled


def _context(game: AnyGame, given: Any, known: dict[Any, Context]) -> Context:
    """Return the context of a row; listed ones are read once."""
    if isinstance(given, Mapping):
        described = set(given) <= set(CONTEXT_KEYS)
        return game.context(given if described else game_from_dict(given))
    if not game.traits.contexts and _missing(given):
        given = None
    if given is not None and not isinstance(given, str | int | np.integer):
        return game.context(given)
    if given not in known:
        known[given] = game.context(given)
    return known[given]


def _action(context: Context, row: Mapping[str, Any]) -> int:
    """Return the number of the action of a row, by its label if there is one."""
    named = next((row[key] for key in ("label", "action") if not _missing(row.get(key))), None)
    if named is None:
        raise InvalidInput("action must be given; got None.")
    return int(context.game.action_index(named))


def _missing(value: Any) -> bool:
    """Whether an entry is missing: None, or what data frames have in its place."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ in ("NAType", "NaTType")


def _probability(value: Any) -> float:
    """Return the probability of an action that was played."""
    probability = real_number("probability", value)
    if not 0 < probability <= 1 + CERTAIN:
        raise InvalidInput(
            f"probability must be above 0 and at most 1, since the action was played; got "
            f"{brief(value)}."
        )
    if probability < SMALLEST:
        raise InvalidInput(f"probability must be at least {SMALLEST:g}; got {probability:g}.")
    return min(probability, 1.0)


def _distribution(value: Any, k: int, action: int, probability: float) -> Array:
    """Return the distribution (k,) from which an action was drawn."""
    found = real_array("distribution", value, (k,))
    if (found < -CERTAIN).any() or abs(found.sum() - 1.0) > ROUNDING:
        raise InvalidInput(f"distribution must be probabilities; got {brief(found.tolist())}.")
    if abs(found[action] - probability) > ROUNDING:
        raise InvalidInput(
            f"distribution must give the action its probability, {probability:g}; got "
            f"{found[action]:g}."
        )
    return np.maximum(found, 0.0)


def _recomputed(learner: Learner, events: list[Any]) -> dict[Any, Array]:
    """Return the distributions of all decisions, decided again from the log.

    None of them if one comes out differently, as after a change of the policy.
    """
    spec, found = learner._spec, {}
    with spec.patience:
        for event, session, _ in steps.along(spec, events):
            if event["kind"] == "ask":
                context = spec.read_context(event.get("context"))
                request = dict(event) | {"context": context.name}
                decision = steps.decide(spec, session, request).decision
                assert decision is not None
                if abs(decision.probability - event["probability"]) > ROUNDING:
                    return {}
                distribution = decision.distribution
                if decision.considered is not None:
                    over = np.zeros(context.game.k)
                    real = decision.considered >= 0
                    over[decision.considered[real]] = distribution[real]
                    distribution = over
                found[event["decision"]] = distribution
    return found
