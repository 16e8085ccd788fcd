"""Game files: JSON and TOML in, JSON and TOML out, exact in both directions.

The format is described in ``docs/game-files.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.dueling import DuelingGame
from partial_monitoring.model.finite import FiniteGame, finite_rewards
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel_files import kernel_game_from_dict, kernel_game_to_dict
from partial_monitoring.model.oracle import OracleGame
from partial_monitoring.model.oracles import ItemSets, oracle_from_dict
from partial_monitoring.model.segments import SegmentedGame
from partial_monitoring.model.tables import FRACTION, from_csv
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import brief, file_path, known_keys, real_array

WRITTEN = (str, int, float, bool)
"""Types of symbols that a file can hold, beside lists of them."""

FINITE_KEYS = ("rewards", "losses", "signals", "actions", "outcomes", "noise_std")
LINEAR_KEYS = ("features", "observation_maps", "parameters", "noise_std", "actions", "noise")
DUELING_KEYS = ("item_features", "items", "parameters", "noise_std", "noise")
ORACLE_KEYS = ("oracle", "parameters", "noise_std", "shows", "observers", "m", "noise")
LABELS = ("actions", "items", "outcomes")
SHARED = ("parameters", "outcomes")
"""Keys that contexts may share, written once outside of them."""
OVER_PARAMETERS = ("item_features", "features")
"""Keys of games whose parameter set is given."""


def load_game(path: str | Path) -> AnyGame:
    """Read a game from a .json, .toml or .csv file."""
    source = file_path(path)
    if source.suffix == ".csv":
        return from_csv(source)
    try:
        return game_from_dict(_read(source))
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def save_game(game: AnyGame, path: str | Path) -> None:
    """Write a game to a .json or .toml file; loading it again gives the same numbers."""
    target = file_path(path)
    data = game_to_dict(game)
    match target.suffix:
        case ".json":
            text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        case ".toml":
            import tomli_w

            text = tomli_w.dumps(data)
        case other:
            raise InvalidInput(f"{target}: a game file ends in .json or .toml; got {brief(other)}.")
    disk.write_text(target, text)


def game_from_dict(data: Mapping[str, Any]) -> AnyGame:
    """Build a game from the content of a game file."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"a game must be a table of keys; got {type(data).__name__}.")
    for key, read in READERS.items():
        if key in data:
            try:
                return read(data)
            except RecursionError:
                raise InvalidInput("a game must not be nested so deeply.") from None
    raise InvalidInput(
        f"a game needs 'rewards' or 'losses' with 'signals' (finite), 'features' (linear), "
        f"'kernel' with 'points' (kernelized), 'contexts' (contextual) or 'segments'; got the keys "
        f"{brief(sorted(map(str, data)))}."
    )


@singledispatch
def game_to_dict(game: AnyGame) -> dict[str, Any]:
    """Return the content of a game file, made of plain lists, strings and numbers."""
    raise InvalidInput(f"game must be a Game or a ContextualGame; got {brief(game)}.")


@game_to_dict.register
def _(game: Game) -> dict[str, Any]:
    return {
        "actions": list(game.actions),
        "features": game.features.tolist(),
        "observation_maps": [game.rows(a).tolist() for a in range(game.k)],
        "parameters": game.parameters.to_dict(),
        "noise_std": np.asarray(game.noise_std).tolist(),
        "noise": game.noise,
    }


@game_to_dict.register
def _(game: FiniteGame) -> dict[str, Any]:
    return {
        "actions": list(game.actions),
        "outcomes": list(game.outcomes),
        "rewards": game.rewards.tolist(),
        "signals": [[_plain_symbol(s) for s in row] for row in game.signals],
        "noise_std": game.noise_std,
    }


@game_to_dict.register
def _(game: DuelingGame) -> dict[str, Any]:
    return {
        "items": list(game.items),
        "item_features": game.item_features.tolist(),
        "parameters": game.parameters.to_dict(),
        "noise_std": game.noise_std,
        "noise": game.noise,
    }


