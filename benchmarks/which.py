"""Which policy: regret and time of the sensible candidates, by kind of game, size, delay and world.

``python -m benchmarks which`` prints the tables of docs/which-policy.md; ``--write`` puts them
there. All seeds are 0, 1, ..., and all policies of a row meet the same truths and noise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.regret_gaussian import unit
from benchmarks.settings import Array, Setting, Unlisted, anywhere, described, in_contexts
from benchmarks.timing import one_thread, show

Row = tuple[str, ...]

PAGE = Path(__file__).parents[1] / "docs" / "which-policy.md"
MARKED = re.compile(r"(<!-- which: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def named(*names: str) -> dict[str, str]:
    """Return policies with default options, the default one under the name it has on the page."""
    return {"default": "calibrated"} | {name: name for name in names}


# -- what is played ----------------------------------------------------------------------------


def plane(count: int) -> Array:
    return np.asarray(pm.candidates.sobol([0, 0], [1, 1], count))


def box() -> pm.KernelBoxGame:
    kernel = pm.kernels.Matern(2.5, 0.3)
    return pm.KernelBoxGame(kernel, low=[0, 0], high=[1, 1], noise_std=0.1, norm_bound=2)


def anything() -> pm.ContextualGame:
    return pm.ContextualGame([pm.games.linear_bandit(unit(0, 10, 5))])


def linear(k: int, d: int = 10) -> Callable[[], pm.Game]:
    return lambda: pm.games.linear_bandit(unit(d, k, d))


def prices(count: int) -> Callable[[], pm.FiniteGame]:
    return lambda: pm.games.dynamic_pricing([float(price) for price in range(1, count + 1)])


LINEAR = named("lints", "linucb") | {"ids, mean gaps": pm.IDS(gap=pm.gaps.mean)}
FUNCTIONS = named("ids", "expected_improvement", "gp_ucb")
SWEEPS = {"etc": "etc", "pege": "pege", "gcb": "gcb"}

KINDS = (
    Setting(
        "finite, easy: apple tasting, 2 actions",
        pm.games.apple_tasting,
        named("ids", "randcbp", "cbp", "tspm"),
        10_000,
        100,
    ),
    Setting(
        "finite, hard: label-efficient prediction, 3 actions",
        pm.games.label_efficient,
        named("ids", "randcbp", "cbp"),
        10_000,
        100,
    ),
    Setting(
        "plain bandit: 3 arms, rewards 0 and 1",
        pm.games.bernoulli_bandit,
        named("ids", "thompson", "ucb1", "randcbp"),
        10_000,
        100,
    ),
    Setting(
        "linear bandit: 30 actions, 5 features",
        linear(30, 5),
        named("ids", "lints", "linucb"),
        2000,
        50,
    ),
    Setting(
        "sets of items: 3 of 6, each item shown",
        lambda: pm.games.combinatorial_bandit(6, 3),
        named("ids", "lints", "linucb"),
        2000,
        50,
    ),
    Setting(
        "duels that show by how much, 8 items",
        lambda: pm.games.dueling(unit(3, 8, 3)),
        named("dueling_ids", "ids"),
        2000,
        30,
    ),
    Setting(
        "duels that show who won, 8 items",
        lambda: pm.games.dueling(unit(3, 8, 3), feedback="sign"),
        named("dueling_ids", "ids"),
        2000,
        30,
    ),
    Setting(
        "listed contexts, signals: prices for 2 segments",
        pm.games.segment_pricing,
        named("contextual_ids", "ids", "randcbpside"),
        2000,
        30,
        live=in_contexts,
    ),
    Setting(
        "listed contexts, numbers: bandit in 3 contexts",
        pm.games.contextual_linear_bandit,
        named("contextual_ids", "ids", "lints", "linucb"),
        2000,
        30,
        live=in_contexts,
    ),
    Unlisted(
        "features that come with the question: 10 actions, 5 features",
        anything,
        named("ids", "lints", "linucb"),
        500,
        10,
        live=described,
    ),
    Setting(
        "a function of 60 settings in the plane",
        lambda: pm.games.kernelized_bandit(plane(60), norm_bound=2),
        FUNCTIONS | {"gp_ts": "gp_ts"},
        300,
        20,
    ),
    Setting(
        "preferences between 30 settings",
        lambda: pm.games.kernelized_dueling(plane(30), norm_bound=2),
        named("dueling_ts", "dueling_ids"),
        300,
        20,
    ),
    Setting("a box of settings in the plane", box, FUNCTIONS, 60, 6, live=anywhere),
    Setting(
        "actions behind an oracle: matchings of 10 and 10",
        lambda: pm.games.matching(10),
        SWEEPS,
        2000,
        20,
    ),
)
"""One of each kind of game."""

SIZES = (
    *(
        Setting(f"{n} prices (hard)", prices(n), named("ids", "randcbp"), horizon, seeds)
        for n, horizon, seeds in ((3, 5000, 50), (10, 5000, 20), (30, 500, 4))
    ),
    *(
        Setting(f"{k:,} actions, 10 features", linear(k), LINEAR, 1000, seeds)
        for k, seeds in ((10, 50), (100, 20), (1000, 10), (10_000, 4))
    ),
)
"""Games of growing size."""

BATCHES = {"batch 1": {}, "batch 30": {"batch": 30}, "batch 300": {"batch": 300}}
DELAYS = tuple(
    tuple(Setting(name, game, policies, 3000, seeds, late=late) for late in BATCHES.values())
    for name, game, policies, seeds in (
        ("5 prices (hard)", prices(5), named("ids", "randcbp", "cbp"), 50),
        ("apple tasting (easy)", pm.games.apple_tasting, named("ids", "randcbp", "tspm"), 50),
        ("bandit, 3 arms", pm.games.bernoulli_bandit, named("thompson", "ucb1"), 50),
        ("linear bandit, 30 actions", linear(30, 5), named("ids", "lints", "linucb"), 30),
    )
)
"""The same games with answers that come in batches."""

FORGETTING = {"default, half_life=2000": pm.Calibrated(half_life=2000)}
CHANGED = {
    "2 actions (easy)": [[0.9, 0.1], [0.2, 0.8]],
    "3 actions (hard)": [[0.9, 0.1], [0.1, 0.9]],
    "3 arms": [[0, 0, 0, 0, 0.8, 0, 0, 0.2], [0, 0.8, 0, 0, 0, 0, 0, 0.2]],
}
WORLD_ROUNDS = 10_000
WORLDS = {
    "one truth": lambda moves: "random",
    "a switch": lambda moves: pm.truths.switching(moves, at=[WORLD_ROUNDS // 2]),
    "an opponent": lambda moves: pm.truths.hostile(),
}
MOVING = tuple(
    tuple(
        Setting(name, game, policies, WORLD_ROUNDS, 20, theta=world(moves))
        for world in WORLDS.values()
    )
    for (name, moves), game, policies in zip(
        CHANGED.items(),
        (pm.games.apple_tasting, pm.games.label_efficient, pm.games.bernoulli_bandit),
        (
            named() | FORGETTING | named("ids", "randcbp", "feedexp3", "exp_by_opt"),
            named() | FORGETTING | named("ids", "randcbp", "feedexp3", "exp_by_opt"),
            named() | FORGETTING | named("thompson", "ucb1", "tsallis_inf", "exp_by_opt"),
        ),
        strict=True,
    )
)
"""The same games in worlds that stay, switch, or play against the learner."""


# -- tables ------------------------------------------------------------------------------------


def shown(found: dict[str, Array]) -> dict[str, str]:
    """Show means with standard errors, in bold those that the lowest one does not clearly beat.

    Policies meet the same truths, so that differences are taken seed by seed.
    """
    lowest = min(found.values(), key=np.mean)
    cells = {}
    for name, regret in found.items():
        mean, error = regret.mean(), spread(regret)
        digits = 1 if mean < 10 else 0
        cell = f"{mean:.{digits}f} ± {error:.{digits}f}"
        ties = mean - lowest.mean() <= 2 * spread(regret - lowest)
        cells[name] = f"**{cell}**" if ties else cell
    return cells


def spread(values: Array) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def timed(settings: tuple[Setting, ...]) -> list[Row]:
    """Return a table with regret and time, a row for each policy of each setting."""
    rows: list[Row] = [("game", "rounds, seeds", "policy", "regret", "first decision", "each")]
    for setting in settings:
        cells = shown(setting.regrets())
        head: Row = (setting.name, f"{setting.horizon:,}, {setting.seeds}")
        for name, policy in setting.policies.items():
            with one_thread():
                times = setting.times(policy)
            rows.append(
                (*head, name, cells[name], *(show(time).replace("us", "µs") for time in times))
            )
            head = ("", "")
    return rows


def side_by_side(titles: tuple[str, ...], groups: tuple[tuple[Setting, ...], ...]) -> list[Row]:
    """Return a table with regrets only, a column for each of the settings of a group."""
    rows: list[Row] = [("game", "policy", *titles)]
    for group in groups:
        columns = [shown(setting.regrets()) for setting in group]
        for number, name in enumerate(group[0].policies):
            head = group[0].name if number == 0 else ""
            rows.append((head, name, *(column[name] for column in columns)))
    return rows


TABLES: dict[str, Callable[[], list[Row]]] = {
    "kinds": lambda: timed(KINDS),
    "sizes": lambda: timed(SIZES),
    "delays": lambda: side_by_side(tuple(BATCHES), DELAYS),
    "worlds": lambda: side_by_side(tuple(WORLDS), MOVING),
}
"""The tables of the page, by the name in their marker."""


def markdown(rows: list[Row]) -> str:
    """Return a table as it is written into the page."""
    head, *body = rows
    lines = [head, ("---",) * len(head), *body]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def written(page: str, tables: Mapping[str, list[Row]]) -> str:
    """Return a page with tables between their markers; others stay as they are."""

    def put(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        return begin + markdown(tables[name]) + end if name in tables else match.group()

    return MARKED.sub(put, page)


def run(write: bool = False, only: tuple[str, ...] = ()) -> list[Table]:
    """Measure the tables, all unless some are named, and write them into the page if asked to."""
    tables = []
    for name in only or TABLES:
        rows = TABLES[name]()
        if write:
            page = written(PAGE.read_text(encoding="utf-8"), {name: rows})
            PAGE.write_text(page, encoding="utf-8")
        table = Table(*rows[0], title=f"Which policy: {name}; regret ± standard error")
        for row in rows[1:]:
            table.add_row(*row)
        tables.append(table)
    return tables
