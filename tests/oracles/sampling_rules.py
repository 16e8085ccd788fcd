"""The sampling rules by name, and problems for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.ids.sampling import SamplingRule
from tests.oracles.ratios import KAPPAS

Array = NDArray[np.float64]
Problem = tuple[Array, Array]

RULES: dict[str, SamplingRule] = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "generalized 3": pm.sampling.generalized(3.0),
    "deterministic": pm.sampling.deterministic,
    "e2d": pm.sampling.e2d(0.7),
    "anytime e2d": pm.sampling.e2d("anytime"),
}
RATIO_RULES = ("exact", "approximate", "generalized 3", "deterministic")
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
some_kappa = st.sampled_from(KAPPAS)


def psi(mu: Array, problem: Problem, kappa: float = 2.0) -> float:
    return float(information_ratio(mu, *problem, kappa=kappa))
