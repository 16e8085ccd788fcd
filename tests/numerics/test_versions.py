"""Versions of compiled functions that do not look at the types of their arguments again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import just_in_time
from partial_monitoring.numerics.compiled.linear import half_log_dets
from partial_monitoring.numerics.compiled.ratio import spread_rows


class Pair(NamedTuple):
    one: np.ndarray
    two: float


def test_a_version_does_what_its_function_does() -> None:
    first, second, share = np.array([0, 1]), np.array([2, 1]), np.array([0.25, 0.5])
    arguments = first, second, share, 3
    ready = just_in_time.version(spread_rows, arguments)
    assert np.array_equal(ready(*arguments), spread_rows(*arguments))
    assert just_in_time.version(spread_rows, (second, first, share, 7)) is ready
    assert just_in_time.version(len, (first,)) is len  # not compiled


def test_arrays_of_other_types_have_another_version() -> None:
    own = np.abs(np.random.default_rng(0).normal(size=(2, 3, 1, 1)))
    still = own.copy()
    still.setflags(write=False)
    sparse = np.abs(np.random.default_rng(0).normal(size=(2, 6, 1, 1)))[:, ::2]
    versions = [just_in_time.version(half_log_dets, (each,)) for each in (own, still, sparse)]
    assert len(set(map(id, versions))) == 3
    for ready, each in zip(versions, (own, still, sparse), strict=True):
        assert np.array_equal(ready(each), half_log_dets(each))


def test_forms_tell_types_apart() -> None:
    flat = np.zeros((2, 2))
    values = [
        *(flat, flat.T.copy().T, flat[::2, ::2], flat[0], flat.astype(np.float32)),
        *(flat.astype(">f8"), flat > 0, (flat,), (flat, flat), [flat], Pair(flat, 1.0)),
        *(Pair(flat[0], 1.0), Pair(flat, 1), 1, 1.0, True, np.float64(1.0), None),
    ]
    forms = list(map(just_in_time.form, values))
    assert len(set(forms)) == len(forms)
    assert just_in_time.form(Pair(flat + 1.0, 2.0)) == just_in_time.form(Pair(flat, 1.0))
