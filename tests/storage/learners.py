"""Learners in databases, and commands about them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main

ROOT = Path(__file__).parents[2]


ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def learner_at(address: str, **extra: Any) -> pm.Learner:
    return pm.Learner("dynamic_pricing", seed=1, storage=address, name="pricing", **extra)


def play(learner: pm.Learner, rounds: int) -> list[int]:
    played = []
    for _ in range(rounds):
        decision = learner.ask(now=1.0)
        learner.tell(decision, "yes" if learner.round % 3 else "no", now=1.0)
        played.append(decision.action)
    return played


def pm_store(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(main, ["store", *words])
    assert done.exit_code == code, done.output
    return str(done.output)
