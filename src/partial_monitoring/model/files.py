"""Game files: JSON and TOML in, JSON and TOML out, exact in both directions.

The format is described in ``docs/game-files.md``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.dueling import DuelingGame
from partial_monitoring.model.finite import SIGNAL_NOISE, FiniteGame, finite_rewards
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.kernel_files import kernel_game_from_dict, kernel_game_to_dict
from partial_monitoring.model.tables import from_csv
from partial_monitoring.parameter_sets import (
    AllParameters,
    Ball,
    Box,
    ParameterSet,
    Polyhedral,
    Polytope,
    Simplex,
)
from partial_monitoring.validation import real_array

FINITE_KEYS = ("rewards", "losses", "signals", "actions", "outcomes", "noise_std")
LINEAR_KEYS = ("features", "observation_maps", "parameters", "noise_std", "actions", "noise")
DUELING_KEYS = ("item_features", "items", "parameters", "noise_std", "noise")
PARAMETER_KEYS: Mapping[str, tuple[str, ...]] = {
    "all": (),
    "ball": ("center", "radius"),
    "box": ("low", "high"),
    "simplex": (),
    "polytope": ("a_ub", "b_ub", "a_eq", "b_eq"),
}

FRACTION = re.compile(r"-?\d{1,400}/0*[1-9]\d{0,400}")


def load_game(path: str | Path) -> AnyGame:
    """Read a game from a .json, .toml or .csv file."""
    source = Path(path)
    if source.suffix == ".csv":
        return from_csv(source)
    try:
        return game_from_dict(_read(source))
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def save_game(game: AnyGame, path: str | Path) -> None:
    """Write a game to a .json or .toml file; loading it again gives the same numbers."""
    target = Path(path)
    data = game_to_dict(game)
    match target.suffix:
        case ".json":
            text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        case ".toml":
            import tomli_w

            text = tomli_w.dumps(data)
        case other:
            raise InvalidInput(f"{target}: a game file ends in .json or .toml; got {other!r}.")
    disk.write_text(target, text)


def game_from_dict(data: Mapping[str, Any]) -> AnyGame:
    """Build a game from the content of a game file."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"a game must be a table of keys; got {type(data).__name__}.")
    if "contexts" in data:
        return _contextual(data)
    if "signals" in data or "rewards" in data or "losses" in data:
        return _finite(data)
    if "item_features" in data:
        return _dueling(data)
    if "features" in data:
        return _linear(data)
    if "kernel" in data or "reward_kernel" in data:
        return kernel_game_from_dict(data)
    raise InvalidInput(
        f"a game needs 'rewards' or 'losses' with 'signals' (finite), 'features' (linear), "
        f"'kernel' with 'points' (kernelized) or 'contexts' (contextual); got the keys "
        f"{sorted(data)}."
    )


def game_to_dict(game: AnyGame) -> dict[str, Any]:
    """Return the content of a game file, made of plain lists, strings and numbers."""
    if isinstance(game, ContextualGame):
        return _contextual_dict(game)
    if isinstance(game, FiniteGame):
        return {
            "actions": list(game.actions),
            "outcomes": list(game.outcomes),
            "rewards": game.rewards.tolist(),
            "signals": [[_plain_symbol(s) for s in row] for row in game.signals],
            "noise_std": game.noise_std,
        }
    if isinstance(game, KernelGame):
        return kernel_game_to_dict(game)
    if isinstance(game, DuelingGame):
        return {
            "items": list(game.items),
            "item_features": game.item_features.tolist(),
            "parameters": parameters_to_dict(game.parameters),
            "noise_std": game.noise_std,
            "noise": game.noise,
        }
    if not isinstance(game, Game):
        raise InvalidInput(f"game must be a Game or a ContextualGame; got {game!r}.")
    return {
        "actions": list(game.actions),
        "features": game.features.tolist(),
        "observation_maps": [game.rows(a).tolist() for a in range(game.k)],
        "parameters": parameters_to_dict(game.parameters),
        "noise_std": np.asarray(game.noise_std).tolist(),
        "noise": game.noise,
    }


