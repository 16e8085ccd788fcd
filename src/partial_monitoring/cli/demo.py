"""The tour of ``pm demo``."""

from __future__ import annotations

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import console, show_sentences
from partial_monitoring.cli.games import games_table


@click.command()
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
