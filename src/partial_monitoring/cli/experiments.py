"""Commands that compare policies: ``pm simulate``, ``run``, ``report``."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import (
    GAME_COMMAND,
    GAME_HELP,
    console,
    exists,
    find_game,
    read_policies,
    read_value,
    takes_game,
)
from partial_monitoring.cli.policies import POLICIES, known_policies
from partial_monitoring.errors import InvalidInput

if TYPE_CHECKING:
    from partial_monitoring.simulation.comparison import Comparison

ENGINES = ("here", "processes", "dask")
"""The names in ``experiments.workers.ENGINES``, without loading it."""

PENDING = ("expected", "ignored")
"""The words in ``policies.policy.PENDING``, without loading it."""

POLICY_HELP = """
A policy is a name from `pm policies`, with options as NAME:OPTION=VALUE,OPTION=VALUE and a label of
your own as LABEL=NAME:..., for instance --policy fast=ids:gap=relaxed.
"""


def run_options(command: Any) -> Any:
    """Add the options that say where runs are played (``where``) and what is shown."""
    for option in (
        click.option("--quiet", is_flag=True, help="Show no progress."),
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON list and nothing else."
        ),
        click.option("--scheduler", metavar="ADDRESS", help="The address of a Dask scheduler."),
        click.option("--workers", type=int, help="Number of processes; by default all cores."),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            default="here",
            show_default=True,
            help="Where to play: in this process, in several, or on a Dask cluster.",
        ),
    ):
        command = option(command)
    return command


@click.command(context_settings=GAME_COMMAND, epilog=GAME_HELP + POLICY_HELP)
@takes_game
@click.option(
    "--policy",
    "chosen",
    multiple=True,
    default=POLICIES[:1],
    show_default=True,
    shell_complete=known_policies,
    help="A policy; may be given several times.",
)
@click.option(
    "--theta",
    multiple=True,
    default=("random",),
    show_default=True,
    help="What is true: 0.2,0.5,0.3, random (one per seed), worst (found by a search), the name of "
    "a test function, hostile, lower_bound, or a file of outcomes; may be given several times.",
)
@click.option("--horizon", default=1000, show_default=True, help="Rounds.")
@click.option(
    "--seeds", default="20", show_default=True, help="Number of runs, or a list of seeds: 3,5,8."
)
@click.option("--checkpoints", help="Rounds to record; by default about fifty.")
@click.option(
    "--probe",
    default="0",
    help="Share of uniform actions that are mixed into every policy, for instance 0.02.",
)
@click.option(
    "--delay",
    default="0",
    help="Rounds by which answers come late, or the chances of 0, 1, ... rounds: 0.5,0.3,0.2.",
)
@click.option("--batch", default=1, help="Decisions that are made at once, before their answers.")
@click.option(
    "--pending",
    type=click.Choice(PENDING),
    default=PENDING[0],
    help="What policies make of decisions whose answers are still to come.",
)
@click.option("--noise", help="Noise instead of the game's own: gaussian, bernoulli, sign, none.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Store the runs in this folder; stored runs are not played again, `pm report` shows them.",
)
@run_options
def simulate(
    game: str,
    options: Sequence[str],
    param: Sequence[str],
    chosen: Sequence[str],
    theta: Sequence[str],
    horizon: int,
    seeds: str,
    checkpoints: str | None,
    probe: str,
    delay: str,
    batch: int,
    pending: str,
    noise: str | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **where: Any,
) -> None:
    """Play policies on a game and compare their regret."""
    from partial_monitoring.experiments.content_key import content_key

    label = Path(game).stem if exists(game) else game
    what = [game, options, param, chosen, _alone(theta), horizon, seeds, checkpoints, noise]
    what += [probe] if probe != "0" else []
    what += [delay, batch, pending] if (delay, batch) != ("0", 1) else []
    truths = {text: read_value(text) for text in theta}
    experiment = pm.Experiment(
        {label: find_game(game, options, param)},
        read_policies(chosen),
        {label: _alone([*truths.values()]) if len(truths) == 1 else truths},
        horizon=horizon,
        seeds=read_value(seeds),  # type: ignore[arg-type]
        checkpoints=None if checkpoints is None else _listed(read_value(checkpoints)),
        noise=noise,
        probe=read_value(probe),  # type: ignore[arg-type]
        delay=read_value(delay),
        batch=batch,
        pending=pending,
        name=f"{re.sub(r'[^A-Za-z0-9_-]+', '-', label)[:60]}-{content_key(what)[:8]}",
    )
    comparisons = experiment.compare(out, progress=not (quiet or as_json), **where)
    show_comparisons(comparisons, as_json=as_json)
    if out is not None:
        keep_command(out, experiment.name)
        if not as_json:
            click.echo(f"\nKept in {out}; `pm report {shlex.quote(str(out))}` makes the page.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for runs and report; by default next to FILE, with its name.",
)
@click.option("--no-page", is_flag=True, help="Write no page at the end.")
@run_options
def run(
    file: Path, out: Path | None, no_page: bool, as_json: bool, quiet: bool, **where: Any
) -> None:
    """Run an experiment FILE (TOML): games, true parameters, policies, horizon, seeds.

    Finished runs are stored and never played again: an interrupted experiment resumes where it
    stopped, and added seeds or policies play only what is new. docs/experiments.md describes FILE.
    """
    experiment = pm.load_experiment(file)
    folder = file.with_suffix("") if out is None else out
    comparisons = experiment.compare(folder, progress=not (quiet or as_json), **where)
    show_comparisons(comparisons, as_json=as_json)
    keep_command(folder, experiment.name)
    if not no_page:
        write_page(comparisons, folder, experiment.name, this_command(), say=not as_json)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--title", help="The title of the page.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON list instead.")
def report(folder: Path, title: str | None, as_json: bool) -> None:
    """Write the page, figures and tables of the experiments stored in FOLDER."""
    from partial_monitoring.experiments.store import open_store, stored_comparisons

    store = open_store(folder, warn=warn)
    comparisons = stored_comparisons(store)
    show_comparisons(comparisons, as_json=as_json)
    if not as_json:
        commands = [store.read_json(path) for path in sorted((folder / "commands").glob("*.json"))]
        history = "\n".join([*filter(None, commands), this_command()])
        write_page(comparisons, folder, title or folder.resolve().name, history, say=True)


def show_comparisons(comparisons: Sequence[Comparison], *, as_json: bool) -> None:
    """Print the table of an experiment, or its rows as JSON."""
    from partial_monitoring.report.terminal import summary_rows, summary_table

    if as_json:
        click.echo(json.dumps(summary_rows(comparisons)))
    else:
        out = console()
        out.print(summary_table(comparisons, width=out.width))


def write_page(
    comparisons: Sequence[Comparison], folder: Path, title: str, command: str, *, say: bool
) -> None:
    """Write the page, or say why that is impossible."""
    try:
        page = pm.write_report(comparisons, folder, title=title, command=command)
    except InvalidInput as error:
        click.echo(f"pm: no page: {error}", err=True)
        return
    if say:
        click.echo(f"\nThe page: {page}")


def this_command() -> str:
    """Return the command that is running, as it was typed."""
    return shlex.join(["pm", *sys.argv[1:]])


def keep_command(folder: Path, name: str) -> None:
    """Store the command that ran an experiment, for its page."""
    from partial_monitoring.experiments.store import Store

    store = Store(folder, warn=warn)
    store.note(folder / "commands" / f"{name}.json", this_command())


def warn(line: str) -> None:
    """Print a warning."""
    click.echo(f"pm: {line}", err=True)


def _alone(several: Sequence[Any]) -> Any:
    """Return the only one of a list, else the list."""
    return several[0] if len(several) == 1 else several


def _listed(value: object) -> Any:
    return value if isinstance(value, list) else [value]