@game_to_dict.register
def _(game: ContextualGame) -> dict[str, Any]:
    """Write what all contexts share once."""
    entries: list[dict[str, Any]] = []
    shared: dict[str, Any] = {}
    for name, chance, own in zip(game.contexts, game.context_distribution, game.games, strict=True):
        body = game_to_dict(own)
        common = {key: body.pop(key) for key in SHARED if key in body}
        shared = shared or common
        entries.append({"name": name, "probability": float(chance)} | body)
    return shared | {"contexts": entries}


@game_to_dict.register
def _(game: SegmentedGame) -> dict[str, Any]:
    """Write every segment over its own parameter set."""
    each = zip(game.contexts, game.context_distribution, game.segments, strict=True)
    entries = [{"name": n, "probability": float(p)} | game_to_dict(own) for n, p, own in each]
    return {"segments": entries} | ({} if game.shared is None else {"shared": game.shared})


@game_to_dict.register
def _(game: OracleGame) -> dict[str, Any]:
    if not isinstance(game.oracle, ItemSets) or callable(game.shows) or game.second is not None:
        raise InvalidInput(
            "game must have an oracle of the library, such as that of pm.games.m_sets, to be saved."
        )
    observers = {} if game.given is None else {"observers": game.given.tolist()}
    return observers | {
        "oracle": game.oracle.to_dict(),
        "parameters": game.parameters.to_dict(),
        "noise_std": game.noise_std,
        "shows": game.shows,
        "m": game.m,
        "noise": game.noise,
    }


game_to_dict.register(FunctionGame, kernel_game_to_dict)


def parameters_from_dict(data: Any, d: int) -> ParameterSet:
    """Build a parameter set in R^d from its entry in a game file."""
    if isinstance(data, Mapping):
        data = _exact(data)
    return ParameterSet.from_dict(data, d)


def _finite(data: Mapping[str, Any]) -> FiniteGame:
    known_keys("a finite game", data, FINITE_KEYS, ["signals"])
    rows = _sequence("signals", data["signals"])
    signals = [list(map(_symbol, _sequence(f"signals[{a}]", row))) for a, row in enumerate(rows)]
    own = _exact_numbers(data) | {"signals": signals}
    rewards = finite_rewards(own.pop("rewards", None), own.pop("losses", None))
    return FiniteGame(**own | {"rewards": rewards})


def _linear(data: Mapping[str, Any]) -> Game:
    own = _with_parameters("a linear game", data, LINEAR_KEYS, ("features", "observation_maps"))
    _sequence("observation_maps", own["observation_maps"])
    return Game(**own)


def _dueling(data: Mapping[str, Any]) -> DuelingGame:
    return DuelingGame(**_with_parameters("a dueling game", data, DUELING_KEYS, ("item_features",)))


def _oracle(data: Mapping[str, Any]) -> OracleGame:
    known_keys("a game with an oracle", data, ORACLE_KEYS, ["oracle", "parameters"])
    oracle = oracle_from_dict(data["oracle"])
    own = {key: _exact(value) for key, value in data.items() if key != "oracle"}
    own["parameters"] = parameters_from_dict(data["parameters"], oracle.d)
    return OracleGame(oracle, **own)


