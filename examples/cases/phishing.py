"""Which sites are phishing? Nine features of 1250 web sites (river, `Phishing`).

The decision: let users pass, block the site, or have somebody inspect it. An inspection takes 5
minutes, a complaint about a good site that was blocked 20, and the repair after a phishing site
that was let through 60. Observed: what the site is, after an inspection. Not observed: anything
else, because nobody says which site caused the damage.

Each site comes with nine features between 0 and 1, a context. The model: the probability of
phishing is linear in them, so that every inspection says something about all sites. Regret is
counted against a linear rule in hindsight: logistic regression on all 1250 sites.

    python -m examples.cases.phishing [FOLDER]
"""

from __future__ import annotations

import numpy as np
from river.datasets import Phishing
from sklearn.linear_model import LogisticRegression

import partial_monitoring as pm
from examples.cases.case import POLICIES, Case
from examples.cases.replay import Rows
from examples.cases.summary import main

INSPECTION, COMPLAINT, REPAIR = 5.0, 20.0, 60.0  # minutes


def costs(bad: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return what actions earn on sites that are bad with some probability, (..., actions)."""
    return np.stack([-REPAIR * bad, -COMPLAINT * (one - bad), -INSPECTION * one], axis=-1)


def game(sites: np.ndarray) -> pm.ContextualGame:
    """Return the game of sites (contexts, features): theta is (average, effects, 1)."""
    effects = sites.shape[1]
    box = pm.Box([0, *[-1] * effects, 1], [1, *[1] * effects, 1])
    one, games = np.eye(effects + 2)[-1], []
    for site in sites:
        bad = np.array([1, *(site - 0.5), 0])
        maps = [np.zeros((0, len(bad))), np.zeros((0, len(bad))), bad[None]]
        games.append(
            pm.Game(
                costs(bad, one).T, maps, box, noise_std=0.5, actions=["pass", "block", "inspect"]
            )
        )
    return pm.ContextualGame(games)


def case() -> Case:
    """Return the sites as rows, each with the context of its features."""
    pairs = list(Phishing())
    features = np.array([list(site.values()) for site, _ in pairs])
    phishing = np.array([float(bad) for _, bad in pairs])
    sites, contexts = np.unique(features, axis=0, return_inverse=True)
    chance = LogisticRegression().fit(features, phishing).predict_proba(features)[:, 1]
    rows = Rows(
        game(sites),
        shown=[[None, None, bad] for bad in phishing],
        earned=costs(phishing, np.ones(len(phishing))),
        best=costs(chance, np.ones(len(phishing))).argmax(axis=1),
        rounds=len(phishing),
        contexts=contexts,
    )
    # RandCBP takes no contexts.
    takes = {name: policy for name, policy in POLICIES.items() if name != "randcbp"}
    return Case("phishing", "Phishing", "minutes", {"all sites": rows}, takes, orders=20)


if __name__ == "__main__":
    main(case())
