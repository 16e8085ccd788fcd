"""An analysis in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from partial_monitoring.analysis.observability import floats, view
from partial_monitoring.display import number

if TYPE_CHECKING:
    from partial_monitoring.analysis.classify import Analysis
    from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis

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
            unseen = [pair for pair in unseen if set(pair) <= set(analysis.representatives)]
            lines = [
                f"{name([a])} and {name([b])} can both be best, and no action shows which of them "
                f"is better."
                for a, b in unseen[:MOST_EXAMPLES]
            ]
            return lines + _more(len(unseen))
    far = [
        pair
        for pair, reading in analysis.local_readings.items()
        if not reading.seen and set(pair) <= set(analysis.representatives)
    ]
    lines = [_needs_help(analysis, a, b) for a, b in far[:MOST_EXAMPLES]]
    rest = len(far) - MOST_EXAMPLES
    if rest > 0:
        need = "pair needs" if rest == 1 else "pairs need"
        lines.append(f"{rest} more {need} the help of other actions, too.")
    return lines


def _needs_help(analysis: Analysis, a: int, b: int) -> str:
    """Say with whose help two neighbours are told apart."""
    name = _names(analysis)
    helpers, needed = _helpers(analysis, a, b)
    pair = f"{name([a])} and {name([b])}"
    if not needed:
        return (
            f"{pair} cannot be told apart by the actions that are best where the two tie, but with "
            f"the help of others, for instance {name(helpers)}."
        )
    which = "which is not" if len(helpers) == 1 else "none of which is"
    return (
        f"{pair} can only be told apart with the help of {name(helpers)}, {which} among the best "
        f"actions where the two tie."
    )


def _helpers(analysis: Analysis, a: int, b: int) -> tuple[list[int], bool]:
    """Return actions none of which can be left out, and whether there is no other choice."""
    game = analysis.game
    exact = analysis.exact
    near = analysis.cells.faces[a, b].neighborhood
    rest = [c for c in range(game.k) if c not in near]

    def enough(helpers: Sequence[int]) -> bool:
        return view(game, exact, (*near, *helpers)).read(a, b).seen

    weights = view(game, exact, range(game.k)).read(a, b).weights
    assert weights is not None
    used = abs(floats(weights)).max(axis=1) > 0
    kept = [c for c in rest if used[c]]
    if not enough(kept):
        kept = rest
    for c in list(reversed(kept)):
        fewer = [other for other in kept if other != c]
        if enough(fewer):
            kept = fewer
    needed = not any(enough([c for c in rest if c != helper]) for helper in kept)
    return kept, needed


def _proof(analysis: Analysis) -> str:
    return proof(
        analysis,
        f"Decided in floating point (the data are not rational or the parameter set is curved); "
        f"the narrowest decision had a margin of {number(analysis.margin)}.",
    )


def proof(analysis: Analysis | ContextualAnalysis, undecided: str) -> str:
    """Say how far an analysis was verified, and ``undecided`` if it was not exactly."""
    if analysis.certified:
        return "All of this was verified in exact arithmetic."
    if not analysis.sound:
        return (
            f"Decided in floating point, and not every proof of it holds "
            f"({len(analysis.problems())} do not): do not rely on it."
        )
    return undecided


def _more(count: int) -> list[str]:
    rest = count - MOST_EXAMPLES
    return [f"The same holds for {rest} more pair{'s' if rest > 1 else ''}."] if rest > 0 else []


def _names(analysis: Analysis) -> Callable[[Sequence[int]], str]:
    """Return a function that lists actions by their labels."""

    def listing(actions: Sequence[int]) -> str:
        shown = [int(a) for a in actions[:MOST_NAMES]]
        numbered = analysis.game.actions == tuple(map(str, range(analysis.game.k)))
        labels = [f"action {a}" if numbered else f"'{analysis.game.actions[a]}'" for a in shown]
        hidden = len(actions) - MOST_NAMES
        return ", ".join(labels) + (f" and {hidden} more" if hidden > 0 else "")

    return listing
