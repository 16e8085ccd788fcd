"""The regret of the default policy on finite games, beside every other policy of the library.

``python -m benchmarks regret [--only columns|slow|random|named] [--seeds N] [--out FOLDER]``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import partial_monitoring as pm
from benchmarks.standard_games import COLUMNS, NAMED, TABLE, Column, random_games
from benchmarks.stored_runs import StoredRuns, Wanted
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies import POLICIES, make
from partial_monitoring.policies.needs import initial_state_of

Array = np.ndarray

HORIZON, LONG_HORIZON = 10_000, 100_000

FEW = 50
"""Seeds that show which policies are far behind; the others play all seeds."""

FAR_BEHIND = 1.5
"""How many times the regret of RandCBP a policy must have to be far behind."""

SLOW_LIMITS = {"easy": 0.002, "hard": 0.007}
"""The largest shares of slow seeds after 100,000 rounds."""

OPPONENTS = 1_000_000
"""Draw number i has the random opponents of the seeds from i times this on."""

RAND = "randcbp"
AUTHORS = "randcbp, its authors' code"
BESIDE = "randcbp 20 levels"
"""Shown, but not at its default options."""


@dataclass(frozen=True)
class Choice:
    """What to play."""

    seeds: int
    games: int
    opponents: int
    draw: int
    first: int = 0
    """The first seed of those that may be slow."""


def policies() -> dict[str, Any]:
    """Return the default policy, RandCBP at the strongest setting, and all others by name."""
    others = {name: make(name) for name in POLICIES if name not in ("calibrated", RAND)}
    rand = {RAND: pm.RandCBP(levels=5), BESIDE: pm.RandCBP(levels=20)}
    return {"calibrated": pm.Calibrated()} | rand | others


def plays(policy: Any, game: pm.FiniteGame) -> bool:
    """Return whether a policy is made for a game."""
    try:
        initial_state_of(policy, game, 1)
    except InvalidInput:
        return False
    return True


Found = dict[str, dict[str, Array]]
"""The regret after half of the rounds and after all, (n, 2), by policy and column."""


def columns(runs: StoredRuns, choice: Choice) -> str:
    """Compare all policies on the standard games, each against fixed opponents."""
    everyone = policies()
    players = [
        (name, column)
        for column in COLUMNS
        for name, policy in everyone.items()
        if plays(policy, column.game)
    ]

    def wanted(name: str, column: Column, seeds: int) -> Wanted:
        given = (column.game, everyone[name], column.theta, HORIZON, range(seeds))
        return Wanted.of(column.name, name, *given)

    def read() -> Found:
        found: Found = {name: {} for name in everyone}
        for name, column in players:
            regret = runs.regret(wanted(name, column, choice.seeds))
            if regret is not None:
                found[name][column.name] = regret
        return found

    runs.play(wanted(name, column, min(FEW, choice.seeds)) for name, column in players)
    found = read()
    near = [own for own in players if not far_behind(found, *own)]
    runs.play(wanted(name, column, choice.seeds) for name, column in near)
    return columns_text(read())


def far_behind(found: Found, name: str, column: Column) -> bool:
    """Return whether a few seeds show that a policy cannot be the best one of a column."""
    own = found[name]
    if name in ("calibrated", RAND, BESIDE) or column.name not in own:
        return False
    least = mean(found[RAND], column) if column.name in found[RAND] else np.inf
    return lucky(own, column) or mean(own, column) > FAR_BEHIND * (least + 1)


def mean(own: Mapping[str, Array], column: Column) -> float:
    """Return the mean regret of a policy at the horizon."""
    return float(own[column.name][:, 1].mean())


def lucky(own: Mapping[str, Array], column: Column) -> bool:
    """Return whether a policy learns nothing against another opponent of the same game.

    Most of its seeds are slow there and lose in the second half what they lost in the first. One
    that never explores may start with the best action, which says nothing about learning.
    """

    def stuck(other: Column) -> bool:
        half, whole = own[other.name].T
        return bool((other.slow(own[other.name], HORIZON) & (whole > 1.95 * half)).mean() > 0.5)

    rivals = [other for other in COLUMNS if other.game_name == column.game_name]
    return any(stuck(other) for other in rivals if other.name in own)


def lowest(found: Found, column: Column) -> tuple[str, float]:
    """Return which other policy has the least mean regret in a column, and how much."""
    means = {AUTHORS: column.authors}
    for name, own in found.items():
        counts = name not in ("calibrated", BESIDE) and column.name in own
        if counts and not lucky(own, column):
            means[name] = mean(own, column)
    best = min(means, key=means.__getitem__)
    return best, means[best]


def columns_text(found: Found) -> str:
    """Return the table of all policies, and how the default compares with the best of them."""
    rows = [[AUTHORS, *(f"{column.authors:g}" for column in TABLE)]]
    for name, own in found.items():
        if own:
            cells = [column_cell(own[c.name], c) if c.name in own else "" for c in COLUMNS]
            marked = [
                f"({x})" if x and lucky(own, c) else x for x, c in zip(cells, COLUMNS, strict=True)
            ]
            rows.append([name, *marked])
    best = {column: lowest(found, column) for column in COLUMNS}
    rows.append(
        [
            "**lowest of the others**",
            *(f"{name} {figure(least, 3)}" for name, least in best.values()),
        ]
    )
    ours = found["calibrated"]
    if len(ours) == len(COLUMNS):
        ratios = [ratio(mean(ours, column), best[column][1]) for column in COLUMNS]
        rows.append(["**calibrated / lowest**", *ratios])
    text = [
        f"## Regret after {HORIZON:,} rounds",
        markdown(["policy", *(column.name for column in COLUMNS)], rows),
        "Mean ± standard error; in percent the share of slow seeds (those that lose at least half "
        "the smallest gap per round in the second half), if there are any. In brackets: against "
        "another opponent of the same game it learns nothing, so that this is luck.",
    ]
    if len(ours) == len(COLUMNS) == len(found[RAND]):
        published = [(mean(ours, own) + 1) / (own.authors + 1) for own in TABLE]
        here = [(mean(ours, own) + 1) / (mean(found[RAND], own) + 1) for own in COLUMNS]
        text.append(
            f"Geometric mean of (calibrated + 1)/(RandCBP + 1) on the first {len(TABLE)} columns: "
            f"{geometric(published):.3f} by its authors' code, {geometric(here[: len(TABLE)]):.3f} "
            f"by the library; on all {len(COLUMNS)}: {geometric(here):.3f} by the library."
        )
    return "\n\n".join(text)


def column_cell(regret: Array, column: Column) -> str:
    """Show a mean with its standard error and the share of slow seeds."""
    share = column.slow(regret, HORIZON).mean()
    return show(regret[:, 1]) + (f", {figure(100 * share, 2)} %" if share else "")


def slow(runs: StoredRuns, choice: Choice) -> str:
    """Count the seeds of the default policy that are still slow after many rounds."""
    policy, seeds = pm.Calibrated(), range(choice.first, choice.first + choice.seeds)
    wanted = {
        column: Wanted.of(
            f"{column.name}, {LONG_HORIZON:,} rounds",
            "calibrated",
            *(column.game, policy, column.theta, LONG_HORIZON, seeds),
        )
        for column in COLUMNS
    }
    runs.play(wanted.values())
    rows = []
    for column, own in wanted.items():
        regret = runs.regret(own)
        if regret is not None:
            found = column.slow(regret, LONG_HORIZON)
            share = f"{found.sum()} of {len(found)} ({100 * found.mean():.2g} %)"
            limit = f"{100 * SLOW_LIMITS[column.category]:g} %"
            rows.append([column.name, column.category, show(regret[:, 1]), share, limit])
    title = f"## Slow seeds after {LONG_HORIZON:,} rounds"
    return title + "\n\n" + markdown(["column", "class", "regret", "slow seeds", "at most"], rows)


def random(runs: StoredRuns, choice: Choice) -> str:
    """Compare with RandCBP on games and opponents drawn at random."""
    title = f"{choice.games} random games, {choice.opponents} opponents each, draw {choice.draw}"
    games = random_games(choice.games, choice.draw)
    return against_rand(runs, choice, f"## {title}", games, choice.opponents)


def named(runs: StoredRuns, choice: Choice) -> str:
    """Compare with RandCBP on the named games with opponents drawn at random."""
    title = f"Named games, {5 * choice.opponents} random opponents each, draw {choice.draw}"
    return against_rand(runs, choice, f"## {title}", NAMED, 5 * choice.opponents)


def against_rand(
    runs: StoredRuns,
    choice: Choice,
    title: str,
    games: Mapping[str, pm.FiniteGame],
    opponents: int,
) -> str:
    """Compare with RandCBP, each opponent met once by both."""
    start = OPPONENTS * choice.draw
    seeds = range(start, start + opponents)
    pair = {"calibrated": pm.Calibrated(), RAND: pm.RandCBP(levels=5)}
    wanted = {
        (setting, name): Wanted.of(
            f"{setting}, random opponents", name, game, policy, "random", HORIZON, seeds
        )
        for setting, game in games.items()
        for name, policy in pair.items()
    }
    runs.play(wanted.values())
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {"easy": [], "hard": []}
    for setting, game in games.items():
        ours, theirs = (runs.regret(wanted[setting, name]) for name in pair)
        category = str(pm.analyze(game).category)
        kind = f"{category}, {game.k} actions, {game.d} outcomes"
        cells = ["-" if own is None else show(own[:, 1]) for own in (ours, theirs)]
        if ours is not None and theirs is not None and len(ours) == len(theirs):
            difference = ours[:, 1] - theirs[:, 1]
            own = ratios[category]
            own.append(float((ours[:, 1].mean() + 1) / (theirs[:, 1].mean() + 1)))
            cells += [show(difference), f"{own[-1]:.3f}"]
        rows.append([setting, kind, *cells])
    header = ["setting", "game", "calibrated", RAND, "difference, paired", "ratio (+1)"]
    every = [own for group in ratios.values() for own in group]
    end = ""
    if len(every) == len(games):
        spread = float(np.std(np.log(every), ddof=1) / np.sqrt(len(every)))
        kinds = ", ".join(f"{len(v)} {n} {geometric(v):.3f}" for n, v in ratios.items() if v)
        end = f"Geometric mean: {geometric(every):.3f} ± {100 * spread:.0f} % ({kinds})"
    return "\n\n".join([title, markdown(header, rows), end])


def show(values: Array) -> str:
    """Show a mean with its standard error.

    >>> show(np.array([1.0, 2.0, 3.0]))
    '2 ± 0.58'
    """
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{figure(values.mean(), 3)} ± {figure(error, 2)}"


def figure(value: float, digits: int) -> str:
    """Show some digits of a number, and all before the point.

    >>> figure(1234.5, 2), figure(0.0123, 2), figure(9.96, 3)
    ('1234', '0.012', '9.96')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:.{digits}g}"


