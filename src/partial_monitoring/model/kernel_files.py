"""Kernel games as plain data, for game files.

A file gives either the three kernels, or a kernel with points and how reward and feedback read the
function there. Without ``reward`` and ``feedback`` both read its value at each point; with
``duels = true`` the points are settings that are compared. A kernel with ``low`` and ``high`` is a
game over a box, with ``names`` and ``units`` of its coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from math import isfinite
from typing import Any

import numpy as np

from partial_monitoring import kernels
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.gram import Functionals
from partial_monitoring.kernels.readings import Reading, values
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.box_dueling import KernelBoxDuelingGame
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.kernel_dueling import KernelDuelingGame
from partial_monitoring.model.over_box import GameOverBox
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    is_whole,
    known_keys,
    real_array,
)

OPTIONS = ("noise_std", "norm_bound", "noise")
ARRAYS = ("reward_kernel", "observation_kernel", "cross_kernel")
ARRAY_KEYS = (*ARRAYS, *OPTIONS, "actions")
POINT_KEYS = ("kernel", "points", "axes", "reward", "feedback", "duels", *OPTIONS, "actions")
BOX_KEYS = ("kernel", "low", "high", "duels", *OPTIONS, "levels", "names", "units")
DUEL_KEYS = ("kernel", "points", "duels", *OPTIONS, "items")


@singledispatch
def kernel_game_to_dict(game: FunctionGame) -> dict[str, Any]:
    """Return a kernel game as plain data."""
    raise InvalidInput(f"a {type(game).__name__} cannot be written to a game file.")


@kernel_game_to_dict.register
def _(game: KernelGame) -> dict[str, Any]:
    sizes = np.asarray(game.noise_std).tolist()
    options = game.options | {"noise_std": sizes, "actions": list(game.actions)}
    gram = game.kernel_gram
    if gram is None:
        return _three_kernels(game) | options
    body: dict[str, Any] = {"kernel": gram.kernel.to_dict(), "points": gram.points.tolist()}
    derived = bool((gram.axes >= 0).any())
    if derived:
        body["axes"] = gram.axes.tolist()
    if derived or not (game.reward.plain and game.shows_own_reward and game.k == game.d):
        body["reward"] = _written(game.reward[:, None], (1,) * game.k)
        body["feedback"] = _written(game.observation, game.row_counts)
    return body | options


@kernel_game_to_dict.register
def _(game: KernelDuelingGame) -> dict[str, Any]:
    kernel, points = game.computed.kernel.to_dict(), game.points.tolist()
    own = {"kernel": kernel, "points": points, "duels": True, "items": list(game.items)}
    return own | game.options


@kernel_game_to_dict.register
def _(game: GameOverBox) -> dict[str, Any]:
    body = {"kernel": game.computed.kernel.to_dict()}
    body |= {"low": game.low.tolist(), "high": game.high.tolist()}
    duels = {"duels": True} if game.traits.duels else {}
    return body | duels | game.options | game.lattice.options


def _three_kernels(game: KernelGame) -> dict[str, Any]:
    k, m, whole = game.k, game.m, game.gram.matrix
    earned, shown = game.features, game.observation_maps.reshape(k * m, game.d)
    return {
        "reward_kernel": (earned @ whole @ earned.T).tolist(),
        "observation_kernel": (shown @ whole @ shown.T).reshape(k, m, k, m).tolist(),
        "cross_kernel": (earned @ whole @ shown.T).reshape(k, k, m).tolist(),
    }


def _written(rows: Functionals, counts: tuple[int, ...]) -> list[Any]:
    """Write rows as pairs [number of a point, weight], one list per row of each action."""
    width = rows.index.shape[2]
    return [
        [
            [[int(rows.index[a, j, p]), float(rows.weight[a, j, p])] for p in range(width)]
            for j in range(count)
        ]
        for a, count in enumerate(counts)
    ]


def kernel_game_from_dict(data: Mapping[str, Any]) -> FunctionGame:
    """Build a kernel game from plain data."""
    if "reward_kernel" in data:
        known_keys("a kernel game", data, ARRAY_KEYS, ARRAYS)
        return KernelGame(**data)
    duels = data.get("duels") is not None and boolean("duels", data["duels"])
    if "low" in data or "high" in data:
        known_keys("a kernel game over a box", data, BOX_KEYS, ["kernel", "low", "high"])
        build = KernelBoxDuelingGame if duels else KernelBoxGame
        own = {key: value for key, value in data.items() if key != "duels"}
        return build(**own | {"kernel": kernels.from_dict(data["kernel"])})
    known_keys("a kernel game", data, DUEL_KEYS if duels else POINT_KEYS, ["kernel", "points"])
    options = {key: data[key] for key in (*OPTIONS, "actions", "items") if key in data}
    kernel = kernels.from_dict(data["kernel"])
    x = real_array("points", data["points"], ("n", "p"))
    if duels:
        return KernelDuelingGame(kernel, x, **options)
    if ("reward" in data) != ("feedback" in data):
        raise InvalidInput("a kernel game has both keys 'reward' and 'feedback', or none of them.")
    if "reward" not in data:
        if "axes" in data:
            raise InvalidInput("axes must be given with the keys 'reward' and 'feedback'.")
        read = values(x)
        return KernelGame.from_kernel(kernel, read, read, **options)
    axes = _axes(data.get("axes", [-1] * len(x)), *x.shape)
    earned = _read("reward", data["reward"], x, axes)
    if set(earned.counts) != {1}:
        raise InvalidInput(f"reward must have one row per action; got {brief(data['reward'])}.")
    shown = _read("feedback", data["feedback"], x, axes)
    return KernelGame.from_kernel(kernel, earned, shown, **options)


def _axes(value: Any, count: int, p: int) -> Indices:
    fine = isinstance(value, list) and all(is_whole(axis) and -1 <= axis < p for axis in value)
    if not fine or len(value) != count:
        raise InvalidInput(
            f"axes must hold one coordinate per point, or -1 for the value; got {brief(value)}."
        )
    return np.array(value, dtype=np.int64)


def _read(name: str, value: Any, points: Array, axes: Indices) -> Reading:
    """Read rows that are written as pairs [number of a point, weight]."""
    try:
        lists = [[[(i, w) for i, w in row] for row in rows] for rows in value]
        pairs = [pair for rows in lists for row in rows for pair in row]
        fine = all(is_whole(i) and 0 <= i < len(points) and isfinite(w) for i, w in pairs)
    except (TypeError, ValueError):
        fine = False
    if not fine or not lists:
        raise InvalidInput(
            f"{name} must hold rows of pairs [number of a point, weight] for every action; got "
            f"{brief(value)}."
        )
    m = max(map(len, lists))
    width = max([1, *(len(row) for rows in lists for row in rows)])
    weight = np.zeros((len(lists), m, width))
    index = np.zeros(weight.shape, dtype=np.int64)
    for a, rows in enumerate(lists):
        for j, row in enumerate(rows):
            for place, (i, w) in enumerate(row):
                index[a, j, place], weight[a, j, place] = i, w
    return Reading(points, axes, Functionals(index, weight), tuple(map(len, lists)))
