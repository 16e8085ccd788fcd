"""An analysis in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING

from partial_monitoring.display import number
from partial_monitoring.observability.exact_game import ExactGame
from partial_monitoring.observability.views import floats, view

if TYPE_CHECKING:
    from partial_monitoring.observability.classify import Analysis

HEADLINES = {
    "trivial": "Trivial: one action is best whatever is true, so there is nothing to lose.",
    "easy": "Easy: regret can be kept to the order of the square root of the number of rounds.",
    "hard": "Hard: regret can be kept to the order of n^(2/3) in n rounds, and no lower.",
    "hopeless": "Hopeless: in the worst case every algorithm keeps losing in every round.",
}
MOST_EXAMPLES = 3
MOST_NAMES = 12


def explain(analysis: Analysis) -> str:
    """Return the explanation, one paragraph per subject."""
    return "\n".join(
        [HEADLINES[analysis.category], *_actions(analysis), *_reason(analysis), _proof(analysis)]
    )


def as_html(analysis: Analysis) -> str:
    """Return the explanation as HTML."""
    first, *rest = explain(analysis).splitlines()
    lines = "".join(f"<li>{escape(line)}</li>" for line in rest)
    return f"<div><strong>{escape(first)}</strong><ul>{lines}</ul></div>"


def _actions(analysis: Analysis) -> list[str]:
    """Say which actions can be best."""
    name = _names(analysis)
    lines = [f"Can be best: {name(analysis.pareto)}."]
    if analysis.degenerate:
        lines.append(f"Best only in ties with others: {name(analysis.degenerate)}.")
    if analysis.dominated:
        lines.append(f"Never best: {name(analysis.dominated)}.")
    for group in analysis.duplicates[:MOST_EXAMPLES]:
        lines.append(f"Earn the same whatever is true: {name(group)}.")
    return lines


def _reason(analysis: Analysis) -> list[str]:
    """Say what decides the class."""
    name = _names(analysis)
    match analysis.category:
        case "trivial":
            best = name(analysis.pareto[:1])
            return [f"{best} is at least as good as every other action for every possible truth."]
        case "easy":
            return [
                "Whenever two actions compete for being best, playing them (or actions as good as "
                "both there) shows which is better."
            ]
        case "hopeless":
            unseen = [
                p
                for p, r in analysis.global_readings.items()
                if not r.seen and p in analysis.local_readings
            ]
            lines = [
                f"{name([a])} and {name([b])} can both be best, and no action shows which of them "
                f"is better."
                for a, b in unseen[:MOST_EXAMPLES]
            ]
            return lines + _more(len(unseen))
    far = [pair for pair, reading in analysis.local_readings.items() if not reading.seen]
    lines = []
    for a, b in far[:MOST_EXAMPLES]:
        helpers = _helpers(analysis, a, b)
        among = "is not" if len(helpers) == 1 else "are not all"
        lines.append(
            f"{name([a])} and {name([b])} can only be told apart with the help of "
            f"{name(helpers)}, which {among} among the best actions where the two tie."
        )
    return lines + _more(len(far))


def _helpers(analysis: Analysis, a: int, b: int) -> list[int]:
    """Return a smallest set of actions that tells a pair apart together with its neighbourhood."""
    game = analysis.game
    exact = ExactGame.of(game) if analysis.cells.exact else None
    near = analysis.cells.faces[a, b].neighborhood
    rest = [c for c in range(game.k) if c not in near]
    for size in (1, 2):
        for helpers in combinations(rest if len(rest) <= 40 else rest[:40], size):
            if view(game, exact, (*near, *helpers)).read(a, b).seen:
                return list(helpers)
    weights = view(game, exact, range(game.k)).read(a, b).weights
    assert weights is not None
    used = abs(floats(weights)).max(axis=1) > 0
    return [c for c in rest if used[c]]


def _proof(analysis: Analysis) -> str:
    if analysis.certified:
        return "All of this was verified in exact arithmetic."
    return (
        f"Decided in floating point (the data are not rational or the parameter set is curved); "
        f"the narrowest decision had a margin of {number(analysis.margin)}."
    )


def _more(count: int) -> list[str]:
    rest = count - MOST_EXAMPLES
    return [f"The same holds for {rest} more pair{'s' if rest > 1 else ''}."] if rest > 0 else []


def _names(analysis: Analysis) -> Callable[[Sequence[int]], str]:
    """Return a function that lists actions by their labels."""

    def listing(actions: Sequence[int]) -> str:
        labels = [analysis.game.actions[a] for a in actions[:MOST_NAMES]]
        labels = [f"action {label}" if label.isdigit() else f"'{label}'" for label in labels]
        hidden = len(actions) - MOST_NAMES
        return ", ".join(labels) + (f" and {hidden} more" if hidden > 0 else "")

    return listing
