"""Normal numbers by inverting the distribution function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from partial_monitoring.numerics.compiled.normal import normals, quantile


def test_quantiles_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    small = 2.0 ** -np.arange(1.0, 55.0)
    exponents = rng.uniform(0.0, 15.9, 2000)
    p = np.concatenate(
        [rng.random(4000), 10.0**-exponents, 1.0 - 10.0**-exponents, small, 1.0 - small[:-1]]
    )
    found = np.array([quantile(own) for own in p])
    assert found == pytest.approx(ndtri(p), rel=2e-15, abs=1e-300)


def test_quantiles_near_one_half_keep_their_digits() -> None:
    away = 2.0 ** -np.arange(5.0, 53.0)
    found = np.array([quantile(0.5 + own) for own in away])
    assert found == pytest.approx(np.sqrt(2 * np.pi) * away, rel=2e-3)
    assert found[20:] == pytest.approx(np.sqrt(2 * np.pi) * away[20:], rel=1e-14)
    assert quantile(0.5) == 0.0


def test_quantiles_grow() -> None:
    p = np.linspace(2.0**-54, 1.0 - 2.0**-53, 20_001)
    assert (np.diff([quantile(own) for own in p]) > 0.0).all()


def test_uniform_numbers_become_normal_ones() -> None:
    found = normals(np.random.default_rng(1).random((2, 100_000)))
    assert np.abs(found.mean(axis=1)).max() < 5 / np.sqrt(found.shape[1])
    assert found.std() == pytest.approx(1.0, abs=0.01)
