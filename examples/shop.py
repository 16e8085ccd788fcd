"""Find a price, and look at what the learner believes.

Every customer has a price up to which they buy, and the shop sees only whether they bought. The
picture shows what each price is estimated to earn after 600 customers, and which were offered when.

    python examples/shop.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import partial_monitoring as pm

PRICES = (9, 19, 29, 49)
CUSTOMERS = (0.15, 0.35, 0.35, 0.15)
"""The shares of customers who pay up to each price, which the shop does not know."""


def shop() -> pm.FiniteGame:
    """Return the game: a price earns what the customer pays, and shows whether they bought."""
    return pm.FiniteGame(
        [[price if worth >= price else 0 for worth in PRICES] for price in PRICES],
        [["sold" if worth >= price else "left" for worth in PRICES] for price in PRICES],
        actions=[f"${price}" for price in PRICES],
        outcomes=[f"pays ${price}" for price in PRICES],
    )


def learn(rounds: int = 600) -> pm.Learner:
    """Return a learner that has met some customers."""
    game = shop()
    learner, rng = pm.Learner(game, seed=0), np.random.default_rng(3)
    for worth in rng.choice(len(PRICES), rounds, p=CUSTOMERS).tolist():
        decision = learner.ask()
        learner.tell(decision, game.signal(decision.action, worth))
    return learner


def main(folder: str = ".") -> None:
    """Learn, say what is known, and draw it."""
    learner = learn()
    print(learner.status())
    path = Path(folder) / "learner.png"
    learner.plot().savefig(path)
    print(f"The picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
