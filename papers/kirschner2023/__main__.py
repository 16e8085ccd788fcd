"""Play the claims: ``python -m papers.kirschner2023 [--small] [--only NAME] [--out FOLDER]``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

import partial_monitoring as pm
from papers.kirschner2023.claims import CLAIMS, HERE, Claim
from papers.kirschner2023.drawing import growth_panels, regret_panels
from papers.kirschner2023.page import Shown, write_page
from partial_monitoring.experiments.experiment import Experiment
from partial_monitoring.experiments.files import experiment_from_dict
from partial_monitoring.experiments.workers import ENGINES


def experiment_of(claim: Claim, *, small: bool) -> Experiment:
    """Return the experiment of a claim; a small one leaves out the searches, too."""
    if not small:
        return pm.load_experiment(claim.file)
    data: dict[str, Any] = tomllib.loads(claim.file.read_text(encoding="utf-8"))
    data["horizon"], data["seeds"] = claim.small
    for game in data["games"].values():
        instances = game.get("instances", {})
        game_instances = {name: theta for name, theta in instances.items() if theta != "worst"}
        if instances:
            game["instances"] = game_instances
    return experiment_from_dict(data, name=claim.name, folder=HERE)


def show(claim: Claim, folder: Path, *, small: bool, engine: str, progress: bool) -> Shown:
    """Play a claim, write its report, and return what the page shows of it."""
    experiment = experiment_of(claim, small=small)
    comparisons = experiment.compare(folder, engine=engine, progress=progress)
    if not small:
        command = f"python -m papers.kirschner2023 --only {claim.name}"
        pm.write_report(comparisons, folder, title=claim.title, command=command)
    draw = growth_panels if claim.name == "rates" else regret_panels
    found = claim.finding(comparisons)
    runs = len(experiment.seeds)
    return Shown(claim, draw(comparisons), found, experiment.horizon, runs, report=not small)


@click.command()
@click.option("--small", is_flag=True, help="A few short runs, to see that everything works.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([claim.name for claim in CLAIMS]),
    help="Only these claims.",
)
@click.option("--out", type=click.Path(path_type=Path), default=HERE / "results", show_default=True)
@click.option("--engine", type=click.Choice(list(ENGINES)), default="processes", show_default=True)
def main(small: bool, only: tuple[str, ...], out: Path, engine: str) -> None:
    """Play the claims of the paper and write the page."""
    shown = []
    for claim in CLAIMS:
        if only and claim.name not in only:
            continue
        shown.append(show(claim, out / claim.name, small=small, engine=engine, progress=True))
        click.echo(f"{claim.title}: {shown[-1].found}\n")
    click.echo(f"The page: {write_page(shown, out)}")


if __name__ == "__main__":
    main()
