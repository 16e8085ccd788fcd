"""The command ``pm map``: where a policy is weak."""

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
With two or three outcomes the map is over all their distributions. For other games, or to look
closer, --coordinates 0,2 names one or two coordinates of theta, numbered from 0; --theta has the
others. Thin lines in the picture separate the parameters for which different actions are best, and
a ring marks the worst one: play it longer with `pm simulate GAME --theta ...`.
"""


@click.command("map", context_settings=GAME_COMMAND, epilog=HELP + GAME_HELP + POLICY_HELP)
@click.argument("game", shell_complete=known_games)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[POLICY] [--NAME VALUE]...")
@click.option("--param", multiple=True, metavar="NAME=VALUE", help="An option of the game.")
@click.option("--horizon", default=1000, show_default=True, help="Rounds.")
@click.option(
    "--seeds", default="20", show_default=True, help="Runs per point, or a list of seeds: 3,5,8."
)
@click.option("--points", default=21, show_default=True, help="Points along each side.")
@click.option("--coordinates", help="One or two coordinates of theta, from 0, for instance 0,2.")
@click.option("--theta", help="The true parameter in the other coordinates: 0.2,0.5,0.3.")
@click.option("--noise", help="Noise instead of the game's own: gaussian, bernoulli, sign, none.")
@click.option("--threads", type=int, help="Number of threads; by default all cores.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the map to this .svg, .png or .pdf file.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the map to this .parquet file; pm.RegretMap.load reads it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list and nothing else.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def map_regret(
    game: str,
    options: Sequence[str],
    param: Sequence[str],
    horizon: int,
    seeds: str,
    points: int,
    coordinates: str | None,
    theta: str | None,
    noise: str | None,
    threads: int | None,
    plot: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Play a policy on a grid of true parameters, to see where it is weak.

    \b
    pm map dynamic_pricing --plot map.png             the default policy
    pm map dynamic_pricing ids:gap=relaxed            another one
    pm map apple_tasting --points 101 --horizon 5000  finer and longer
    """
    if plot is not None and plot.suffix not in PICTURES:
        raise InvalidInput(
            f"{plot}: a picture ends in {', '.join(PICTURES)}; got {brief(plot.suffix)}."
        )
    words = list(options)
    named = words.pop(0) if words and not words[0].startswith("--") else POLICIES[0]
    axes = None if coordinates is None else read_value(coordinates)
    found = pm.regret_map(
        find_game(game, words, param),
        next(iter(read_policies([named]).values())),
        horizon=horizon,
        seeds=read_value(seeds),  # type: ignore[arg-type]
        points=points,
        coordinates=[axes] if isinstance(axes, int) else axes,  # type: ignore[arg-type]
        theta=None if theta is None else read_value(theta),  # type: ignore[arg-type]
        noise=noise,
        threads=threads,
        progress=not (quiet or as_json),
    )
    if out is not None:
        found.save(out)
    if plot is not None:
        from partial_monitoring import disk

        picture = BytesIO()
        found.plot().savefig(picture, format=plot.suffix[1:], bbox_inches="tight")
        disk.write_bytes(plot, picture.getbuffer())
    if as_json:
        click.echo(json.dumps(found.table()))
        return
    console().print(str(found), markup=False)
    for name, path in (("picture", plot), ("map", out)):
        if path is not None:
            click.echo(f"The {name}: {path}")
