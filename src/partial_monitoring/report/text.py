"""The words of a report: answers in sentences, and numbers as people write them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from partial_monitoring.report.guarantee import Guarantee
from partial_monitoring.report.ranking import Ranking
from partial_monitoring.report.significance import FEWEST
from partial_monitoring.report.summary import Section
from partial_monitoring.simulation.exponent import Exponent

MISSING = "–"
"""Shown for a number that does not exist."""

SMALL = 1e-9
"""Errors below this share of the mean are rounding."""

POWERS = {0.0: "0", 0.5: "1/2", 2 / 3: "2/3", 1.0: "1"}


def headline(sections: Sequence[Section], rankings: Sequence[Ranking]) -> str:
    """Say which policy is proven to do best, before anything else."""
    played = [section for section in sections if section.summaries]
    if not played:
        return "No policy played."
    names = list(dict.fromkeys(name for section in played for name in section.by_policy))
    if len(names) == 1:
        return f"{names[0]} was played alone, so there is nothing to compare it with."
    if len(played) == 1:
        return answer(played[0])
    winners = [section.winner for section in played]
    counts = {name: winners.count(name) for name in names if name in winners}
    if not counts:
        proven = "No policy is proven to have the least regret on any instance."
    else:
        (first, most), *rest = sorted(counts.items(), key=lambda item: -item[1])
        others = "".join(f", {name} on {count}" for name, count in rest)
        where = f"{most} of {with_noun(len(played), 'instance')}"
        proven = f"{first} clearly has the least regret on {where}{others}."
    return f"{proven} {advice(rankings)}"


def advice(rankings: Sequence[Ranking]) -> str:
    """Say in one sentence which policies to use on which games."""
    if all(ranking.undecided for ranking in rankings):
        return f"Recommending a policy takes at least {FEWEST} seeds."
    few = list(dict.fromkeys(name for ranking in rankings for name in ranking.unjudged))
    note = f" {name_list(few)} played too few seeds to be recommended or not." if few else ""
    return "What to use: " + "; ".join(map(_use, rankings)) + f".{note}"


def _use(ranking: Ranking) -> str:
    unjudged = ranking.unjudged
    judged = [own for own in ranking.standings if own.policy not in unjudged]
    names = [standing.policy for standing in judged]
    never_worse = [s.policy for s in judged if s.clear_losses == 0]
    games = ranking.games[:3]
    rest = len(ranking.games) - len(games)
    where = "on " + name_list([*games, with_noun(rest, "other")] if rest else games)
    if len(ranking.standings) == 1:
        return f"{ranking.standings[0].policy} was played alone {where}"
    if ranking.undecided or len(names) < 2:
        return f"{where} more seeds are needed to say"
    if not never_worse:
        return f"{where} it depends on θ"
    if len(never_worse) == len(names):
        return f"{where} none is clearly better than another"
    return f"{name_list(never_worse, 'or')} {where}"


def answer(section: Section) -> str:
    """Say which policy wins on one instance, and over which others clearly."""
    best = next((s for s in section.summaries if s.policy == section.best), None)
    if best is None:
        return "No policy played this instance."
    result = section.comparison.result
    regret = with_error(best.mean, best.error)
    rounds = with_noun(result.horizon, "round")
    if len(section.summaries) == 1:
        return f"{best.policy} has a regret of {regret} after {rounds}."
    if not any(pair.difference for pair in section.pairs):
        return f"All policies have the same regret: {regret} after {rounds}."
    if section.undecided:
        seeds = with_noun(len(result.seeds), "seed")
        return (
            f"On these seeds {best.policy} has the least regret, {regret} after {rounds}; "
            f"{seeds} cannot prove an order of {len(section.summaries)} policies, which takes at "
            f"least {FEWEST}."
        )
    text = f"{best.policy} has the least regret: {regret} after {rounds}"
    even = [name for name in section.leaders if name != best.policy]
    if not even:
        return f"{text}, clearly less than every other policy."
    if len(even) == len(section.summaries) - 1:
        return f"{text}, but not clearly less than any other policy."
    return f"{text}, clearly less than all others but {name_list(even)}."


def bound_note(section: Section) -> str | None:
    """Say what theory guarantees at the horizon, or why it does not."""
    notes = [_bound_note(own, section.comparison.result.horizon) for own in section.guarantees]
    return " ".join(notes) or None


def _bound_note(own: Guarantee, horizon: int) -> str:
    names, limit = name_list(own.policies), amount(own.norm_bound)
    if not own.holds:
        size = amount(own.norm)
        far = f"has norm {size}" if own.kernel else f"is {size} away from the prior mean"
        return (
            f"The truth {far}, outside the norm bound {limit} of {names}, so theory guarantees "
            f"nothing here."
        )
    bound = float(own.at(np.array([horizon]))[0])
    if np.isfinite(bound):
        return (
            f"Theory guarantees IDS ({names}) a regret of at most {amount(bound)} after "
            f"{with_noun(horizon, 'round')} (the dashed line on logarithmic axes)."
        )
    if np.isinf(own.start):
        return f"The theoretical bound for IDS ({names}) is never below the largest possible loss."
    return (
        f"The theoretical bound for IDS ({names}) says nothing before round "
        f"{amount(own.start)}: until then it is no smaller than the largest possible loss."
    )


def promises(sections: Sequence[Section]) -> dict[str, str]:
    """Return what each policy promises, on all games or in the order of these."""
    found: dict[str, list[str]] = {}
    for section in sections:
        for name, promise in section.promises.items():
            found.setdefault(name, []).append(str(promise))
    return {name: "; or ".join(dict.fromkeys(each)) for name, each in found.items()}


def comparators(sections: Sequence[Section]) -> list[str]:
    """Say on which instances regret is not measured against the best action for theta."""
    found: dict[str, dict[str, None]] = {}
    for section in sections:
        against = section.comparison.result.against
        if against:
            found.setdefault(against, {})[section.comparison.instance] = None
    return [
        f"θ = {name_list(list(instances))}: regret is measured against {against}"
        for against, instances in found.items()
    ]


def facts(sections: Sequence[Section], policies: Collection[str]) -> list[str]:
    """Return the size of the experiment."""
    results = [section.comparison.result for section in sections if section.summaries]
    lines = [
        with_noun(len({id(section.verdict) for section in sections}), "game"),
        with_noun(len(sections), "instance"),
        with_noun(len(policies), "policy").replace("policys", "policies"),
    ]
    if results:
        lines.append(_range([result.horizon for result in results], "round"))
        lines.append(_range([len(result.seeds) for result in results], "seed"))
    return lines


def _range(numbers: Sequence[int], noun: str) -> str:
    low, high = min(numbers), max(numbers)
    return with_noun(high, noun) if low == high else f"{low:,} to {high:,} {noun}s"


def amount(value: float) -> str:
    """Show a number with three digits, or all digits before the point.

    >>> [amount(x) for x in (12345.6, 12.345, 0.001234, 0.0, float("inf"), float("nan"))]
    ['12,346', '12.3', '0.00123', '0', '∞', '–']
    """
    if np.isnan(value):
        return MISSING
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e9 or 0 < abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def with_error(mean: float, error: float) -> str:
    """Show a mean and its standard error to the same decimal, two digits of the error.

    A single seed and seeds that are all the same have no error to speak of.

    >>> with_error(123.456, 1.234), with_error(5.0, float("nan")), with_error(5.0, 0.0)
    ('123.5 ± 1.2', '5', '5')
    """
    if error <= SMALL * abs(mean) or not np.isfinite([mean, error]).all():
        return amount(mean)
    if max(abs(mean), error) >= 1e9:
        return f"{amount(mean)} ± {amount(error)}"
    decimals = int(np.clip(1 - np.floor(np.log10(error)), 0, 6))
    return f"{mean:,.{decimals}f} ± {error:,.{decimals}f}"


def duration(seconds: float) -> str:
    """Show a time in the unit that suits it.

    >>> [duration(s) for s in (2.5e-7, 3.14e-5, 0.012, 7.0, 600.0)]
    ['250 ns', '31.4 µs', '12 ms', '7 s', '10 min']
    """
    if not np.isfinite(seconds):
        return MISSING
    units = ((1e-6, 1e-9, "ns"), (1e-3, 1e-6, "µs"), (1.0, 1e-3, "ms"), (120.0, 1.0, "s"))
    for limit, scale, unit in units:
        if seconds < limit:
            return f"{amount(seconds / scale)} {unit}"
    return f"{amount(seconds / 60)} min"


def exponent(fit: Exponent | None) -> str:
    """Show a fitted exponent with its interval, if it has one.

    >>> exponent(Exponent(0.512, 0.48, 0.55)), exponent(None)
    ('0.51 (0.48 to 0.55)', '–')
    """
    if fit is None or np.isnan(fit.value):
        return MISSING
    if not np.isfinite([fit.low, fit.high]).all():
        return f"{fit.value:.2f}"
    return f"{fit.value:.2f} ({fit.low:.2f} to {fit.high:.2f})"


def power(value: float | None) -> str:
    """Show the exponent of a class as a fraction.

    >>> power(2 / 3), power(None)
    ('2/3', '–')
    """
    return MISSING if value is None else POWERS.get(value, f"{value:.2g}")


def p_value(p: float) -> str:
    """Show a p-value.

    >>> p_value(0.00004), p_value(0.034), p_value(1.0)
    ('< 0.001', '= 0.034', '= 1')
    """
    if np.isnan(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def percent(share: float) -> str:
    """Show a share.

    >>> percent(0.834), percent(float("nan"))
    ('83 %', '–')
    """
    return MISSING if np.isnan(share) else f"{100 * share:.0f} %"


def name_list(names: Sequence[str], last: str = "and") -> str:
    """Put names into a sentence.

    >>> name_list(["ids"]), name_list(["ids", "cbp", "ucb"])
    ('ids', 'ids, cbp and ucb')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def with_noun(number: int, noun: str) -> str:
    """Show how many things there are.

    >>> with_noun(1, "seed"), with_noun(10000, "round")
    ('1 seed', '10,000 rounds')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
