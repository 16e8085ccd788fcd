"""The analysis of a game with contexts in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partial_monitoring.analysis.explain import proof
from partial_monitoring.display import number

if TYPE_CHECKING:
    from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis

HEADLINES = {
    "trivial": "Trivial: in every context one action is always best, and nothing is to be learned.",
    "easy": "Easy: regret can be kept to the order of the square root of the number of rounds.",
    "learnable": (
        "Learnable: all that matters can be observed in contexts that come, so that regret can be "
        "kept to the order of n^(2/3) in n rounds, possibly lower."
    ),
    "hopeless": "Hopeless: regret may grow in proportion to the number of rounds.",
}


def explain(analysis: ContextualAnalysis) -> str:
    """Return the explanation, one subject per line."""
    lines = [HEADLINES[analysis.category]]
    for z in analysis.possible:
        name = analysis.game.contexts[z]
        chance = number(float(analysis.game.context_distribution[z]))
        lines.append(f"'{name}' (probability {chance}) {_by_itself(analysis, z)}.")
    return "\n".join([*lines, *_reason(analysis), _proof(analysis)])


def _by_itself(analysis: ContextualAnalysis, z: int) -> str:
    """Say what a context is without the others, and whether they help."""
    own = analysis.contexts[z]
    shows = "shows nothing and " if own.rank == 0 else ""
    alone = f"{shows}is {own.category} by itself"
    needs = [one for one in analysis.combinations if one.context == z]
    helped = own.category == "hopeless" and all(one.seen for one in needs)
    return f"{alone}, but what it needs to know is shown in other contexts" if helped else alone


def _reason(analysis: ContextualAnalysis) -> list[str]:
    """Say what decides the class."""
    lines = []
    for one in analysis.combinations:
        if not one.seen:
            where = _pair(analysis, one.context, one.first, one.second)
            lines.append(f"{where} cannot be told apart by anything that any context shows.")
    if analysis.category == "easy" and analysis.faces:
        lines.append(
            "Wherever two actions of a context compete for being best, the best actions of all "
            "contexts together show which is better."
        )
    unseen = [place for place, face in analysis.faces.items() if face.finished and not face.seen]
    if unseen:
        lines.append(
            f"{_pair(analysis, *unseen[0])} can tie where the best actions of all contexts "
            f"together do not show which of the two is better."
        )
    elif analysis.undecided:
        where = _pair(analysis, *analysis.undecided[0])
        lines.append(f"{where} tie in too many ways to look at: it may be easier than said here.")
    return lines


def _pair(analysis: ContextualAnalysis, z: int, a: int, b: int) -> str:
    own = analysis.game.at(z)
    return f"In '{analysis.game.contexts[z]}' '{own.actions[a]}' and '{own.actions[b]}'"


def _proof(analysis: ContextualAnalysis) -> str:
    return proof(
        analysis,
        "Decided in floating point (the data are not rational, the parameter set is curved, or the "
        "game is too large).",
    )
