"""Studies that a client opens with a game: created if they are not there, compared if they are."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any
from uuid import uuid4

from partial_monitoring.learner.opening import compare, made, written
from partial_monitoring.learner.remote.calls import Refused, Service
from partial_monitoring.learner.spec import Spec
from partial_monitoring.validation import brief

TIMEOUT = 120.0
"""Seconds that it may take to create a study: the service may have to compile for it first."""


def opened(
    service: Service,
    path: str,
    name: str,
    given: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Spec:
    """Return what plays in a study; it is created, with a token of an administrator, if need be."""
    try:
        own = spec_at(service, path)
    except Refused as error:
        if error.status != 404:
            raise
        _create(service, name, dict(given), dict(settings))
        return spec_at(service, path)
    compare(f"study {brief(name)} of {service.address}", own, dict(given), dict(settings))
    return own


def spec_at(service: Service, path: str) -> Spec:
    """Return what plays in a study that is there."""
    found = service.get(f"{path}/spec")
    try:
        return Spec.from_dict(found)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise service.unexpected(f"{path}/spec", found) from None


def _create(service: Service, name: str, given: dict[str, Any], settings: dict[str, Any]) -> None:
    plays = written(made(given, settings))
    policy = dict(plays["policy"])
    content = {
        "name": name,
        "game": {"file": plays["game"]},
        "policy": {"name": policy.pop("policy"), **policy},
        "seed": plays["seed"],
        "key": uuid4().hex,
        **plays["settings"],
    }
    service.post("/v1/studies", content, monotonic() + TIMEOUT)
