"""What makes people fetch a test result? Random incentives (causaldata, `thornton_hiv`).

In Malawi people who had taken an HIV test were given vouchers of random value, from nothing to 300
kwacha, which were paid when they came to a centre for the result (Thornton 2008).

The decision: which voucher to hand to the next person. Whoever does not come is visited at home,
which costs 3 dollars, a little more than the largest voucher. Observed: whether the person comes.
Not observed: the smallest voucher for which this person would have come. Whoever comes for 50
kwacha also comes for 100, so that each voucher says something about the others.

    python -m examples.cases.incentives [FOLDER]
"""

from __future__ import annotations

import numpy as np
from causaldata import thornton_hiv

import partial_monitoring as pm
from examples.cases.case import Case
from examples.cases.replay import Rows
from examples.cases.summary import main

KWACHA = 105.75  # to the dollar, in 2004
VOUCHERS = np.array([0, 50, 100, 200, 300])  # those that at least 200 people were given
VISIT = 3.0


def game() -> pm.FiniteGame:
    """Return the game: rows are vouchers, columns the smallest one for which somebody comes."""
    needs = {**{f"for {own}": own for own in VOUCHERS}, "never": np.inf}
    return pm.from_table(
        {
            f"{voucher} kwacha": {
                name: (-voucher / KWACHA, "came") if need <= voucher else (-VISIT, "stayed away")
                for name, need in needs.items()
            }
            for voucher in VOUCHERS
        }
    )


def case() -> Case:
    """Return the experiment as rows: each participant knows the answer to one voucher."""
    trial = thornton_hiv.load_pandas().data.dropna(subset=["got", "tinc"])
    given = np.isclose(trial.tinc.to_numpy()[:, None] * KWACHA, VOUCHERS, atol=1)
    came, given = trial.got.to_numpy()[given.any(axis=1)] == 1, given[given.any(axis=1)]
    paid = np.where(came[:, None], -VOUCHERS / KWACHA, -VISIT)
    earned = np.where(given, paid, np.nan)
    shown = [["came" if yes else "stayed away"] * len(VOUCHERS) for yes in came]
    best = np.nanmean(earned, axis=0).argmax()
    rows = Rows(game(), shown, earned, best, rounds=len(came))
    return Case("incentives", "Incentives", "dollars", {"all people": rows})


if __name__ == "__main__":
    main(case())
