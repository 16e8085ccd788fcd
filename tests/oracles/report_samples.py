"""Comparisons with made-up numbers, so that the tests of reports are fast and hit every corner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import partial_monitoring as pm

ROUNDS = (1, 3, 10, 30, 100, 300, 1000)


def made_up(
    exponents: Mapping[str, float],
    *,
    seeds: int | Sequence[int] = 8,
    rounds: Sequence[int] = ROUNDS,
    k: int = 3,
    scale: float = 1.0,
) -> pm.Result:
    """Return a result in which the regret of each policy grows with its own exponent."""
    numbers = np.arange(seeds) if isinstance(seeds, int) else np.asarray(seeds)
    marks = np.asarray(rounds, dtype=np.int64)
    n, shape = len(numbers), (len(numbers), len(marks))
    rng = np.random.default_rng(0)
    regret, information, ratio, plays = {}, {}, {}, {}
    for name, exponent in exponents.items():
        luck = rng.uniform(0.5, 1.5, (n, 1))
        regret[name] = scale * luck * marks.astype(float) ** exponent
        information[name] = np.log1p(marks) * np.ones(shape)
        ratio[name] = rng.uniform(1, 2, shape)
        weights = rng.dirichlet(np.ones(k)) if k else np.empty(0)
        plays[name] = np.round(marks[None, :, None] * weights).astype(np.int64).repeat(n, axis=0)
        if k:
            plays[name][:, :, 0] += marks - plays[name].sum(axis=2)
    seconds = dict.fromkeys(exponents, 0.5)
    theta = np.full((n, 3), 1 / 3)
    return pm.Result(numbers, marks, theta, regret, information, ratio, plays, seconds)


def comparison(
    result: pm.Result,
    *,
    name: str = "dynamic_pricing",
    game: pm.Game | None = None,
    instance: str = "(0.2, 0.5, 0.3)",
    refused: Mapping[str, str] | None = None,
) -> pm.Comparison:
    """Put a result beside a game."""
    policies = dict.fromkeys(result.policies, pm.IDS())
    shown = pm.games.dynamic_pricing() if game is None else game
    return pm.Comparison(name, shown, instance, policies, result, refused or {})


ODD_NAMES = (
    "ids",
    "<b>bold</b>",
    "</script><script>alert(1)</script>",
    "R&D 'quoted' \"twice\"",
    "$x_1$ and $",
    "_hidden",
    "a_very_long_name_without_any_space_that_goes_on_and_on_and_on_for_eighty_characters_x",
    "a very long name with spaces, as someone writes who wants to be precise about options",
    "θ-β",
    "line\nbreak | pipe",
)


def ten_odd_policies() -> pm.Result:
    return made_up({name: 0.3 + 0.05 * i for i, name in enumerate(ODD_NAMES)})


def without_regret() -> pm.Result:
    return made_up({"ids": 0.5, "other": 0.5}, scale=0.0)


def regret_in_one_run() -> pm.Result:
    """The mean is above the 95 % quantile, which is zero."""
    result = made_up({"ids": 0.5}, seeds=40)
    result.regret["ids"][1:] = 0.0
    return result


def without_information() -> pm.Result:
    """One policy measures no information, another has infinite ratios and learned nothing."""
    result = made_up({"ids": 0.5, "plain": 0.6, "infinite": 0.7})
    result.information["plain"][:] = np.nan
    result.ratio["plain"][:] = np.nan
    result.information["infinite"][:] = 0.0
    result.ratio["infinite"][:] = np.inf
    return result


def nothing_measured() -> pm.Result:
    """One policy that measures no information, in a game with too many actions to count plays."""
    result = made_up({"plain": 0.6}, k=0)
    result.information["plain"][:] = np.nan
    result.ratio["plain"][:] = np.nan
    return result
