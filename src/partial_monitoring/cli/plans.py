"""The command ``pm plan``: how long until the best action is known, and what that costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import (
    GAME_COMMAND,
    GAME_HELP,
    console,
    find_game,
    known_games,
    read_policies,
    read_value,
)
from partial_monitoring.cli.experiments import POLICY_HELP
from partial_monitoring.cli.games import PICTURES
from partial_monitoring.cli.policies import POLICIES
from partial_monitoring.errors import InvalidInput, brief

HELP = """
A run knows the best action from round t on if more than half of its latest plays are best actions,
at t and ever after, for at least as many rounds again. The table says after how many rounds how
many runs know, and what they have lost by then.

Two actions may earn nearly the same, and then no number of rounds tells them apart. Say with
--within what an action may lose per round and still count as best: a cent, or 0.1. Say with --theta
what you believe to be true; without it every run draws its own truth, and --theta worst searches
for one that takes long.
"""


@click.command("plan", context_settings=GAME_COMMAND, epilog=HELP + GAME_HELP + POLICY_HELP)
@click.argument("game", shell_complete=known_games)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[POLICY] [--NAME VALUE]...")
@click.option("--param", multiple=True, metavar="NAME=VALUE", help="An option of the game.")
@click.option("--theta", default="random", show_default=True, help="0.2,0.5,0.3, random or worst.")
@click.option("--chance", default=0.95, show_default=True, help="How likely it shall be known.")
@click.option(
    "--within", default=0.0, show_default=True, help="What a best action may lose per round."
)
@click.option("--horizon", type=int, help="Rounds to play; by default until enough is known.")
@click.option("--seeds", default="200", show_default=True, help="Runs, or a list of seeds: 3,5,8.")
@click.option("--noise", help="Noise instead of the game's own: gaussian, bernoulli, sign, none.")
@click.option("--probe", default=0.0, show_default=True, help="Share of uniform actions mixed in.")
@click.option("--threads", type=int, help="Number of threads; by default all cores.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the plan to this .svg, .png or .pdf file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list and nothing else.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def plan(
    game: str,
    options: Sequence[str],
    param: Sequence[str],
    theta: str,
    chance: float,
    within: float,
    horizon: int | None,
    seeds: str,
    noise: str | None,
    probe: float,
    threads: int | None,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say how many rounds it takes until the best action is known, and what that costs.

    \b
    pm plan dynamic_pricing --theta 0.2,0.5,0.3       if this is the truth
    pm plan dynamic_pricing --within 0.1              whatever the truth is, for most truths
    pm plan dynamic_pricing --within 0.1 --theta worst  and for one that takes long
    pm plan my-game.json ids --chance 0.99 --plot plan.png
    """
    if plot is not None and plot.suffix not in PICTURES:
        raise InvalidInput(
            f"{plot}: a picture ends in {', '.join(PICTURES)}; got {brief(plot.suffix)}."
        )
    words = list(options)
    named = words.pop(0) if words and not words[0].startswith("--") else POLICIES[0]
    found = pm.plan(
        find_game(game, words, param),
        next(iter(read_policies([named]).values())),
        theta=read_value(theta),  # type: ignore[arg-type]
        chance=chance,
        within=within,
        horizon=horizon,
        seeds=read_value(seeds),  # type: ignore[arg-type]
        noise=noise,
        probe=probe,
        threads=threads,
        progress=not (quiet or as_json),
    )
    if plot is not None:
        from partial_monitoring import disk

        picture = BytesIO()
        found.plot().savefig(picture, format=plot.suffix[1:], bbox_inches="tight")
        disk.write_bytes(plot, picture.getbuffer())
    if as_json:
        click.echo(json.dumps(found.table()))
        return
    console().print(str(found), markup=False)
    if plot is not None:
        click.echo(f"The picture: {plot}")
