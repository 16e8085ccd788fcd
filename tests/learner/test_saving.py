"""The words of a decision that an expected saving decided, on choices that are made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.policy import Choices, point_mass

DOUBT = 0.1


class Indexed:
    """Plays the action that saves most per unit lost, of those that save what they cost."""

    def __init__(self, costs: list[float], savings: list[float]) -> None:
        self.gaps, self.information = np.array([costs]), np.array([savings])

    def init(self, game: Any, replicates: int) -> Any:
        return None

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        gaps = self.gaps if available is None else np.where(available, self.gaps, np.inf)
        costs = gaps - gaps.min()
        index = np.where(self.information < costs, -np.inf, self.information / (costs + DOUBT))
        action = index.argmax(axis=1)
        return Choices(
            action,
            point_mass(action, index.shape[1]),
            gaps,
            self.information,
            index=index,
            decided_by="savings",
        )

    def update(self, state: Any, action: Any, observation: Any) -> Any:
        return state


GAME = pm.from_table(
    {
        "ship": {"fine": (1, "nothing"), "faulty": (-4, "nothing")},
        "scrap": {"fine": (0, "nothing"), "faulty": (0, "nothing")},
        "inspect": {"fine": (-1, "fine"), "faulty": (-1, "faulty")},
    }
)


def explained(costs: list[float], savings: list[float], **options: Any) -> str:
    learner = pm.Learner(GAME, Indexed(costs, savings))  # type: ignore[arg-type]
    return learner.ask(**options).explain()


@pytest.mark.parametrize(
    ("costs", "savings", "reason"),
    [
        (
            [0.0, 0.1, 0.3],
            [0.0, 0.0, 0.52],
            "'inspect' costs 0.3 more now, and what it shows is valued at 0.52 for the "
            "rounds to come",
        ),
        (
            [0.0, 0.1, 0.3],
            [0.125, 0.0, 0.52],
            "'inspect' costs 0.3 more now, and what it shows is valued at 0.52 for the "
            "rounds to come, not 0.125 as with 'ship'",
        ),
        (
            [0.0, 0.0, 0.3],
            [0.0, 0.125, 0.52],
            "'inspect' costs 0.3 more now, and what it shows is valued at 0.52 for the "
            "rounds to come, not 0.125 as with 'scrap'",
        ),
        (
            [0.0, 0.1, 0.3],
            [0.0, 0.0, 0.29],
            "'ship' looks best, and no other action shows enough to pay off",
        ),
        (
            [0.0, 0.0, 0.3],
            [0.0, 0.2, 0.1],
            "'scrap' looks best, and no other action shows enough to pay off",
        ),
        (
            [0.0, 0.1, 0.3],
            [0.25, 0.0, 0.62],
            "'ship' looks best, and what it shows itself comes without a price",
        ),
    ],
)
def test_the_reason_is_one_sentence(costs: list[float], savings: list[float], reason: str) -> None:
    assert f" {reason} costs now:" in " ".join(explained(costs, savings).split())


def test_the_columns_are_what_it_costs_and_saves() -> None:
    text = explained([0.0, 0.1, 0.3], [0.0, 0.0, 0.52])
    for column in ("costs now", "worth later", "index"):
        assert column in text.splitlines()[1]
    row = next(line for line in text.splitlines() if line.startswith("inspect <"))
    assert row.split()[2:] == ["0.3", "0.52", "1.3", "100.0%"]
    row = next(line for line in text.splitlines() if line.startswith("scrap"))
    assert row.split()[1:] == ["0.1", "0", "-", "0.0%"]


def test_what_is_not_available_is_not_compared_with() -> None:
    text = explained([0.0, 0.1, 0.3], [0.0, 0.0, 0.52], available=["scrap", "inspect"])
    assert "'inspect' costs 0.2 more now" in text
    alone = explained([0.0, 0.1, 0.3], [0.0, 0.0, 0.52], available=["scrap"])
    assert "'scrap' looks best" in alone
