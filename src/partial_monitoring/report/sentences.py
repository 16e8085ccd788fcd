"""The answers of a report in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.report import words
from partial_monitoring.report.colors import Style
from partial_monitoring.report.ranking import Standing
from partial_monitoring.report.significance import too_few
from partial_monitoring.report.summary import Section


def headline(sections: Sequence[Section], standings: Sequence[Standing]) -> str:
    """Say which policy does best, before anything else."""
    if not standings:
        return "No policy played."
    first = standings[0]
    played = [section for section in sections if section.summaries]
    if len(standings) == 1:
        return f"{first.policy} was played alone, so there is nothing to compare it with."
    if len(played) == 1:
        return answer(played[0])
    most = max(standing.wins for standing in standings)
    winners = [standing.policy for standing in standings if standing.wins == most]
    where = f"{most} of {words.counted(len(played), 'instance')}"
    verb = "has" if len(winners) == 1 else "each have"
    text = f"{words.listing(winners)} {verb} the least regret on {where}."
    partly = f", but played only {first.played} of them" if first.played < len(played) else ""
    return (
        f"{text} Seed by seed, {first.policy} is ahead of the others most often "
        f"({words.percent(first.ahead)} of its comparisons){partly}."
    )


def answer(section: Section) -> str:
    """Say which policy wins on one instance, and over which others clearly."""
    best = next((s for s in section.summaries if s.policy == section.best), None)
    if best is None:
        return "No policy played this instance."
    result = section.comparison.result
    regret = words.with_error(best.mean, best.error)
    rounds = words.counted(result.horizon, "round")
    if len(section.summaries) == 1:
        return f"{best.policy} has a regret of {regret} after {rounds}."
    if not any(pair.difference for pair in section.pairs):
        return f"All policies have the same regret: {regret} after {rounds}."
    text = f"{best.policy} has the least regret: {regret} after {rounds}"
    even = [name for name in section.leaders if name != best.policy]
    if too_few(len(result.seeds), len(section.pairs)):
        seeds = words.counted(len(result.seeds), "seed")
        return f"{text}; {seeds} cannot prove an order of {len(section.summaries)} policies."
    if not even:
        return f"{text}, clearly less than every other policy."
    if len(even) == len(section.summaries) - 1:
        return f"{text}, but not clearly less than any other policy."
    return f"{text}, clearly less than all others but {words.listing(even)}."


def bound_note(section: Section) -> str | None:
    """Say what theory guarantees at the horizon, or why it does not."""
    result, game = section.comparison.result, section.comparison.game
    bound = section.verdict.bound(result.checkpoints[-1:])
    if bound is None:
        return None
    excess = section.excess
    if excess is not None and isinstance(game, KernelGame):
        return (
            f"The truth has norm {words.amount(excess)}, outside the norm bound "
            f"{words.amount(game.norm_bound)} of the game, so theory guarantees nothing here."
        )
    return (
        f"Theory guarantees IDS a regret of at most {words.amount(float(bound[0]))} after "
        f"{words.counted(result.horizon, 'round')} (the dashed line on logarithmic axes)."
    )


def facts(sections: Sequence[Section], styles: Mapping[str, Style]) -> list[str]:
    """Return the size of the experiment."""
    results = [section.comparison.result for section in sections if section.summaries]
    games = {(s.comparison.game_name, id(s.comparison.game)) for s in sections}
    lines = [
        words.counted(len(games), "game"),
        words.counted(len(sections), "instance"),
        words.counted(len(styles), "policy").replace("policys", "policies"),
    ]
    if results:
        lines.append(_range([result.horizon for result in results], "round"))
        lines.append(_range([len(result.seeds) for result in results], "seed"))
    return lines


def refusals(sections: Sequence[Section]) -> list[tuple[str, str, str]]:
    """Return (policy, game and instance, reason) of everything that was not played."""
    found = []
    for section in sections:
        title = section.comparison.title
        found += [(name, title, reason) for name, reason in section.comparison.refused.items()]
        found += [
            (name, title, "The run was interrupted before its first checkpoint.")
            for name in section.unfinished
        ]
    return found


def _range(numbers: Sequence[int], noun: str) -> str:
    low, high = min(numbers), max(numbers)
    return words.counted(high, noun) if low == high else f"{low:,} to {high:,} {noun}s"
