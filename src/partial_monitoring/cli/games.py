"""Commands about games: ``pm games``, ``show``, ``analyze``, ``advise``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from itertools import starmap
from pathlib import Path
from typing import Any

import click

import partial_monitoring as pm
from partial_monitoring import disk
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
from partial_monitoring.errors import InvalidInput

PICTURES = (".svg", ".png", ".pdf")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of a table.")
def games(as_json: bool) -> None:
    """List the games that come with the library."""
    listing = [(name, pm.games.summary(name), pm.games.options_of(name)) for name in pm.games.GAMES]
    if as_json:
        rows = [
            {
                "name": name,
                "summary": summary,
                "options": {key: value for key, value in options.items() if key != "parameters"},
            }
            for name, summary, options in listing
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    lines = [
        (name, summary, "  ".join(starmap(show_option, options.items())))
        for name, summary, options in listing
    ]
    show_registry(("game", "what it is"), lines)


def show_option(name: str, default: object) -> str:
    """Show an option with its default, if that is short.

    >>> show_option("cost", 2.0), show_option("prices", (1, 2, 3)), show_option("features", None)
    ('cost=2', 'prices=1,2,3', 'features')
    """
    if isinstance(default, tuple) and not any(isinstance(item, tuple) for item in default):
        text = ",".join(f"{item:g}" for item in default)
    else:
        text = f"{default:g}" if isinstance(default, float) else str(default)
    return name if default is None or len(text) > 20 else f"{name}={text}"


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
        click.echo(json.dumps(game_to_dict(shown), ensure_ascii=False))
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
    """Tell whether a game can be learned, how fast, and why.

    The class is trivial, easy, hard or hopeless; regret then grows like 0, n^1/2, n^2/3 or n.
    """
    if plot is not None and plot.suffix not in PICTURES:
        raise InvalidInput(f"{plot}: a picture ends in {', '.join(PICTURES)}; got {plot.suffix!r}.")
    found = find_game(game, options, param)
    analysis: Any = pm.analyze(found)  # type: ignore[call-overload]
    if plot is not None:
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


@click.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
@takes_game
@click.option(
    "--target", default="easy", show_default=True, help="The class to reach: easy or hard."
)
@click.option("--json", "as_json", is_flag=True, help="Print the advice as one JSON object.")
def advise(
    game: str, options: Sequence[str], param: Sequence[str], target: str, as_json: bool
) -> None:
    """Tell what to measure in addition so that a game becomes easy (or at least learnable)."""
    advice = pm.advise(plain_game(game, options, param), target=target)
    if as_json:
        click.echo(json.dumps(advice.to_dict()))
    else:
        show_sentences(advice.explain())
