"""Experiment files: TOML that names games, true parameters, policies, a horizon and seeds.

The format is described in ``docs/experiments.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from partial_monitoring import disk
from partial_monitoring import games as game_registry
from partial_monitoring import policies as policy_registry
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.experiment import Experiment
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.files import load_game
from partial_monitoring.simulation.truths import read_truth
from partial_monitoring.validation import brief, file_path, known_keys, whole_number

LATE = ("delay", "batch", "pending")
KEYS = ("name", "horizon", "seeds", "checkpoints", "noise", "probe", *LATE, "games", "policies")
GAME_KEYS = ("game", "options", "theta", "instances")
POLICY_KEYS = ("policy", "options", "seeds")


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a .toml file."""
    source = file_path(path)
    with _at(str(source)):
        try:
            data = disk.parse_toml(source.read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidInput(f"cannot be read: {error.strerror}.") from None
        except (ValueError, RecursionError) as error:  # too many digits, nested too deeply
            raise InvalidInput(f"is not TOML: {error}.") from None
        return experiment_from_dict(data, name=source.stem, folder=source.parent)


def experiment_from_dict(
    data: Mapping[str, Any], *, name: str = "experiment", folder: Path = Path()
) -> Experiment:
    """Build an experiment from the content of a file; game files are relative to the folder."""
    known_keys("an experiment", data, KEYS)
    for key in ("horizon", "seeds", "games"):
        if key not in data:
            raise InvalidInput(f"{key} is missing.")
    games: dict[str, AnyGame] = {}
    theta: dict[str, Any] = {}
    for label, entry in _entries("games", data["games"], "game").items():
        with _at(f"games.{label}"):
            games[label], theta[label] = _read_game(label, entry, folder)
    policies, fewer = {}, {}
    chosen = data.get("policies", [policy_registry.DEFAULT])
    for label, entry in _entries("policies", chosen, "policy").items():
        with _at(f"policies.{label}"):
            known_keys("a policy", entry, POLICY_KEYS)
            options = _table("options", entry.get("options", {}))
            policies[label] = policy_registry.make(entry.get("policy", label), **options)
            if "seeds" in entry:
                fewer[label] = whole_number("seeds", entry["seeds"], at_least=1)
    return Experiment(
        games,
        policies,
        theta,
        horizon=data["horizon"],
        seeds=data["seeds"],
        checkpoints=data.get("checkpoints"),
        noise=data.get("noise"),
        probe=data.get("probe", 0.0),
        **{key: data[key] for key in LATE if key in data},
        fewer_seeds=fewer,
        name=data.get("name", name),
    )


def _read_game(label: str, entry: Mapping[str, Any], folder: Path) -> tuple[AnyGame, Any]:
    """Return a game and its true parameters."""
    known_keys("a game", entry, GAME_KEYS)
    called = entry.get("game", label)
    options = _table("options", entry.get("options", {}))
    if isinstance(called, str) and Path(called).suffix in (".json", ".toml", ".csv"):
        if options:
            raise InvalidInput(f"options are for games by name; got {dict(options)}.")
        found = load_game(folder / called)
    else:
        found = game_registry.make(called, **options)
    if "instances" not in entry:
        with _at("theta"):
            return found, read_truth(entry.get("theta", "random"), found, folder=folder)
    if "theta" in entry:
        raise InvalidInput("has both theta and instances; give only one of them.")
    instances = {}
    for name, value in _table("instances", entry["instances"]).items():
        with _at(f"instances.{name}"):
            instances[name] = read_truth(value, found, folder=folder)
    return found, instances


def _entries(key: str, value: Any, kind: str) -> dict[str, Mapping[str, Any]]:
    """Return the tables of games or policies by label; a list of names means no options."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        for name in value:
            if not isinstance(name, str):
                raise InvalidInput(f"{key} must be a table, or a list of names; got {brief(name)}.")
        if len(set(value)) < len(value):
            raise InvalidInput(f"{key} must have different names; got {list(value)}.")
        value = {name: {} for name in value}
    entries = _table(key, value)
    if not entries:
        raise InvalidInput(f"{key} must hold at least one {kind}; got none.")
    return {label: _table(f"{key}.{label}", entry) for label, entry in entries.items()}


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{key} must be a table; got {brief(value)}.")
    return value


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Prefix error messages with a location."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
