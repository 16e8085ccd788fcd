"""A small experiment, and how two results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm


def small(policies: Any = ("ids", "cbp"), **changes: Any) -> pm.Experiment:
    options: dict[str, Any] = {"horizon": 40, "seeds": 6, "checkpoints": [5, 20]} | changes
    games = {"apples": "apple_tasting", "pricing": pm.games.dynamic_pricing()}
    theta = {"apples": [0.7, 0.3], "pricing": {"any": "random", "one": [0.2, 0.5, 0.3]}}
    return pm.Experiment(games, policies, theta, **options)


def numbers(table: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: table[name].to_numpy() for name in table.column_names}


def assert_same(one: Any, other: Any) -> None:
    for name, column in numbers(one).items():
        np.testing.assert_array_equal(column, numbers(other)[name], err_msg=name)