def parameters_from_dict(data: Any, d: int) -> ParameterSet:
    """Build a parameter set in R^d from its entry in a game file."""
    if not isinstance(data, Mapping) or "type" not in data:
        raise InvalidInput(f"parameters must be a table with the key 'type'; got {data!r}.")
    kind = data["type"]
    if not isinstance(kind, str) or kind not in PARAMETER_KEYS:
        raise unknown_name("type of parameters", kind, PARAMETER_KEYS)
    keys = PARAMETER_KEYS[kind]
    _known_keys(data, ("type", *keys), "parameters")
    values = {key: _exact(data[key]) for key in keys if key in data}
    match kind:
        case "all":
            return AllParameters(d)
        case "simplex":
            return Simplex(d)
        case "polytope":
            return Polytope(**values)
    for key in keys:
        if key not in values:
            raise InvalidInput(f"parameters of type {kind!r} need the key {key!r}.")
    return Ball(**values) if kind == "ball" else Box(**values)


def parameters_to_dict(parameters: ParameterSet) -> dict[str, Any]:
    """Return the entry of a parameter set in a game file."""
    kind = type(parameters).__name__.lower()
    kind = "all" if isinstance(parameters, AllParameters) else kind
    if kind not in PARAMETER_KEYS:
        if not isinstance(parameters, Polyhedral):
            raise InvalidInput(f"a {type(parameters).__name__} cannot be written to a game file.")
        kind, parameters = "polytope", Polytope(*parameters.halfspaces())
    values = {key: np.asarray(getattr(parameters, key)) for key in PARAMETER_KEYS[kind]}
    return {"type": kind} | {key: value.tolist() for key, value in values.items() if value.size}


def _finite(data: Mapping[str, Any]) -> FiniteGame:
    _known_keys(data, FINITE_KEYS, "a finite game")
    if "signals" not in data:
        raise InvalidInput("a finite game needs the key 'signals'.")
    rows = _sequence("signals", data["signals"])
    signals = [list(map(_symbol, _sequence(f"signals[{a}]", row))) for a, row in enumerate(rows)]
    rewards = finite_rewards(_exact(data.get("rewards")), _exact(data.get("losses")))
    return FiniteGame(
        rewards,
        signals,
        actions=data.get("actions"),
        outcomes=data.get("outcomes"),
        noise_std=_exact(data.get("noise_std", SIGNAL_NOISE)),
    )


def _linear(data: Mapping[str, Any], parameters: ParameterSet | None = None) -> Game:
    _known_keys(data, LINEAR_KEYS, "a linear game")
    for key in ("features", "observation_maps"):
        if key not in data:
            raise InvalidInput(f"a linear game needs the key {key!r}.")
    features = real_array("features", _exact(data["features"]), ("k", "d"))
    if parameters is None:
        if "parameters" not in data:
            raise InvalidInput("a linear game needs the key 'parameters'.")
        parameters = parameters_from_dict(data["parameters"], features.shape[1])
    else:
        _not_both(data, ("parameters",))
    return Game(
        features,
        [_exact(rows) for rows in _sequence("observation_maps", data["observation_maps"])],
        parameters,
        _exact(data.get("noise_std", 1.0)),
        data.get("actions"),
        noise=data.get("noise", "gaussian"),
    )


def _dueling(data: Mapping[str, Any]) -> DuelingGame:
    _known_keys(data, DUELING_KEYS, "a dueling game")
    features = real_array("item_features", _exact(data["item_features"]), ("items", "d"))
    if "parameters" not in data:
        raise InvalidInput("a dueling game needs the key 'parameters'.")
    return DuelingGame(
        features,
        parameters_from_dict(data["parameters"], features.shape[1]),
        _exact(data.get("noise_std", 1.0)),
        data.get("items"),
        noise=data.get("noise", "gaussian"),
    )


