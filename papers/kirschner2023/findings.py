"""Sentences made from the numbers of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import partial_monitoring as pm
from partial_monitoring.report.text import duration
from partial_monitoring.simulation.comparison import Comparison

START = 0.03
"""Exponents are fitted over the rounds from this fraction of the horizon on."""

RESAMPLES = 400

EXPONENTS = {"trivial": "0", "easy": "1/2", "hard": "2/3", "hopeless": "1"}


def by_game(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Return the comparisons of each game."""
    games: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        games.setdefault(comparison.game_name, []).append(comparison)
    return games


def growth_exponent(instances: Sequence[Comparison], policy: str = "ids") -> tuple[float, ...]:
    """Fit the worst case over instances ~ n^e; return e and its 95 % interval over seeds."""
    rounds = instances[0].result.checkpoints
    late = rounds >= START * rounds[-1]
    regret = np.stack([c.result.regret[policy][:, late] for c in instances])  # (i, seeds, marks)
    rng = np.random.default_rng(0)
    picks = [np.arange(regret.shape[1])]
    picks += list(rng.integers(0, regret.shape[1], (RESAMPLES, regret.shape[1])))
    slopes = []
    for pick in picks:
        worst = regret[:, pick].mean(axis=1).max(axis=0)
        some = worst > 0
        if some.sum() >= 2:
            fit = np.polyfit(np.log(rounds[late][some]), np.log(worst[some]), 1)
            slopes.append(float(fit[0]))
        elif not slopes:
            return 0.0, 0.0, 0.0  # no regret in all runs together
    low, high = np.quantile(slopes, [0.025, 0.975])
    return slopes[0], float(low), float(high)


def growth(comparisons: Sequence[Comparison]) -> str:
    """Say how fast the worst case grows on each game."""
    parts = []
    for name, instances in by_game(comparisons).items():
        category = pm.analyze(instances[0].game).category
        value, low, high = growth_exponent(instances)
        if value == 0:
            parts.append(f"on the {name} game there is no regret at all")
            continue
        parts.append(
            f"on the {name} game the worst case grows like n^{value:.2f} "
            f"({low:.2f} to {high:.2f}; theory {EXPONENTS[category]})"
        )
    return _sentence("; ".join(parts))


def ratio(comparison: Comparison, policy: str, base: str) -> tuple[float, float, float]:
    """Return the regret of a policy over that of another, with a 95 % interval over seeds."""
    one, two = (comparison.result.regret[name][:, -1] for name in (policy, base))
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(one), (RESAMPLES, len(one)))
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = one[picks].mean(axis=1) / two[picks].mean(axis=1)
        return (
            float(one.mean() / two.mean()),
            float(np.quantile(spread, 0.025)),
            float(np.quantile(spread, 0.975)),
        )


def against_first(comparisons: Sequence[Comparison]) -> str:
    """Say what each policy loses beside the first one, and how long it takes."""
    names = list(dict.fromkeys(name for c in comparisons for name in c.policies))
    base, *others = names
    parts = [_beside(name, base, comparisons) for name in others]
    times = [f"'{name}' {_per_round(comparisons, name)}" for name in names]
    return _sentence("; ".join(parts)) + f" Time per round and run: {', '.join(times)}."


def in_order(comparisons: Sequence[Comparison]) -> str:
    """Say the mean regret of every policy on each game, the least first, and how long it takes."""
    parts = []
    for comparison in comparisons:
        finals = {name: comparison.result.mean(name)[-1] for name in comparison.result.policies}
        ranked = sorted(finals, key=finals.__getitem__)
        numbers = ", ".join(f"'{name}' {finals[name]:.0f}" for name in ranked)
        parts.append(f"{comparison.game_name}: {numbers}")
    names = list(dict.fromkeys(name for c in comparisons for name in c.policies))
    times = [f"'{name}' {_per_round(comparisons, name)}" for name in names]
    rounds = comparisons[0].result.horizon
    return (
        f"Regret after {rounds:,} rounds, the least first. {'; '.join(parts)}. Time per round and "
        f"run: {', '.join(times)}."
    )


def _beside(name: str, base: str, comparisons: Sequence[Comparison]) -> str:
    """Say how many times the regret of one policy another has, from the best game to the worst."""
    ratios = {
        comparison.game_name: ratio(comparison, name, base)
        for comparison in comparisons
        if {name, base} <= set(comparison.result.regret)
    }
    least, most = (pick(ratios, key=lambda game: ratios[game][0]) for pick in (min, max))
    span = f"{ratios[least][0]:.2f} ({least})"
    if least != most:
        span += f" to {ratios[most][0]:.2f} ({most})"
    fewer = sum(high < 1 for _, _, high in ratios.values())
    more = sum(low > 1 for _, low, _ in ratios.values())
    return (
        f"'{name}' has {span} times the regret of '{base}', clearly less on {fewer} and clearly "
        f"more on {more} of {len(ratios)} games"
    )


def tradeoffs(comparisons: Sequence[Comparison]) -> str:
    """Say which tradeoff would have been the right one on each game."""
    parts = []
    for comparison in comparisons:
        finals = {name: comparison.result.mean(name)[-1] for name in comparison.result.policies}
        fixed = {name: regret for name, regret in finals.items() if "lambda" in name}
        best, worst = min(fixed, key=fixed.__getitem__), max(fixed, key=fixed.__getitem__)
        parts.append(
            f"on {comparison.game_name} the regret is {finals['ids']:.0f} for IDS, "
            f"{finals['E2D, anytime']:.0f} for an anytime tradeoff, {fixed[best]:.0f} for the best "
            f"fixed one ({best.partition('= ')[2]}) and {fixed[worst]:.0f} for the worst "
            f"({worst.partition('= ')[2]})"
        )
    return _sentence("; ".join(parts))


def _per_round(comparisons: Sequence[Comparison], name: str) -> str:
    """Return the shortest and the longest time per round and seed over games."""
    times = [
        c.result.seconds[name] / (c.result.horizon * len(c.result.seeds))
        for c in comparisons
        if name in c.result.seconds
    ]
    low, high = duration(min(times)), duration(max(times))
    return low if low == high else f"{low} to {high}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
