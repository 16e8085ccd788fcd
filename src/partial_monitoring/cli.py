"""The command line: ``pm games``, ``show``, ``analyze``, ``advise``, ``demo``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, PartialMonitoringError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from partial_monitoring.game import Game
    from partial_monitoring.game_files import AnyGame

GAME_FILES = (".json", ".toml", ".csv")
PICTURES = (".svg", ".png", ".pdf")

GAME_HELP = """
GAME is a name from `pm games` or a game file (.json, .toml, .csv). Options of a named game follow
as --NAME VALUE, for instance --prices 1,2,3 --cost 2; a value is a number, a word, a list 1,2,3 or
JSON. If a game's option has the name of one of the command's own, write --param NAME=VALUE.
"""


class OneSentence(click.Group):
    """Show the errors of the library as one sentence, with exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PartialMonitoringError as error:
            click.echo(f"pm: {error}", err=True)
            ctx.exit(2)


@click.group(cls=OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pm.__version__, prog_name="pm")
def main() -> None:
    """Decisions whose reward is not what you observe.

    \b
    Start here:
      pm games                                  the games that come with the library
      pm show dynamic_pricing --prices 1,2,3,4  look at one
      pm show my-game.json                      or at your own, from a file or a table
      pm analyze my-game.json                   can it be learned, how fast, and why
      pm advise my-game.json                    what to measure so that it can
      pm demo                                   a small tour
    """


def takes_game(command: Any) -> Any:
    """Add the arguments that name a game."""
    options = click.argument(
        "options", nargs=-1, type=click.UNPROCESSED, metavar="[--NAME VALUE]..."
    )
    command = options(command)
    param = click.option(
        "--param", multiple=True, metavar="NAME=VALUE", help="An option of the game."
    )
    command = param(command)
    return click.argument("game")(command)


GAME_COMMAND = {"ignore_unknown_options": True, "allow_interspersed_args": True}


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of a table.")
def games(as_json: bool) -> None:
    """List the games that come with the library."""
    if as_json:
        rows = [
            {
                "name": name,
                "summary": pm.games.summary(name),
                "options": {
                    option: default
                    for option, default in pm.games.options_of(name).items()
                    if option != "parameters"
                },
            }
            for name in pm.games.GAMES
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        console().print(games_table(with_options=True))


def games_table(*, with_options: bool) -> Table:
    """Return the list of games as a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    table.add_column("game", no_wrap=True)
    table.add_column("what it is")
    if with_options:
        table.add_column("options and defaults")
    for name in pm.games.GAMES:
        cells = [Text(name, style="bold"), Text(pm.games.summary(name))]
        options = "  ".join(starmap(show_option, pm.games.options_of(name).items()))
        table.add_row(*cells, *([Text(options, style="dim")] if with_options else []))
    return table


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


@main.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
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
    from partial_monitoring.game_files import game_to_dict

    shown = find_game(game, options, param)
    if out is not None:
        pm.save_game(shown, out)
    if as_json:
        click.echo(json.dumps(game_to_dict(shown), ensure_ascii=False))
    else:
        render(shown.sheets(game), console())


@main.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
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
    analysis = pm.analyze(plain_game(game, options, param))
    if plot is not None:
        try:
            analysis.plot().savefig(plot, bbox_inches="tight")
        except OSError as error:
            raise InvalidInput(f"{plot}: cannot be written: {error.strerror}.") from None
    if as_json:
        click.echo(json.dumps(analysis.to_dict()))
        return
    show_sentences(analysis.explain())
    click.echo(
        f"Alignment constant {analysis.alignment:.6g}; of the {analysis.dimension} dimensions of "
        f"the unknown, {analysis.rank} can be observed."
    )


@main.command(context_settings=GAME_COMMAND, epilog=GAME_HELP)
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


@main.command()
def demo() -> None:
    """A small tour: the games, one of them in full, and a few rounds played."""
    import numpy as np

    from partial_monitoring.display import render

    out = console()
    out.print("[bold]1. The games that come with the library[/bold]  (pm games)\n")
    out.print(games_table(with_options=False))
    out.print("\n[bold]2. One of them: dynamic pricing[/bold]  (pm show dynamic_pricing)\n")
    game = pm.games.dynamic_pricing()
    render(game.sheets("dynamic_pricing"), out)
    out.print(
        "\n[bold]3. An instance: customers pay $1, $2, $3 with chances 0.2, 0.5, 0.3[/bold]\n"
    )
    instance = pm.Instance(game, np.array([0.2, 0.5, 0.3]))
    rng = np.random.default_rng(0)
    for label, reward, gap in zip(game.actions, instance.rewards, instance.gaps, strict=True):
        seen = " ".join(str(instance.observe(label, rng)) for _ in range(8))
        out.print(
            f"  offer {label}: earns {reward:5.2f} a round, loses {gap:4.2f} to the best; "
            f"eight customers: {seen}"
        )
    best = game.actions[instance.best_action]
    out.print(f"\nThe best offer is {best}. The seller never sees these numbers, only yes and no.")
    out.print("\n[bold]4. Can it be learned?[/bold]  (pm analyze dynamic_pricing)\n")
    show_sentences(pm.analyze(game).explain())
    out.print("\n[bold]5. What would help?[/bold]  (pm advise dynamic_pricing)\n")
    show_sentences(pm.advise(game).explain())


def find_game(name: str, options: Sequence[str], params: Sequence[str]) -> AnyGame:
    """Return the game of a registry name or a file."""
    chosen = read_options(options, params)
    if name not in pm.games.GAMES and (Path(name).suffix in GAME_FILES or Path(name).exists()):
        if chosen:
            raise InvalidInput(
                f"a game file takes no options; got {', '.join(chosen)} with {name}."
            )
        return pm.load_game(name)
    return pm.games.make(name, **chosen)


def plain_game(name: str, options: Sequence[str], params: Sequence[str]) -> Game:
    """Return a game without contexts."""
    found = find_game(name, options, params)
    if not isinstance(found, pm.Game):
        raise InvalidInput(f"{name} has contexts; this command takes a game without.")
    return found


def show_sentences(text: str) -> None:
    """Print an explanation with its first line in bold."""
    first, *rest = text.splitlines()
    out = console()
    out.print(first, style="bold", markup=False)
    for line in rest:
        out.print(line, markup=False)


def read_options(options: Sequence[str], params: Sequence[str]) -> dict[str, object]:
    """Read --NAME VALUE, --NAME=VALUE and NAME=VALUE into keyword arguments."""
    chosen: dict[str, object] = {}
    words = list(options)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise InvalidInput(f"options of a game are written --NAME VALUE; got {word!r}.")
        name, equals, text = word[2:].partition("=")
        if not equals:
            if not words:
                raise InvalidInput(f"--{name} needs a value.")
            text = words.pop(0)
        chosen[name.replace("-", "_")] = read_value(text)
    for param in params:
        name, equals, text = param.partition("=")
        if not equals:
            raise InvalidInput(f"--param must be NAME=VALUE; got {param!r}.")
        chosen[name.replace("-", "_")] = read_value(text)
    return chosen


def read_value(text: str) -> object:
    """Read a value of the command line.

    >>> read_value("2"), read_value("1,2.5"), read_value("[[0, 1]]"), read_value("none")
    (2, [1, 2.5], [[0, 1]], 'none')
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if "," in text:
            return [read_value(part.strip()) for part in text.split(",")]
        return text


def console() -> Console:
    """Return the terminal to print on; wide when the output goes into a file or a pipe."""
    from rich.console import Console

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without θ shows a question mark
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)
