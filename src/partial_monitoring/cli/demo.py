"""The tour of ``pm demo``: three games, what they are, who plays them best."""

from __future__ import annotations

from pathlib import Path

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import console, plain_game, read_policies, show_sentences
from partial_monitoring.cli.experiments import show_comparisons, this_command, write_page

GAMES = {
    "inspection": "Accept, reject or inspect? Only an inspection reveals a fault, at a price.",
    "dynamic_pricing": "Which price? A customer only says yes or no.",
    "linear_bandit": "Four ads with common features; each shows how well it did.",
}
"""The games of the tour (an easy one, a hard one and a bandit) and what they are about."""

THETA = {
    "inspection": {"few faults": [0.85, 0.15]},
    "dynamic_pricing": {"most pay $2": [0.2, 0.5, 0.3]},
    "linear_bandit": {"random": "random"},
}

POLICIES = ("calibrated", "ids", "cbp", "randcbp", "linucb", "lints")
"""The default first, then the certified policy, then those of others."""


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Where runs, figures and the page go.",
)
@click.option("--horizon", default=5000, show_default=True, help="Rounds.")
@click.option("--seeds", default=60, show_default=True, help="Runs of each policy on each game.")
def demo(out: Path, horizon: int, seeds: int) -> None:
    """A tour in a minute: three games, what they are, and who plays them best."""
    say = console()
    games = {}
    for number, (name, about) in enumerate(GAMES.items(), start=1):
        games[name] = plain_game(name, (), ())
        say.print(f"\n[bold]{number}. {name}[/bold]  {about}", highlight=False)
        show_sentences(pm.analyze(games[name]).explain())
    say.print(
        f"\n[bold]4. Play them[/bold]  {seeds} runs of {horizon:,} rounds each; all policies "
        f"face the same random outcomes. Runs stored in {out} are not played again.\n"
    )
    chosen = read_policies(POLICIES)
    experiment = pm.Experiment(games, chosen, THETA, horizon=horizon, seeds=seeds, name="demo")
    comparisons = experiment.compare(out, progress=True)
    show_comparisons(comparisons, as_json=False)
    write_page(comparisons, out, "Three games, six policies", this_command(), say=True)
    say.print(
        "\nNext: pm games (all of them), pm show inspection, pm advise dynamic_pricing,\n"
        "pm simulate apple_tasting --policy calibrated --policy ids; what policies promise:\n"
        "docs/which-mode.md; for your own game: docs/tutorial.md."
    )
