"""What an argument, an experiment file or the command line says about the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.games import functions
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.simulation.truths.kinds import (
    Among,
    FixedTruth,
    Function,
    Listed,
    Random,
    Truth,
    Worst,
)
from partial_monitoring.simulation.truths.lower_bound import LowerBound, TwoPoints, lower_bound
from partial_monitoring.simulation.truths.moving import Drifting, Switching, drifting, switching
from partial_monitoring.simulation.truths.opponents import Adaptive, Hostile, hostile
from partial_monitoring.simulation.truths.outcomes import FILES, OutcomeFunction, outcomes
from partial_monitoring.validation import axes, brief, known_keys, probabilities, real_array

KINDS = (
    *(FixedTruth, Random, Among, Function, Worst),
    *(OutcomeFunction, Adaptive, Hostile, Switching, Drifting, LowerBound, TwoPoints),
)
"""Kinds of truths that a store can hold."""

WORDS: Mapping[str, Callable[[], Truth]] = {
    "random": Random,
    "worst": Worst,
    "hostile": hostile,
    "lower_bound": lower_bound,
}
"""Truths that are given by a word."""

TABLES: Mapping[str, tuple[Callable[..., Truth], tuple[str, ...]]] = {
    "outcomes": (outcomes, ("repeat",)),
    "switching": (switching, ("at",)),
    "drifting": (drifting, ("steps",)),
    "hostile": (hostile, ()),
    "lower_bound": (lambda size, **more: lower_bound(size=size, **more), ("horizon", "pair")),
}
"""Truths that are given by a table: one key has the first argument, the others are options."""


def is_table(value: Mapping[str, Any]) -> bool:
    """Whether a table describes one truth instead of several by name.

    >>> is_table({"among": [[0.5, 0.5]]}), is_table({"random": "random", "hostile": "hostile"})
    (True, False)
    """
    options = {"among": ("weights",)} | {key: more for key, (_, more) in TABLES.items()}
    return any(
        key in value and set(value) <= {key, *more} and not _is_name(value[key])
        for key, more in options.items()
    )


def _is_name(value: Any) -> bool:
    """Whether a value is a truth of its own, so that its key is a name."""
    return isinstance(value, Truth | Mapping) or (isinstance(value, str) and value in WORDS)


def read_truth(value: Any, game: AnyGame, *, rows: bool = False, folder: Path = Path()) -> Truth:
    """Return the kind of true parameters that a value of a file or an argument describes.

    A parameter, a word ("random", "worst", "hostile", "lower_bound"), a file of outcomes, a table
    such as {"among": parameters, "weights": probabilities} or {"outcomes": [...]}, or for a kernel
    game a function or the name of one of ``pm.functions``; with ``rows`` also one parameter per
    seed. Files are relative to a folder.
    """
    if isinstance(value, Truth):
        return value
    if isinstance(value, str):
        if value in functions.KNOWN:
            return Function(_function(game, value))
        if Path(value).suffix.lower() in FILES:
            return outcomes(folder / value)
        if value not in WORDS:
            raise unknown_name("kind of true parameter theta", value, [*WORDS, *functions.KNOWN])
        return WORDS[value]()
    if callable(value):
        return Function(value)
    if isinstance(value, Mapping):
        for key, (build, options) in TABLES.items():
            if key in value:
                known_keys(f"a table of {key}", value, (key, *options))
                first = value[key]
                if key == "outcomes" and isinstance(first, str):
                    first = folder / first
                return build(first, **{name: value[name] for name in options if name in value})
        known_keys("true parameters", value, ("among", "weights"))
        listed = value.get("among")
        if not isinstance(listed, list | tuple | np.ndarray) or len(listed) == 0:
            raise InvalidInput(f"among must be a list of parameters; got {brief(listed)}.")
        among = np.stack([game.parameters.checked(own, "among") for own in listed])
        even = np.full(len(among), 1 / len(among))
        return Among(among, probabilities("weights", value.get("weights", even), len(among)))
    if rows and axes(value) == 2:
        return Listed(real_array("theta", value, ("seeds", game.d)))
    if axes(value) != 1:
        also = "one per seed, " if rows else ""
        raise InvalidInput(
            f"theta must be one parameter, {also}'random', 'worst' or a table with the key "
            f"'among'; got {brief(value)}."
        )
    return FixedTruth(game.parameters.checked(value, "theta"))


def _function(game: AnyGame, name: str) -> functions.Function:
    """Return a test function by name, as the truth of a kernel game."""
    if not game.traits.function:
        raise InvalidInput(f"theta may be a function only for kernel games; got {name!r}.")
    wanted, found = functions.KNOWN[name].dimension, game.point_dimension
    if None not in (wanted, found) and wanted != found:
        raise InvalidInput(
            f"theta {name!r} is a function of {wanted} coordinates; the points of the game have "
            f"{found}."
        )
    return functions.named(name)
