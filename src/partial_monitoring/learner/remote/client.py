"""The client of a service, with the interface of a learner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, overload
from uuid import uuid4

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner.clock import Now, seconds
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.remote import fallback as fallbacks
from partial_monitoring.learner.remote.calls import Away, Refused
from partial_monitoring.learner.remote.decisions import RemoteDecision, is_decision, read_why
from partial_monitoring.learner.remote.telling import Telling, deadline_of, plain_context
from partial_monitoring.learner.spec import Spec
from partial_monitoring.validation import brief, items, whole_number

Available = Iterable[int | str] | None

Made = Decision | list[Decision]

MOST_ASKED = 1000
"""Largest number of decisions that are asked for at once."""


class Client(Telling):
    """The methods of a learner whose decisions a service makes."""

    @overload
    def ask(
        self,
        *,
        context: object = None,
        available: Available = None,
        now: Now = None,
        key: str | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
        hold: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> Decision: ...
    @overload
    def ask(
        self,
        *,
        context: object = None,
        available: Available = None,
        count: int,
        now: Now = None,
        key: str | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
        hold: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> list[Decision]: ...
    def ask(
        self,
        *,
        context: object = None,
        available: Available = None,
        count: int | None = None,
        now: Now = None,
        key: str | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
        hold: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> Decision | list[Decision]:
        """Return the next decision, or a list of the next ones, which the service makes.

        Parameters
        ----------
        context, available, count
            As for :meth:`Learner.ask`; ``count`` is at most 1,000.
        now
            The time of the decision, which is not in the future.
        key
            What the decision is for, as in "customer-17/2026-11": the same key has the same
            decision, for ever. Unless given, every call has a key of its own.
        timeout
            Seconds that all tries take together at most; 10 unless given.
        fallback
            The action to play, by its label, if the service does not answer in time or the study is
            paused: then the decision is marked as a ``fallback``. What is told of it is sent as
            logged data when the service is back.
        hold
            Whether the time in which an answer is awaited begins with ``activate``.
        meta
            A few entries of plain data that are stored with the decision.
        """
        deadline = deadline_of(timeout)
        if count is not None:
            whole_number("count", count, at_least=1, at_most=MOST_ASKED)
        own_key = uuid4().hex if key is None else _key(key)
        content: dict[str, Any] = {"key": own_key, "hold": hold or None, "meta": meta}
        content |= {"context": plain_context(context), "count": count}
        content["available"] = (
            None if available is None else items("available", available, " of actions")
        )
        content["now"] = None if now is None else seconds(now)
        content = {name: value for name, value in content.items() if value is not None}
        if fallback is None:
            return self._asked(content, count, deadline)
        label = _label(fallback, content.get("available"))
        if self._service.breaker.is_open:
            return self._instead(label, content.get("context"), count)
        try:
            return self._asked(content, count, deadline)
        except Away as error:
            if error.sent and key is None:  # it may have been made: nobody will answer it
                with suppress(StorageError):  # there is no room for that
                    self._sender.keep("forget", content, 0.0)
        except Refused as error:
            if error.status != 409 or not (key is None or "paused" in str(error)):
                raise
        return self._instead(label, content.get("context"), count)

    def _asked(self, content: dict[str, Any], count: int | None, deadline: float) -> Made:
        found = self._sender.post("ask", content, deadline).get("decisions")
        if not isinstance(found, list) or len(found) != (count or 1):
            raise self._service.unexpected("ask", found)
        made: list[Decision] = [self._made(row, content.get("context")) for row in found]
        if self._sender.waits:
            self._sender.deliver(deadline)
        return made[0] if count is None else made

    def _made(self, row: Any, context: Any) -> RemoteDecision:
        if isinstance(row, dict) and row.get("fallback") is True and row.get("id") is None:
            row = row | {"id": fallbacks.new_id(self._secret, self._name, row["label"], context)}
        if not is_decision(row):
            raise self._service.unexpected("ask", row)
        name, label, action = row["id"], row["label"], row["action"]
        if row.get("fallback") is True:
            return RemoteDecision.instead(name, action, label, context)
        self._numbers[label] = action

        def fetch(group: str) -> Mapping[str, Any]:
            return self._why(name, label) if group == "why" else self._parts(context, action)

        return RemoteDecision.made(row, fetch)

    def _why(self, name: str, label: str) -> Mapping[str, Any]:
        path = f"{self._path}/decisions/{name}/why"
        found = self._service.get(path)
        try:
            return read_why(found, label)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise self._service.unexpected(path, found) from None

    def _parts(self, context: Any, action: int) -> Mapping[str, Any]:
        spec: Spec = self._spec
        parts: dict[str, Any] = spec.read_context(context).game.described(action)
        return dict.fromkeys(("first", "second", "settings")) | parts

    def _instead(self, label: str, context: Any, count: int | None) -> Made:
        """Return decisions for the fallback."""
        made: list[Decision] = [
            RemoteDecision.instead(
                fallbacks.new_id(self._secret, self._name, label, context),
                self._numbers.get(label, -1),
                label,
                context,
            )
            for _ in range(count or 1)
        ]
        return made[0] if count is None else made


def _key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= 200 or not key.isprintable():
        raise InvalidInput(f"key must be a text of 1 to 200 letters; got {brief(key)}.")
    return key


def _label(given: object, available: list[Any] | None) -> str:
    if not isinstance(given, str) or not given:
        raise InvalidInput(f"fallback must be the label of an action; got {brief(given)}.")
    if (
        available is not None
        and given not in available
        and all(isinstance(own, str) for own in available)
    ):
        raise InvalidInput(f"fallback must be one of available; got {brief(given)}.")
    return given
