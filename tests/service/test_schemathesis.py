"""Schemathesis against the OpenAPI file: no 500, no answer that the file does not describe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from partial_monitoring.service.http.limits import Limits
from partial_monitoring.service.server import Serving, started
from tests.service.http_client import Client

STUDIES = ("pricing", "0", "A")

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]

FILE = Path(__file__).parents[2] / "src/partial_monitoring/service/http/openapi.json"
IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
EXAMPLES = 100 if IS_NIGHTLY else 8

pytestmark = [pytest.mark.nightly] if IS_NIGHTLY else []  # so that it is run then, too


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    url = f"sqlite:///{tmp_path_factory.mktemp('schemathesis')}/shop.db"
    with started(url, limits=Limits(rate=1e6, answer=60.0)) as found:
        client = Client(found.address, found.token)
        for name in STUDIES:
            client.create(name)
            for decision in client.ask(name, count=5)[1:]:
                told = {"decision": decision["id"], "observation": "yes"}
                client("POST", f"/v1/studies/{name}/tell", told)
        yield found


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


schema = schemathesis.openapi.from_path(FILE)
schema.config.phases.coverage.enabled = IS_NIGHTLY  # with bodies as long as they may be


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_path_answers_as_described(case: Any, serving: Serving) -> None:
    wanted = list(CHECKS)
    if "study" in (given := dict(case.path_parameters or {})) and given["study"] not in STUDIES:
        case.path_parameters = given | {"study": STUDIES[0]}  # most others are not there
        wanted.remove(checks.negative_data_rejection)  # that may have been all that was wrong
    elif any(value in ([], {}) for value in dict(case.query or {}).values()):
        wanted.remove(checks.negative_data_rejection)  # of which nothing is sent
    headers = {"Authorization": f"Bearer {serving.token}"}
    case.call_and_validate(base_url=serving.address, headers=headers, checks=wanted, timeout=60)
