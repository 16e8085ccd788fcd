"""Gaps computed only where they matter give the same decision as all of them."""

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.ids.lazy_gaps import FROM, lazy_exact


@pytest.mark.parametrize("kappa", [2.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_lazy_is_exact(seed: int, kappa: float) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    phi = rng.standard_normal((FROM + 20, d))
    maps = phi[:, None, :].copy()
    maps[rng.random(len(phi)) < 0.5] = 0.0  # some actions show nothing
    maps[:, :, -1] = 0.0  # and one direction is never seen
    game = pm.Game(phi, maps, pm.AllParameters(d))
    rule = pm.sampling.generalized(kappa)
    policy = pm.IDS(sampling=rule)
    state = policy.init(game, 2)
    for _ in range(15):
        confidence = policy.confidence_set(state)
        information = pm.information.log_det(game, confidence)
        exact = pm.gaps.exact(game, confidence)
        lower = lazy_exact(confidence, information, rule)
        distribution = rule(lower, information)
        assert (lower <= exact + 1e-9).all()
        support = distribution > 0
        np.testing.assert_allclose(lower[support], exact[support], rtol=1e-9)
        best = rule.pairs(exact, information)
        choice = policy.decide(state, rng.random(2))
        np.testing.assert_allclose(choice.ratio, best.ratio, rtol=1e-8)
        state = policy.update(state, choice.action, rng.standard_normal((2, 1)))
