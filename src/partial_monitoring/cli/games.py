"""Commands about games: ``pm games``, ``show``, ``analyze``, ``advise``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import (
    GAME_COMMAND,
    GAME_HELP,
    console,
    find_game,
    plain_game,
    show_registry,
    show_sentences,
    takes_game,
)
from partial_monitoring.errors import InvalidInput, brief

PICTURES = (".svg", ".png", ".pdf")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of a table.")
def games(as_json: bool) -> None:
    """List the games that come with the library."""
    show_registry(pm.games, pm.games.GAMES, ("game", "what it is"), as_json)


@click.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
@takes_game
@click.option("--json", "as_json", is_flag=True, help="Print the game file instead of tables.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the game to this .json or .toml file.",
)
def show(
    game: str, options: Sequence[str], param: Sequence[str], as_json: bool, out: Path | None
) -> None:
    """Show a game: its actions, what they earn and what they show."""
    from partial_monitoring.display import render
    from partial_monitoring.model.files import game_to_dict

    shown = find_game(game, options, param)
    if out is not None:
        pm.save_game(shown, out)
    if as_json:
        click.echo(json.dumps(game_to_dict(shown)))  # control characters as escapes
    else:
        render(shown.sheets(game), console())


@click.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
@takes_game
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the cells to this .svg, .png or .pdf file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the facts as one JSON object.")
def analyze(
    game: str, options: Sequence[str], param: Sequence[str], plot: Path | None, as_json: bool
) -> None:
    """Say whether a game can be learned, how fast, and why.

    The class is trivial, easy, hard or hopeless; regret then grows like 0, n^1/2, n^2/3 or n.
    """
    if plot is not None and plot.suffix not in PICTURES:
        raise InvalidInput(
            f"{plot}: a picture ends in {', '.join(PICTURES)}; got {brief(plot.suffix)}."
        )
    found = find_game(game, options, param)
    analysis: Any = pm.analyze(found)  # type: ignore[call-overload]
    if plot is not None:
        from partial_monitoring import disk

        picture = BytesIO()
        analysis.plot().savefig(picture, format=plot.suffix[1:], bbox_inches="tight")
        disk.write_bytes(plot, picture.getbuffer())
    if as_json:
        click.echo(json.dumps(analysis.to_dict()))
        return
    show_sentences(analysis.explain())
    if not found.traits.contexts:
        click.echo(
            f"Alignment constant {analysis.alignment:.6g}; of the {analysis.dimension} dimensions "
            f"of the unknown, {analysis.rank} can be observed."
        )
    if plot is not None:
        click.echo(f"The picture: {plot}")


@click.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
@takes_game
@click.option(
    "--target", default="easy", show_default=True, help="The class to reach: easy or hard."
)
@click.option("--json", "as_json", is_flag=True, help="Print the advice as one JSON object.")
def advise(
    game: str, options: Sequence[str], param: Sequence[str], target: str, as_json: bool
) -> None:
    """Suggest what else to measure so that a game becomes easy (or at least learnable)."""
    advice = pm.advise(plain_game(game, options, param), target=target)
    if as_json:
        click.echo(json.dumps(advice.to_dict()))
    else:
        show_sentences(advice.explain())
