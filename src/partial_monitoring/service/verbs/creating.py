"""Studies that are created through the service, from plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from partial_monitoring import games, policies
from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.answers import check_window
from partial_monitoring.learner.spec import Spec
from partial_monitoring.learner.window import Window, window_settings
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.files import game_from_dict
from partial_monitoring.policies.policy import PENDING, Policy
from partial_monitoring.service.arguments import key_of, only
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.verbs.managing import checked_settings
from partial_monitoring.storage.database import Database
from partial_monitoring.validation import boolean, brief, one_of, real_number

CREATE = (
    *("name", "game", "policy", "seed", "window", "probe", "allow_hopeless", "pending"),
    *("settings", "key"),
)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
"""Shorter than the longest name of a study, so that an edition can have a number."""

GAME = ("file", "named", "table", "options")


def created(database: Database, given: dict[str, Any], actor: str) -> None:
    """Create a study, once.

    One that is there is the same if it was created with the same key, whatever became of it since
    then, or if the same plays there; otherwise it is refused.
    """
    only("create", given, CREATE, ("name", "game"))
    name = given["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"name must be 1 to 60 of the letters A-Z, a-z, 0-9, '.', '_' and '-', the first "
            f"neither '.', '_' nor '-'; got {brief(name)}."
        )
    key, spec = key_of(given), spec_from(given)
    settings = checked_settings(given.get("settings", {}), spec.game)
    written = json.loads(json.dumps(spec.to_dict()))
    study = database.study(name, written)
    assert study is not None
    before = study.row.settings
    begun = study.version or "created_by" in before
    if not begun and study.spec == written:  # it is new, or who created it got no further
        origin = {"key": key, "spec": _digest(written)}
        study.set(settings=before | settings | {"created_by": actor, "created": origin})
        return
    origin = before.get("created", {})
    if key is not None and origin.get("key") == key:
        if origin["spec"] != _digest(written):
            raise Problem(409, f"key {brief(key)} was used to create another study {name!r}.")
    elif study.spec != written:
        raise Problem(409, f"there is a study {name!r} already.")


def _digest(written: Any) -> str:
    return sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()


def spec_from(given: Mapping[str, Any]) -> Spec:
    """Return what plays, from plain data."""
    hopeless = boolean("allow_hopeless", given.get("allow_hopeless", False))
    pending = one_of("pending", given.get("pending", "expected"), PENDING)
    settings = {"allow_hopeless": hopeless, "pending": pending}
    if given.get("window") is not None:
        settings |= window_settings(Window.from_dict(given["window"]))
    game, policy = game_from(given["game"]), policy_from(given.get("policy"))
    probe = real_number("probe", given.get("probe", 0.0))
    spec = Spec(game, policy, given.get("seed", 0), settings, probe=probe)
    check_window(spec)
    if not hopeless:
        refuse_hopeless(spec.game)
    return spec


def game_from(given: Any) -> AnyGame:
    """Return a game from the content of its file, its name with options, or a table."""
    only("game", given, GAME)
    names = set(given)
    if names in ({"file"}, {"table"}):
        name = names.pop()
        if not isinstance(given[name], Mapping):
            raise InvalidInput(
                f"{name} must be an object, the content of a game file; got {brief(given[name])}."
            )
        return game_from_dict(given[name])
    if {"named"} <= names <= {"named", "options"}:
        options = given.get("options") or {}
        if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
            raise InvalidInput(f"options must be an object; got {brief(options)}.")
        return games.make(given["named"], **options)
    raise InvalidInput(
        f"game must have one of 'file', 'named' (with 'options') and 'table'; got {brief(given)}."
    )


def policy_from(given: Any) -> Policy[Any] | None:
    """Return a policy from its name, or from an object with its name and options."""
    if given is None:
        return None
    if isinstance(given, str):
        return policies.make(given)
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise InvalidInput(
            f"policy must be a name, or an object with 'name' and options; got {brief(given)}."
        )
    options = {str(key): value for key, value in given.items() if key != "name"}
    return policies.policy_from_dict(options | {"policy": given["name"]})
