"""Is a biopsy needed? Tumours by the size of their cell nuclei (scikit-learn, breast cancer).

569 tumours of the breast, of which the cells were measured under the microscope and which turned
out to be benign or malignant.

The decision: discharge, operate, or take a biopsy. An operation on a benign tumour costs as much as
5 biopsies, a malignant one that is discharged as much as 10. Observed: what the tumour is, after a
biopsy. Not observed: anything after a discharge or an operation, as far as this clinic ever hears.
The mean radius of the nuclei is known before; its quarters are games of their own, "label-efficient
prediction", in which knowing costs.

    python -m examples.cases.biopsies [FOLDER]
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer

import partial_monitoring as pm
from examples.cases.case import Case
from examples.cases.replay import Rows
from examples.cases.summary import main

TABLE = {
    "discharge": {"benign": (0, "nothing"), "malignant": (-10, "nothing")},
    "operate": {"benign": (-5, "nothing"), "malignant": (0, "nothing")},
    "biopsy": {"benign": (-1, "benign"), "malignant": (-1, "malignant")},
}


def rows(malignant: np.ndarray) -> Rows:
    """Return tumours as rows: what each is decides what every action costs and shows."""
    game = pm.from_table(TABLE)
    truth = ["malignant" if bad else "benign" for bad in malignant]
    shown = [[TABLE[action][true][1] for action in game.actions] for true in truth]
    earned = np.array([[TABLE[action][true][0] for action in game.actions] for true in truth])
    return Rows(game, shown, earned, earned.mean(axis=0).argmax(), len(truth))


def case() -> Case:
    """Return the tumours by quarters of the mean radius."""
    data = load_breast_cancer()
    radius, malignant = data.data[:, 0], data.target == 0
    quarter = np.searchsorted(np.quantile(radius, [0.25, 0.5, 0.75]), radius)
    names = ["smallest quarter", "second", "third", "largest quarter"]
    segments = {name: rows(malignant[quarter == q]) for q, name in enumerate(names)}
    return Case("biopsies", "Biopsies", "biopsies", segments)


if __name__ == "__main__":
    main(case())
