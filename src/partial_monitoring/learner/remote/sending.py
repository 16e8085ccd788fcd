"""How answers reach a service: at once or, if it is away, from the outbox and in order."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner.remote.calls import Away, Refused, Service, encoded
from partial_monitoring.learner.remote.outbox import Outbox, Row

MOST_TOLD, LARGEST = 1000, 40_000
"""Largest number of answers in a request, and of their bytes."""

SHORTLY = 1.0
"""Seconds that are spent at most on what may as well be sent later."""

MOST_REFUSED = 1000
"""Largest number of refusals of what was sent later that are kept."""

Rows = Sequence[dict[str, Any]]

log = logging.getLogger("partial_monitoring")


class Sender:
    """Sends to one study; threads share it.

    Parameters
    ----------
    service, path
        The service, and the path of the study.
    outbox
        What waits to be sent: answers to fallbacks and, if it ``keeps`` them, all other answers.
    """

    def __init__(self, service: Service, path: str, outbox: Outbox, *, keeps: bool) -> None:
        self._service, self._path, self._outbox, self._keeps = service, path, outbox, keeps
        self.reopen()
        self.refused: deque[str] = deque(maxlen=MOST_REFUSED)
        self._do: dict[str, Callable[[Rows, float], list[str]]] = {
            "tell": self._tell,
            "history": self._past,
            "forget": self._forget,
        }

    def reopen(self) -> None:
        """Begin with locks of its own, as after a fork."""
        self._delivering = threading.Lock()
        self._outbox.reopen()

    @property
    def waits(self) -> bool:
        """Whether something waits to be sent."""
        return self._outbox.waits

    def __len__(self) -> int:
        return len(self._outbox)

    def post(self, verb: str, content: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Return the answer to a verb of the study."""
        return self._service.post(f"{self._path}/{verb}", content, deadline)

    def tell(self, rows: Rows, deadline: float) -> None:
        """Send answers; what is refused raises, all else is accepted."""
        later = [{"verb": "tell", "row": row} for row in rows]
        away = self._keeps and self._service.breaker.is_open
        if self._keeps and (away or self._outbox.waits):
            self._outbox.put(later)  # behind those that wait already
            if not away:
                self.deliver(min(deadline, monotonic() + SHORTLY))
            return
        try:
            refused = self._tell(rows, deadline)
        except Away:
            if not self._keeps:
                raise
            self._outbox.put(later)
            return
        if refused:
            rest = "" if len(rows) == 1 else f" ({len(refused)} of {len(rows)} were refused)"
            raise InvalidInput(f"{refused[0].rstrip('.')}{rest}.")
        self.deliver(deadline)

    def keep(self, verb: str, row: dict[str, Any], deadline: float) -> None:
        """Send something at the next opportunity, at once if the service is there."""
        self._outbox.put([{"verb": verb, "row": row}])
        if not self._service.breaker.is_open:
            self.deliver(min(deadline, monotonic() + SHORTLY))

    def deliver(self, deadline: float) -> bool:
        """Send what waits, in order, until a time; return whether nothing waits any more.

        What the service refuses is dropped, logged and kept in ``refused``.
        """
        while self._outbox.waits:
            if not self._delivering.acquire(blocking=False):
                return False  # another thread does
            try:
                if not self._deliver_some(deadline):
                    return False
            except StorageError:
                return False
            finally:
                self._delivering.release()
        return True

    def _deliver_some(self, deadline: float) -> bool:
        rows = self._outbox.first(MOST_TOLD)
        if not rows or monotonic() >= deadline:
            return not rows
        verb = rows[0]["verb"]
        count = next((i for i, row in enumerate(rows) if row["verb"] != verb), len(rows))
        if verb in self._do:
            for chunk in chunks(rows[:count]):
                for said in self._do[verb]([row["row"] for row in chunk], deadline):
                    self.refused.append(said)
                    log.warning("an answer that was sent later is refused: %s", said)
                self._outbox.sent(chunk)
        else:
            log.warning("a damaged line of the outbox is left out.")
            self._outbox.sent(rows[:count])
        return True

    def _tell(self, rows: Rows, deadline: float) -> list[str]:
        """Send answers, and return what is refused of them, in sentences."""
        if len(rows) == 1:
            try:
                self.post("tell", dict(rows[0]), deadline)
            except Refused as error:
                return [str(error)]
            return []
        refused = []
        for chunk in chunks(rows):
            found = self.post("tell", {"answers": list(chunk)}, deadline).get("answers")
            if not isinstance(found, list) or len(found) != len(chunk):
                raise self._service.unexpected("tell", found)
            bad = [own for own in found if not isinstance(own, dict) or "result" not in own]
            if bad:
                raise self._service.unexpected("tell", bad[0])
            refused += [str(own.get("detail")) for own in found if own["result"] == "refused"]
        return refused

    def _past(self, rows: Rows, deadline: float) -> list[str]:
        """Send logged data, and return what is refused; a row that is holds up no other one."""
        try:
            self.post("history", {"rows": list(rows)}, deadline)
        except Refused as error:
            if len(rows) == 1:
                return [str(error)]
            return [said for row in rows for said in self._past([row], deadline)]
        return []

    def _forget(self, rows: Rows, deadline: float) -> list[str]:
        """Cancel decisions that were asked for, but whose answers were lost."""
        for row in rows:
            try:
                found = self.post("ask", row, deadline).get("decisions") or []
                names = [own["id"] for own in found if isinstance(own, dict) and own.get("id")]
                if names:
                    self.post("cancel", {"decisions": names}, deadline)
            except Refused:
                pass  # paused, or cancelled already: there is nothing to forget
        return []


def chunks(
    rows: Sequence[Row], most: int = MOST_TOLD, largest: int = LARGEST
) -> Iterable[list[Row]]:
    """Yield rows in lists that fit into a request."""
    chunk: list[Row] = []
    size = 0
    for row in rows:
        length = len(encoded({name: x for name, x in row.items() if name != "line"}))
        if chunk and (size + length > largest or len(chunk) >= most):
            yield chunk
            chunk, size = [], 0
        chunk.append(row)
        size += length
    if chunk:
        yield chunk
