"""The command ``pm status``: what a saved learner believes."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import console
from partial_monitoring.cli.games import PICTURES
from partial_monitoring.errors import InvalidInput, brief


@click.command("status")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--storage", help="The log of the learner, if it was kept in a file of its own.")
@click.option("--context", help="In games with contexts, only this one.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw what is known to this .svg, .png or .pdf file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value and nothing else.")
def status(
    file: Path, storage: str | None, context: str | None, plot: Path | None, as_json: bool
) -> None:
    """Say what each action earns and what may still be best, of a learner that was saved.

    \b
    pm status learner.json                          a table of the actions, then sentences
    pm status learner.json --plot learner.png       with intervals and shares over time
    pm status learner.json --context startup        in one of its contexts
    pm status learner.json --storage log.ndjson     where its log is a file of its own
    """
    if plot is not None and plot.suffix not in PICTURES:
        raise InvalidInput(
            f"{plot}: a picture ends in {', '.join(PICTURES)}; got {brief(plot.suffix)}."
        )
    learner = pm.Learner.load(file, **({} if storage is None else {"storage": storage}))
    contexts = learner.game.traits.contexts
    if context is not None or not contexts:
        found = {context: learner.status(context=context)}
    else:
        found = learner.statuses()
    if plot is not None:
        from partial_monitoring import disk

        if contexts and context is None:
            raise InvalidInput("--plot draws one context; say with --context which.")
        picture = BytesIO()
        drawn = learner.plot(context=context)
        drawn.savefig(picture, format=plot.suffix[1:], bbox_inches="tight")
        disk.write_bytes(plot, picture.getbuffer())
    if as_json:
        data = {name: own.to_dict() for name, own in found.items()}
        click.echo(json.dumps(data if contexts else data[None]))
        return
    for i, (name, own) in enumerate(found.items()):
        above = "" if name is None else f"Context '{name}'\n\n"
        console().print("\n" * (i > 0) + above + str(own), markup=False, highlight=False)
    if plot is not None:
        click.echo(f"The picture: {plot}")