def _contextual(data: Mapping[str, Any]) -> ContextualGame:
    _known_keys(data, ("contexts", "parameters", "outcomes"), "a contextual game")
    games, chances, names = [], [], []
    parameters: ParameterSet | None = None
    used = set()
    for z, entry in enumerate(_sequence("contexts", data["contexts"])):
        try:
            if not isinstance(entry, Mapping):
                raise InvalidInput(f"must be a table of keys; got {entry!r}.")
            own = {key: entry[key] for key in entry if key not in ("name", "probability")}
            if "features" in own and "parameters" in data and parameters is None:
                features = real_array("features", _exact(own["features"]), ("k", "d"))
                parameters = parameters_from_dict(data["parameters"], features.shape[1])
            game: Game
            if "item_features" in own:
                shared = {key: data[key] for key in ("parameters",) if key in data}
                _not_both(own, shared)
                game = _dueling(own | shared)
            elif "features" in own:
                game = _linear(own, parameters)
            else:
                shared = {key: data[key] for key in ("outcomes",) if key in data}
                _not_both(own, shared)
                game = _finite(own | shared)
            used.add("outcomes" if isinstance(game, FiniteGame) else "parameters")
        except InvalidInput as error:
            raise InvalidInput(f"contexts[{z}]: {error}") from None
        games.append(game)
        names.append(str(entry.get("name", z)))
        chances.append(_exact(entry.get("probability")))
    for key in ("parameters", "outcomes"):
        if key in data and key not in used:
            raise InvalidInput(f"{key} must be left out, no context has any; got {data[key]!r}.")
    given = [chance is not None for chance in chances]
    if any(given) and not all(given):
        raise InvalidInput(
            f"contexts[{given.index(False)}] needs the key 'probability' like the others."
        )
    return ContextualGame(tuple(games), chances if all(given) else None, tuple(names))


def _contextual_dict(game: ContextualGame) -> dict[str, Any]:
    """Write what all contexts share once."""
    entries = []
    for name, chance, own in zip(game.contexts, game.context_distribution, game.games, strict=True):
        body = game_to_dict(own)
        for shared in ("parameters", "outcomes"):
            body.pop(shared, None)
        entries.append({"name": name, "probability": float(chance)} | body)
    first = game.games[0]
    if isinstance(first, FiniteGame):
        return {"outcomes": list(first.outcomes), "contexts": entries}
    return {"parameters": parameters_to_dict(game.parameters), "contexts": entries}


def _read(path: Path) -> Any:
    """Parse a file by its ending."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput("no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot be read: {error}.") from None
    try:
        match path.suffix:
            case ".json":
                return json.loads(text)
            case ".toml":
                return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"is not valid {path.suffix[1:].upper()}: {error}.") from None
    raise InvalidInput(f"a game file ends in .json, .toml or .csv; got {path.suffix!r}.")


def _exact(value: Any) -> Any:
    """Turn strings such as "1/3" anywhere in nested lists into fractions."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, str) and FRACTION.fullmatch(value):
        return Fraction(value)
    return value


def _symbol(value: Any) -> Hashable:
    """Lists in files stand for tuples, which can be symbols."""
    if isinstance(value, list):
        return tuple(map(_symbol, value))
    if type(value) not in (str, int, float, bool):
        raise InvalidInput(f"signals must be strings, numbers or lists of them; got {value!r}.")
    return value  # type: ignore[no-any-return]


def _plain_symbol(symbol: Hashable) -> Any:
    if isinstance(symbol, tuple):
        return [_plain_symbol(item) for item in symbol]
    if type(symbol) in (str, int, float, bool):
        return symbol
    raise InvalidInput(
        f"signals in a game file must be strings, numbers or lists of them; got {symbol!r}."
    )


def _sequence(key: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"{key} must be a list with at least one entry; got {value!r}.")
    return value


def _not_both(context: Mapping[str, Any], shared: Iterable[str]) -> None:
    """Refuse what stands in a context although it stands outside for all of them."""
    for key in shared:
        if key in context:
            raise InvalidInput(f"{key} stand either in each context or outside; got both.")


def _known_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise unknown_name(f"key of {where}", key, known)
