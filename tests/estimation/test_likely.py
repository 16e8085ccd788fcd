"""What the default policy reports of signals: its own estimate, with practical intervals."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm

GAMES = {
    "pricing": pm.games.dynamic_pricing(),
    "labels": pm.games.label_efficient(),
    "arms": pm.games.bernoulli_bandit(),
    "segments": pm.segments(
        {"a": pm.games.dynamic_pricing(), "b": pm.games.dynamic_pricing()}, shared=0.3
    ),
}


def played(game, theta, rounds, seed=0):
    learner, instance = pm.Learner(game, seed=seed), pm.Instance(game, theta)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = learner.ask()
        learner.tell(decision, instance.observe(decision.action, rng))
    return learner


@pytest.mark.parametrize("name", GAMES)
def test_a_status_says_what_the_next_decision_is_based_on(name):
    """Where the estimate lies in the parameter set."""
    game = GAMES[name]
    theta = game.parameters.relative_interior_point()
    learner, rng = pm.Learner(game, seed=1), np.random.default_rng(1)
    contexts = getattr(game, "contexts", (None,))
    for t in range(300):
        decision = learner.ask(context=contexts[t % len(contexts)])
        own = game if contexts[0] is None else game.at(decision.context)
        answer = pm.Instance(own, theta).observe(decision.label, rng)
        learner.tell(decision, answer)
    for context in contexts:
        table = learner.status(context=context).table
        decision = learner.ask(context=context)
        best = max(row.earns for row in table)
        costs = {row.label: best - row.earns for row in table}
        for label, cost in zip(decision.labels, decision.gaps, strict=True):
            assert costs[label] == pytest.approx(cost, abs=5e-3)
        learner.cancel(decision)


def test_the_curvature_is_that_of_the_likelihood():
    learner = played(GAMES["pricing"], [0.2, 0.5, 0.3], 60)
    state = learner._session.state.known
    likely, model = state.likely(), state.model
    w = model.joint.reduced.basis

    def loss(z):
        theta = model.design.prior_mean + w @ z
        x = np.linalg.solve(model.axes, w.T @ (theta - model.joint.reduced.center))
        along = np.concatenate([x, model.signals.extra @ x])
        chances = model.signals.base + model.signals.sign * along[model.signals.direction]
        return -float(state.counts[0] @ np.log(chances))

    center, step = likely.coordinates[0], 1e-4
    units = step * np.eye(len(center))
    slopes = [(loss(center + e) - loss(center - e)) / (2 * step) for e in units]
    np.testing.assert_allclose(slopes, 0, atol=1e-4)
    bend = [
        [
            (
                loss(center + e + f)
                - loss(center + e - f)
                - loss(center - e + f)
                + loss(center - e - f)
            )
            / (4 * step**2)
            for f in units
        ]
        for e in units
    ]
    scale = model.design.noise_std**2
    np.testing.assert_allclose(likely.gram[0], scale * np.array(bend), rtol=1e-3, atol=1e-3)
