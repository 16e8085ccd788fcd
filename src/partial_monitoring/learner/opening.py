"""A learner whose log is a study of a database: it is opened if it is there, or else created.

What plays is kept with the study. Whoever opens it need not say it again; what is said must agree.
"""

from __future__ import annotations

from typing import Any

from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner.answers import check_window
from partial_monitoring.learner.spec import Spec
from partial_monitoring.learner.window import Window, window_settings
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.on_device import on_host
from partial_monitoring.policies.policy import PENDING
from partial_monitoring.storage.base import Storage
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.opened import AnyStorage, database_at, is_address, storage_of
from partial_monitoring.validation import boolean, brief, one_of

DEFAULTS = {"allow_hopeless": False, "pending": "expected"}
"""The settings of a learner that says nothing about them."""

DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
"""What reading a spec may end in that no learner has written."""


def settings_of(
    *, allow_hopeless: bool = False, pending: str = "expected", window: Window | None = None
) -> dict[str, Any]:
    """Return the arguments of a learner that are kept as plain data."""
    return {
        "allow_hopeless": boolean("allow_hopeless", allow_hopeless),
        "pending": one_of("pending", pending, PENDING),
    } | window_settings(window)


def only_with_service(**given: Any) -> None:
    """Refuse arguments of a client; what they are is not shown."""
    for argument, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{argument} must be left out unless storage is the address of a service, as in "
                f"storage='https://decide.corp:8787'."
            )


def opened(
    arguments: dict[str, Any], settings: dict[str, Any], storage: AnyStorage, name: str | None
) -> tuple[Spec, Storage]:
    """Return what plays and where its log is, from the arguments of a learner.

    ``arguments`` are those of a spec, ``settings`` those of them that are kept as plain data.
    """
    if not is_address(storage):
        if arguments["game"] is None:
            raise InvalidInput("game must be given unless storage is a database that knows it.")
        return made(arguments, settings), storage_of(storage, name)
    if name is None:
        raise InvalidInput(
            "name must be given with the address of a database, as in name='pricing'."
        )
    database = database_at(str(storage))
    study = database.study(name)
    if study is None:
        if arguments["game"] is None:
            raise InvalidInput(
                f"game must be given: {database.address} has no study {brief(name)} yet."
            )
        study = database.study(name, written(made(arguments, settings)))
    assert study is not None
    spec = spec_of(database, name)
    compare(f"study {brief(name)} of {database.address}", spec, arguments, settings)
    return spec, study


def spec_of(database: Database, name: str) -> Spec:
    """Return what plays in a study that is there."""
    study = database.study(name)
    if study is None:
        raise StorageError(f"{database.address}: has no study {brief(name)}.")
    try:
        return Spec.from_dict(study.spec)
    except DAMAGE as error:
        raise StorageError(
            f"{database.address}: what plays in study {brief(name)} cannot be read: "
            f"{str(error).rstrip('.')}."
        ) from None


def made(arguments: dict[str, Any], settings: dict[str, Any]) -> Spec:
    """Return what plays from the arguments of a learner; what cannot is refused."""
    spec = Spec(**arguments, settings=settings)
    check_window(spec)
    if not settings["allow_hopeless"]:
        refuse_hopeless(spec.game)
    return spec


def written(spec: Spec) -> dict[str, Any]:
    """Return a spec as plain data, or refuse parts that cannot be kept."""
    try:
        return spec.to_dict()
    except InvalidInput as error:
        raise InvalidInput(
            f"{str(error).rstrip('.')}; with parts of your own, keep the log in a file, as in "
            f"storage='log.ndjson'."
        ) from None


def compare(where: str, own: Spec, arguments: dict[str, Any], settings: dict[str, Any]) -> None:
    """Refuse arguments that say something else than a study; what is left out says nothing."""
    said = {key: value for key, value in settings.items() if value != DEFAULTS.get(key)}
    policy, probe = arguments["policy"], arguments["probe"]
    given = Spec(
        own.game if arguments["game"] is None else arguments["game"],
        on_host(own.policy) if policy is None and not probe else policy,
        own.seed if _is_zero(arguments["seed"]) else arguments["seed"],
        own.settings | said,
        probe=probe,
        device=arguments["device"],
    )
    before, now = written(own), written(given)
    if before["game"] != now["game"]:
        raise InvalidInput(f"{where} plays {_other(own.game, given.game)}.")
    for name in ("policy", "seed", "settings"):
        if before[name] != now[name]:
            raise InvalidInput(
                f"{where} has another {name.removesuffix('s')}, {brief(before[name])}; got "
                f"{brief(now[name])}."
            )


def _is_zero(seed: object) -> bool:
    """Whether a seed was left out, as far as one can tell."""
    return type(seed) is int and seed == 0


def _other(own: AnyGame, given: AnyGame) -> str:
    """Return how two games differ, in words."""
    for what, one, two in (("actions", own.k, given.k), ("parameters", own.d, given.d)):
        if one != two:
            return f"a game with {one} {what}; got one with {two}"
    return f"another game, {brief(own)}; leave game out, or choose another name"
