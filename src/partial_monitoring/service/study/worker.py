"""A process that decides for a study that is slow to decide; see ``apart.py``.

It holds a copy of what the study knows, folded from the same events, and answers one line of JSON
with another: what the policy decides there. It stores nothing, and ends when nobody writes to it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.storage.base import plain


class Replica:
    """Copies of a study: after what is stored, and after what may be.

    Parameters
    ----------
    spec
        What plays.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._known: dict[int, Session] = {0: spec.start}

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Fold events after one that is known, and decide: one more step.

        ``after`` is the number of that event, ``keep`` that of the last one that is stored.
        """
        begun = perf_counter()
        if asked.get("snapshot") is not None:
            session = steps.restore(self._spec, asked["snapshot"])
            self._known[session.seq] = session
        elif asked.get("anew"):
            session = steps.folded(self._spec, asked["events"])
            self._known[session.seq] = session
        if asked["after"] not in self._known:
            return {"unknown": asked["after"]}
        session = self._known[asked["after"]]
        for event in () if asked.get("anew") else asked["events"]:
            session = steps.fold(self._spec, session, event)
        step = steps.decide(self._spec, session, asked["request"])
        step.event.update(asked["more"])  # whether it is held matters to what follows
        session = steps.advance(self._spec, session, step)
        self._known = {seq: x for seq, x in self._known.items() if seq == asked["keep"]}
        self._known[session.seq] = session
        return {"event": plain(step.event), "seconds": perf_counter() - begun}


def main() -> None:
    """Answer line after line."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    sys.stdout = sys.stderr  # whatever is printed must not come between
    replica = Replica(Spec.from_dict(json.loads(sys.stdin.readline())))
    print("{}", file=out, flush=True)
    for line in sys.stdin:
        try:
            found = replica.answer(json.loads(line))
        except InvalidInput as error:
            found = {"refused": str(error)}
        except Exception as error:
            found = {"failed": repr(error)}
        print(json.dumps(found), file=out, flush=True)
    os._exit(0)  # there is nothing to tidy up


if __name__ == "__main__":
    main()
