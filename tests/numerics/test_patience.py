"""Small games are decided before anything is compiled, and the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from numba import typeof

from partial_monitoring.numerics.compiled.just_in_time import Cache, compiled
from partial_monitoring.numerics.compiled.patience import Patient, background, patience

PLAY = """
import sys, time
import partial_monitoring as pm
from partial_monitoring.numerics.compiled.patience import background
policy = pm.IDS() if sys.argv[1] == "ids" else None
learner = pm.Learner(pm.games.linear_bandit([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), policy)
start, actions = time.process_time(), []
for t in range(6):
    decision = learner.ask()
    if t == 0:
        print(time.process_time() - start)
    actions.append(decision.action)
    learner.tell(decision, [0.1 * (t % 3)])
    if t == 3:
        background.wait()
print(actions)
"""


def played(policy: str, cache: str | None) -> tuple[float, str]:
    options = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    found = subprocess.run(
        [sys.executable, "-c", PLAY, policy],
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stderr == ""
    took, actions = found.stdout.splitlines()
    return float(took), actions


@pytest.mark.parametrize("policy", ["default", "ids"])
def test_an_empty_cache_is_not_waited_for(policy: str, tmp_path: Path) -> None:
    cold, actions = played(policy, str(tmp_path))
    assert cold < 3.0
    assert list(tmp_path.rglob("*.nbi"))  # compiled meanwhile, and kept
    assert played(policy, None)[1] == actions


def test_a_function_is_compiled_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cache, "holds", lambda *_: False)  # whatever earlier tests have kept

    @compiled
    def doubled(values):
        out = np.empty(len(values))
        for a in range(len(values)):
            out[a] = 2.0 * values[a]
        return out

    assert type(doubled) is Patient
    with patience:
        assert doubled(np.ones(2)).tolist() == [2.0, 2.0]
        assert type(doubled) is Patient
        background.wait()
        assert len(doubled.signatures) == 1
        assert doubled(np.ones(2)).tolist() == [2.0, 2.0]
    assert type(doubled) is not Patient
    background.wait()


def test_views_of_compiled_functions_do_not_reach_interpreted_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Cache, "holds", lambda *_: False)

    @compiled(allocates=False)
    def row(values, i):
        return values[i], i

    @compiled(allocates=False)
    def first_of_row(values, i):
        return row(values, i)[0][0]

    values = np.arange(6.0).reshape(2, 3)
    row.compile((typeof(values), typeof(1)))  # as while its caller is being compiled
    with patience:
        assert first_of_row(values, 1) == 3.0
    assert not patience.interpreting
    background.wait()


def test_patience_is_that_of_a_thread() -> None:
    depths: list[int] = []
    with patience, patience:
        thread = Thread(target=lambda: depths.append(patience.depth))
        thread.start()
        thread.join()
        depths.append(patience.depth)
    assert [*depths, patience.depth] == [0, 2, 0]
