"""Linear algebra on small systems runs on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import partial_monitoring as pm
from partial_monitoring.numerics.threads import one_thread


def counts() -> set[int]:
    """Return the numbers of threads of all linear algebra libraries."""
    return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}


def test_libraries_run_on_one_thread_and_go_back() -> None:
    with one_thread():
        pass  # finds the libraries
    with threadpool_limits(2, user_api="blas"):
        assert max(before := counts()) == 2  # some libraries have one thread only
        with one_thread():
            assert counts() == {1}
        assert counts() == before


def test_a_decision_over_a_box_takes_one_thread() -> None:
    seen: list[set[int]] = []

    def watched(x: Any, y: Any) -> Any:
        seen.append(counts())
        return np.exp(-((x[:, None] - y[None]) ** 2).sum(axis=2))

    game = pm.KernelBoxGame(pm.kernels.from_function(watched), [0, 0], [1, 2], noise_std=0.1)
    learner = pm.Learner(game, pm.IDS(gap=pm.gaps.mean), seed=0)
    learner.tell(learner.ask(), 0.1)
    seen.clear()
    with threadpool_limits(2, user_api="blas"):
        learner.ask()
    assert seen
    assert set.union(*seen) == {1}
