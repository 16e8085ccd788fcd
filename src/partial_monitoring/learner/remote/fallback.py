"""Decisions that are made without the service: the action that the caller named.

Nothing is kept of them: the id says all that is needed when the answer comes, days later or in
another process. It is signed with the token, so that who carries it in between cannot change it.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any
from uuid import uuid4

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.remote.address import Secret
from partial_monitoring.validation import brief

MARK = "fallback."

SIGNED = 16
"""Bytes of the signature."""


def new_id(token: Secret, study: str, label: Any, context: Any) -> str:
    """Return the id of a decision for an action in a context, given as plain data."""
    row = {"key": f"fallback-{uuid4().hex}", "action": label}
    row |= {} if context is None else {"context": context}
    content = json.dumps(row, separators=(",", ":")).encode()
    return MARK + urlsafe_b64encode(_signature(token, study, content) + content).decode()


def is_fallback(given: object) -> bool:
    """Whether a decision was made without the service, given by its id."""
    return isinstance(given, str) and given.startswith(MARK)


def row_of(token: Secret, study: str, given: str) -> dict[str, Any]:
    """Return key, action and context of a decision from its id."""
    try:
        found = urlsafe_b64decode(given.removeprefix(MARK).encode("ascii"))
        signature, content = found[:SIGNED], found[SIGNED:]
        if hmac.compare_digest(signature, _signature(token, study, content)):
            return dict(json.loads(content))
    except ValueError:
        pass
    raise InvalidInput(
        f"decision must be one of this study, made with this token; got {brief(given)}."
    )


def _signature(token: Secret, study: str, content: bytes) -> bytes:
    text = study.encode() + b"\0" + content
    return hmac.new(token.encode(), text, sha256).digest()[:SIGNED]