def _with_parameters(
    kind: str, data: Mapping[str, Any], keys: Sequence[str], needed: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of a game over a parameter set, whose features come first."""
    own = _exact_numbers(data)
    d = real_array(needed[0], own[needed[0]], ("k", "d")).shape[1]
    known_keys(kind, data, keys, [*needed, "parameters"])
    if not isinstance(data["parameters"], ParameterSet):  # contexts share one
        own["parameters"] = parameters_from_dict(data["parameters"], d)
    return own


def _contextual(data: Mapping[str, Any]) -> ContextualGame:
    known_keys("a contextual game", data, ("contexts", *SHARED))
    shared = {key: data[key] for key in SHARED if key in data}
    games: list[Any] = []
    chances, names, used = [], [], set()
    for z, entry in enumerate(_sequence("contexts", data["contexts"])):
        try:
            if not isinstance(entry, Mapping):
                raise InvalidInput(f"must be a table of keys; got {brief(entry)}.")
            own = {key: entry[key] for key in entry if key not in ("name", "probability")}
            read = next((READERS[key] for key in OVER_PARAMETERS if key in own), _finite)
            key = SHARED[read is _finite]
            if key in shared and key in own:
                raise InvalidInput(
                    f"{key} must be given either in each context or outside; got both."
                )
            games.append(read(own | ({key: shared[key]} if key in shared else {})))
        except InvalidInput as error:
            raise InvalidInput(f"contexts[{z}]: {error}") from None
        if key in shared:  # a parameter set is built once
            shared[key] = games[0].parameters if key == "parameters" else shared[key]
        used.add(key)
        names.append(str(entry.get("name", z)))
        chances.append(_exact(entry.get("probability")))
    for key in shared.keys() - used:
        raise InvalidInput(f"{key} must be left out, no context has any; got {brief(data[key])}.")
    return ContextualGame(tuple(games), _chances("contexts", chances), tuple(names))


def _segments(data: Mapping[str, Any]) -> SegmentedGame:
    known_keys("a game with segments", data, ("segments", "shared"))
    games: dict[str, Any] = {}
    chances = []
    for z, entry in enumerate(_sequence("segments", data["segments"])):
        try:
            if not isinstance(entry, Mapping):
                raise InvalidInput(f"must be a table of keys; got {brief(entry)}.")
            name = str(entry.get("name", z))
            if name in games:
                raise InvalidInput(f"name must be one that no other segment has; got {name!r}.")
            own = {key: entry[key] for key in entry if key not in ("name", "probability")}
            games[name] = game_from_dict(own)
        except InvalidInput as error:
            raise InvalidInput(f"segments[{z}]: {error}") from None
        chances.append(_exact(entry.get("probability")))
    return SegmentedGame(games, _exact(data.get("shared")), _chances("segments", chances))


def _chances(key: str, chances: list[Any]) -> list[Any] | None:
    """Return the probabilities that all entries have; None if none has any."""
    given = [chance is not None for chance in chances]
    if any(given) and not all(given):
        raise InvalidInput(
            f"{key}[{given.index(False)}] needs the key 'probability' like the others."
        )
    return chances if all(given) else None


def _read(path: Path) -> Any:
    """Parse a file by its ending."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput("no such file.") from None
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot be read: {error}.") from None
    try:
        match path.suffix:
            case ".json":
                return json.loads(text, object_pairs_hook=disk.each_key_once)
            case ".toml":
                return disk.parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"is not valid {path.suffix[1:].upper()}: {error}.") from None
    raise InvalidInput(f"a game file ends in .json, .toml or .csv; got {brief(path.suffix)}.")


def _exact(value: Any) -> Any:
    """Turn strings such as "1/3" anywhere in nested lists and tables into fractions."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, Mapping):
        return {key: own if key == "type" else _exact(own) for key, own in value.items()}
    if isinstance(value, str) and FRACTION.fullmatch(value):
        return Fraction(value)
    return value


def _exact_numbers(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a game with the fractions among their numbers; labels are kept."""
    return {key: value if key in LABELS else _exact(value) for key, value in data.items()}


def _symbol(value: Any) -> Hashable:
    """Return a symbol from a file, in which lists stand for tuples."""
    if isinstance(value, list):
        return tuple(map(_symbol, value))
    if type(value) not in WRITTEN:
        raise InvalidInput(
            f"signals must be strings, numbers or lists of them; got {brief(value)}."
        )
    return value  # type: ignore[no-any-return]


def _plain_symbol(symbol: Hashable) -> Any:
    if isinstance(symbol, tuple):
        return [_plain_symbol(item) for item in symbol]
    return _symbol(symbol)


def _sequence(key: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"{key} must be a list with at least one entry; got {brief(value)}.")
    return value


READERS: Mapping[str, Callable[[Mapping[str, Any]], AnyGame]] = {
    "contexts": _contextual,
    "segments": _segments,
    "signals": _finite,
    "rewards": _finite,
    "losses": _finite,
    "item_features": _dueling,
    "features": _linear,
    "oracle": _oracle,
    "kernel": kernel_game_from_dict,
    "reward_kernel": kernel_game_from_dict,
}
"""How to read a game, by the first of these keys that it has."""