def ratio(ours: float, theirs: float) -> str:
    """Show a ratio, which need not exist."""
    return f"{ours / theirs:.2f}" if theirs > 0 else "-"


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(values).mean()))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a table; short rows are filled up."""
    filled = [row + [""] * (len(header) - len(row)) for row in rows]
    lines = [header, ["---"] * len(header), *filled]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


PARTS: dict[str, Callable[[StoredRuns, Choice], str]] = {
    "columns": columns,
    "slow": slow,
    "random": random,
    "named": named,
}

SEEDS = {"columns": 1000, "slow": 4000, "random": 0, "named": 0}
"""How many seeds each part plays unless told otherwise; the others play one per opponent."""


@click.command()
@click.option("--only", multiple=True, type=click.Choice([*PARTS]), help="Only these parts.")
@click.option("--seeds", type=click.IntRange(2), help="Seeds of each column.")
@click.option("--first", default=0, type=click.IntRange(0), help="First seed that may be slow.")
@click.option("--games", default=10, show_default=True, help="Number of random games.")
@click.option(
    "--opponents", default=60, show_default=True, help="Of a random game; named: five times."
)
@click.option("--draw", default=0, show_default=True, help="Which random games and opponents.")
@click.option("--play", multiple=True, help="Play only these policies; show all that is stored.")
@click.option("--workers", default=1, show_default=True, help="Number of processes.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(__file__).parent / "results" / "regret",
    help="Folder of the runs and of the tables, regret.md.",
)
def main(
    only: tuple[str, ...],
    seeds: int | None,
    first: int,
    games: int,
    opponents: int,
    draw: int,
    play: tuple[str, ...],
    workers: int,
    out: Path,
) -> None:
    """Measure the regret of the default policy on finite games."""
    runs = StoredRuns(out, workers, play)
    texts = []
    for name in only or PARTS:
        choice = Choice(seeds or SEEDS[name], games, opponents, draw, first)
        texts.append(PARTS[name](runs, choice))
        click.echo(texts[-1] + "\n")
    (out / "regret.md").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
