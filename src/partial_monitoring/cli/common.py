"""What all commands share: games and values from words, errors in one sentence, the terminal.

The modules of commands import nothing that takes long; a command loads what it needs when it runs.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO, TextIOWrapper
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

import partial_monitoring as pm
from partial_monitoring.errors import (
    InvalidInput,
    PartialMonitoringError,
    brief,
    is_interruption,
    visible,
)

if TYPE_CHECKING:
    from rich.console import Console

    from partial_monitoring.model.any_game import AnyGame
    from partial_monitoring.model.game import Game

GAME_FILES = (".json", ".toml", ".csv")

GAME_HELP = """
GAME is a name from `pm games` or a game file (.json, .toml, .csv). Options of a named game follow
as --NAME VALUE, for instance --prices 1,2,3 --cost 2; a value is a number, a word, a list 1,2,3 or
JSON. If a game's option has the name of one of the command's own, write --param NAME=VALUE.
"""

LONG_WORD = re.compile(r"\S{400,}")
"""What is cut in messages; paths are shorter."""

GAME_COMMAND = {"ignore_unknown_options": True, "allow_interspersed_args": True}


class OneSentence(click.Group):
    """Show errors as one sentence, with exit code 2; 130 if interrupted."""

    def main(self, *args: Any, **extra: Any) -> Any:
        if sys.stdout is None:  # closed
            sys.stdout = StringIO()
        try:
            return super().main(*args, **extra)
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            click.echo(cleaned(f"pm: {where}{error.strerror or error}."), err=True)
            _drop_output()
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:  # repeats what was typed
            message = error.format_message()
            if message == (cut := cleaned(message)):
                raise
            raise click.UsageError(cut, error.ctx) from None
        except PartialMonitoringError as error:
            click.echo(f"pm: {cleaned(str(error))}", err=True)
            ctx.exit(2)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interruption(error):
                raise
            click.echo("pm: interrupted; runs that were kept are not played again.", err=True)
            ctx.exit(130)


def cleaned(message: str) -> str:
    """Return a message without control characters, and with the beginnings of very long words."""
    return LONG_WORD.sub(lambda word: f"{word[0][:60]}...", visible(message))


def _drop_output() -> None:
    """Forget what cannot be written; Python would try again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def known_games(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Complete the name of a game, or that of a file."""
    names = [CompletionItem(name) for name in pm.games.GAMES if name.startswith(word)]
    return names or [CompletionItem(word, type="file")]


def takes_game(command: Any) -> Any:
    """Add the arguments that name a game."""
    metavar = "[--NAME VALUE]..."
    options = click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar=metavar)
    param = click.option(
        "--param", multiple=True, metavar="NAME=VALUE", help="An option of the game."
    )
    return click.argument("game", shell_complete=known_games)(param(options(command)))


def find_game(name: str, options: Sequence[str], params: Sequence[str]) -> AnyGame:
    """Return the game of a registry name or a file."""
    chosen = read_options(options, params)
    if name not in pm.games.GAMES and (Path(name).suffix in GAME_FILES or exists(name)):
        if chosen:
            raise InvalidInput(
                f"a game file takes no options; got {', '.join(chosen)} with {name}."
            )
        return pm.load_game(name)
    return pm.games.make(name, **chosen)


def exists(name: str) -> bool:
    """Whether there is a file of a name; one that is too long for a file has none."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def plain_game(name: str, options: Sequence[str], params: Sequence[str]) -> Game:
    """Return a game without contexts."""
    found: Any = find_game(name, options, params)
    if found.traits.contexts:
        raise InvalidInput(f"{name} has contexts; this command takes a game without.")
    return found  # type: ignore[no-any-return]


def read_options(options: Sequence[str], params: Sequence[str]) -> dict[str, object]:
    """Read --NAME VALUE, --NAME=VALUE and NAME=VALUE into keyword arguments."""
    chosen: dict[str, object] = {}

    def choose(name: str, text: str) -> None:
        key = name.replace("-", "_")
        if key in chosen:
            raise InvalidInput(f"option {name!r} of the game is given twice.")
        chosen[key] = read_value(text)

    words = list(options)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise InvalidInput(f"options of a game are written --NAME VALUE; got {brief(word)}.")
        name, equals, text = word[2:].partition("=")
        if not (equals or words):
            raise InvalidInput(f"--{name} needs a value.")
        choose(name, text if equals else words.pop(0))
    for param in params:
        name, equals, text = param.partition("=")
        if not equals:
            raise InvalidInput(f"--param must be NAME=VALUE; got {brief(param)}.")
        choose(name, text)
    return chosen


def read_value(text: str) -> object:
    """Read a value of the command line: JSON, a list 1,2,3, a constant of Python or a word.

    >>> read_value("2"), read_value("1,2.5"), read_value("[[0, 1]]"), read_value("none")
    (2, [1, 2.5], [[0, 1]], 'none')
    >>> read_value("False"), read_value("TRUE"), read_value("None")
    (False, True, None)
    """
    if text == "None":
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or too much of it
        if "," in text and text[0] not in "[{":
            return [read_value(part.strip()) for part in text.split(",")]
        return text


def read_policies(texts: Sequence[str]) -> Mapping[str, Any]:
    """Read policies written NAME, NAME:OPTION=VALUE,... or LABEL=NAME:OPTION=VALUE,...

    >>> list(read_policies(["ids", "wide=ids:gap=relaxed,sampling=e2d,2"]))
    ['ids', 'wide']
    """
    chosen: dict[str, Any] = {}
    for text in texts:
        head, _, tail = text.partition(":")
        label, equals, name = head.partition("=")
        if not equals:
            label, name = text, head
        options = {}
        for part in re.split(r",(?=\w+=)", tail) if tail else []:
            key, equals, value = part.partition("=")
            if not equals:
                raise InvalidInput(
                    f"--policy must be NAME, NAME:OPTION=VALUE or LABEL=NAME:...; got "
                    f"{brief(text)}."
                )
            key = key.replace("-", "_")
            if key in options:
                raise InvalidInput(f"option {key!r} of --policy {text!r} is given twice.")
            options[key] = read_value(value)
        if label in chosen:
            raise InvalidInput(f"--policy {brief(label)} appears twice; give one of them a LABEL=.")
        chosen[label] = pm.policies.make(name, **options)
    return chosen


def show_registry(
    registry: Any,
    names: Iterable[str],
    heading: Sequence[str],
    as_json: bool,
    **more: Mapping[str, str],
) -> None:
    """Print what a registry of the library offers: names, what they are, and their options.

    ``more`` columns have a word for each name.
    """
    listing = [(name, registry.summary(name), registry.options_of(name)) for name in names]
    if as_json:
        rows = []
        for name, summary, options in listing:
            options.pop("parameters", None)  # a set, which JSON cannot hold
            words = {column: own[name] for column, own in more.items()}
            rows.append({"name": name, "summary": summary, **words, "options": options})
        click.echo(json.dumps(rows, indent=2))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    table.add_column(heading[0], no_wrap=True)
    for column in (*heading[1:], *more, "options and defaults"):
        table.add_column(column)
    for name, summary, options in listing:
        shown = "  ".join(starmap(show_option, options.items()))
        cells = [Text(summary), *(Text(own[name]) for own in more.values())]
        table.add_row(Text(name, style="bold"), *cells, Text(shown, style="dim"))
    console().print(table)


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


def show_sentences(text: str) -> None:
    """Print an explanation with its first line in bold."""
    first, *rest = text.splitlines()
    out = console()
    out.print(first, style="bold", markup=False)
    for line in rest:
        out.print(line, markup=False)


def console() -> Console:
    """Return the terminal to print on; into a file or a pipe, 120 wide unless COLUMNS is set."""
    from rich.console import Console

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without θ shows a question mark
    if sys.stdout.isatty():
        return Console(highlight=False)
    width = None if os.environ.get("COLUMNS", "").isdigit() else 120
    return Console(highlight=False, width=width, file=Trimmed())  # type: ignore[arg-type]


class Trimmed:
    """Standard output without blanks at the ends of lines."""

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +(?=\n)", "", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)
