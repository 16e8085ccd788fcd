"""The facts about a game in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from partial_monitoring.analysis.cells import floats
from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.observability import span_of
from partial_monitoring.display import as_lines, number

HEADLINES = {
    "trivial": "Trivial: one action is best whatever is true, so there is nothing to lose.",
    "easy": "Easy: regret can be kept to the order of the square root of the number of rounds.",
    "hard": "Hard: regret can be kept to the order of n^(2/3) in n rounds, and no lower.",
    "hopeless": "Hopeless: in the worst case every algorithm keeps losing in every round.",
}
"""The first sentence about a game of each class."""

MOST_EXAMPLES = 3
"""Largest number of pairs or groups that are named."""

MOST_NAMES = 12
"""Largest number of actions in one list."""


def sentences(facts: Facts) -> str:
    """Return the explanation of a game, one sentence per line."""
    undecided = (
        f"Decided in floating point (the data are not rational or the parameter set is curved); "
        f"the narrowest decision had a margin of {number(facts.margin)}."
    )
    problems = [] if facts.sound else facts.problems()
    proof = verification(facts.certified, problems, undecided)
    return as_lines([HEADLINES[facts.category], *_actions(facts), *_reason(facts), proof])


def html_list(facts: Facts) -> str:
    """Return the explanation of a game as an HTML list."""
    return html_lines(sentences(facts))


def html_lines(text: str) -> str:
    """Return lines as HTML: the first one in bold, the others as a list."""
    first, *rest = text.splitlines()
    lines = "".join(f"<li>{escape(line)}</li>" for line in rest)
    return f"<div><strong>{escape(first)}</strong><ul>{lines}</ul></div>"


def _actions(facts: Facts) -> list[str]:
    """Return sentences on which actions can be best."""
    lines = [f"Can be best: {_names(facts, facts.pareto)}."]
    if facts.degenerate:
        lines.append(f"Best only in ties with others: {_names(facts, facts.degenerate)}.")
    if facts.dominated:
        lines.append(f"Never best: {_names(facts, facts.dominated)}.")
    for group in facts.duplicates[:MOST_EXAMPLES]:
        lines.append(f"Earn the same whatever is true: {_names(facts, group)}.")
    return lines


def _reason(facts: Facts) -> list[str]:
    """Return sentences on what decides the class."""
    match facts.category:
        case "trivial":
            best = _names(facts, facts.pareto[:1])
            return [f"{best} is at least as good as every other action for every possible truth."]
        case "easy":
            return [
                "Whenever two actions compete for being best, playing them (or actions as good as "
                "both there) shows which is better."
            ]
        case "hopeless":
            unseen = [pair for pair in facts.unobservable if pair in set(facts.neighboring_cells)]
            lines = [
                f"{_names(facts, [a])} and {_names(facts, [b])} can both be best, and no action "
                f"shows which of them is better."
                for a, b in unseen[:MOST_EXAMPLES]
            ]
            rest = len(unseen) - MOST_EXAMPLES
            more = f"The same holds for {rest} more pair{'s' if rest > 1 else ''}."
            return [*lines, more] if rest > 0 else lines
    far = [pair for pair in facts.neighboring_cells if not facts.local_readings[pair].seen]
    lines = [_needs_help(facts, a, b) for a, b in far[:MOST_EXAMPLES]]
    rest = len(far) - MOST_EXAMPLES
    if rest > 0:
        need = "pair needs" if rest == 1 else "pairs need"
        lines.append(f"{rest} more {need} the help of other actions, too.")
    return lines


def _needs_help(facts: Facts, a: int, b: int) -> str:
    """Return a sentence on the actions that help to distinguish two neighbours."""
    helpers, needed = _helpers(facts, a, b)
    pair, names = f"{_names(facts, [a])} and {_names(facts, [b])}", _names(facts, helpers)
    if not needed:
        return (
            f"{pair} cannot be told apart by the actions that are best where the two tie, but with "
            f"the help of others, for instance {names}."
        )
    which = "which is not" if len(helpers) == 1 else "none of which is"
    return (
        f"{pair} can only be told apart with the help of {names}, {which} among the best actions "
        f"where the two tie."
    )


def _helpers(facts: Facts, a: int, b: int) -> tuple[list[int], bool]:
    """Return a minimal set of helpers, and whether every set of helpers contains all of them."""
    game = facts.game
    exact = facts.exact
    near = facts.cells.faces[a, b].neighborhood
    rest = [c for c in range(game.k) if c not in near]

    def enough(helpers: Sequence[int]) -> bool:
        return span_of(game, exact, (*near, *helpers)).certify(a, b).seen

    weights = span_of(game, exact, range(game.k)).certify(a, b).weights
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


def verification(certified: bool, problems: Sequence[str], undecided: str) -> str:
    """Return a sentence on how far a result was verified; ``undecided`` if not exactly."""
    if certified:
        return "All of this was verified in exact arithmetic."
    if problems:
        return (
            f"Decided in floating point, and not every proof of it holds "
            f"({len(problems)} do not): do not rely on it."
        )
    return undecided


def _names(facts: Facts, actions: Sequence[int]) -> str:
    """List actions by their labels."""
    numbered = facts.game.actions == tuple(map(str, range(facts.game.k)))
    shown = [int(a) for a in actions[:MOST_NAMES]]
    labels = [f"action {a}" if numbered else f"'{facts.game.actions[a]}'" for a in shown]
    hidden = len(actions) - MOST_NAMES
    return ", ".join(labels) + (f" and {hidden} more" if hidden > 0 else "")
