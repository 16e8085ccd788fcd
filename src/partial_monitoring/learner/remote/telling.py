"""What a client reports to a service: answers, corrections, logged data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import Any, TypeGuard
from uuid import uuid4

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import past
from partial_monitoring.learner.answers import refuse_repeated
from partial_monitoring.learner.clock import Now, seconds
from partial_monitoring.learner.contexts import Unlisted
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.observations import log_form, one_per_decision
from partial_monitoring.learner.remote import fallback
from partial_monitoring.learner.remote.base import RemoteBase
from partial_monitoring.learner.remote.calls import TIMEOUT
from partial_monitoring.learner.remote.sending import chunks
from partial_monitoring.learner.votes import UNSAID, Votes
from partial_monitoring.model.game import Game
from partial_monitoring.validation import brief, real_number

Named = Decision | str | int
"""A decision, or its id."""

MOST_PAST, LARGEST_PAST = 5000, 3_000_000
"""Largest number of rows of logged data in a request, and of their bytes."""

LONGEST_TIMEOUT = 3600.0

SAID = "said by a client"
"""The reason that is stored unless one is given."""


class Telling(RemoteBase):
    """A client that reports."""

    def tell(
        self,
        decision: Named | Sequence[Named],
        observation: Any = UNSAID,
        *,
        action: Any = None,
        wins: int | None = None,
        of: int | None = None,
        now: Now = None,
        timeout: float | None = None,
    ) -> None:
        """Report what was observed after a decision, given itself or by its id, in any order.

        What was told before is accepted again, and changes nothing; another answer is refused. Of a
        list of decisions each is accepted or refused on its own, and refusals raise at the end. If
        the service is away, answers to fallbacks wait until it is back; all others raise unless
        there is an ``outbox``, where they wait.

        Parameters
        ----------
        decision, observation, action, wins, of, now
            As for :meth:`Learner.tell`.
        timeout
            Seconds that all tries take together at most; 10 unless given.
        """
        if wins is not None or of is not None:
            observation = Votes.told(observation, wins, of)
        elif observation is UNSAID:
            raise InvalidInput("observation must be given, or wins and of in a duel.")
        deadline = deadline_of(timeout)
        if are_several(decision):
            given = {"observation": observation} | ({} if action is None else {"action": action})
            rows = one_per_decision([name_of(own) for own in decision], given)
            refuse_repeated([row["decision"] for row in rows])
        else:
            rows = [{"decision": name_of(decision), "observation": observation, "action": action}]
        time = {} if now is None else {"now": seconds(now)}
        ready = []
        for row in rows:
            plain = {name: x for name, x in row.items() if x is not None}
            plain["observation"] = _plain(row["observation"])
            ready.append(plain | time)
        for row in ready:
            if fallback.is_fallback(row["decision"]):
                self._tell_fallback(row, deadline)
        own = [
            row | {"key": uuid4().hex} for row in ready if not fallback.is_fallback(row["decision"])
        ]
        if own:
            self._sender.tell(own, deadline)

    def _tell_fallback(self, told: Mapping[str, Any], deadline: float) -> None:
        """Send the answer to a fallback as logged data; no answer is none."""
        row = fallback.row_of(self._secret, self._name, told["decision"])
        if "action" in told and told["action"] not in (row["action"], self._number(row["action"])):
            raise InvalidInput(
                f"action must be that of the decision, {brief(row['action'])}; got "
                f"{brief(told['action'])}."
            )
        if told["observation"] is not None:
            self._sender.keep("history", row | {"observation": told["observation"]}, deadline)

    def _number(self, label: str) -> int | None:
        return self._numbers.get(label)

    def flush(self, *, timeout: float | None = None) -> int:
        """Send what waits in the outbox, and return how many rows still wait.

        Every ``ask`` and ``tell`` that succeeds does so, too.
        """
        self._sender.deliver(deadline_of(timeout))
        return len(self._sender)

    @property
    def refused(self) -> list[str]:
        """Why answers that were sent later were refused, the latest 1,000, in sentences."""
        return list(self._sender.refused)

    def cancel(self, decision: Named | Sequence[Named]) -> None:
        """Close a decision, or a list of them, whose action was never taken: it does not count."""
        given = list(decision) if are_several(decision) else [decision]
        names = [name_of(own) for own in given]
        refuse_repeated(names)
        names = [name for name in names if not fallback.is_fallback(name)]
        if names:
            self._do("cancel", {"decisions": names})

    def activate(self, decision: Named | Sequence[Named]) -> None:
        """Let the time begin in which decisions that were asked for with ``hold`` are answered."""
        given = list(decision) if are_several(decision) else [decision]
        self._do("activate", {"decisions": [name_of(own) for own in given]})

    def amend(
        self, decision: Named | Sequence[Named], observation: Any, *, reason: str = SAID
    ) -> None:
        """Correct the answer to a decision, or to several, one after the other.

        Parameters
        ----------
        decision, observation
            As for :meth:`Learner.amend`.
        reason
            Why, for those who read the log.
        """
        if are_several(decision):
            names = [name_of(own) for own in decision]
            rows = one_per_decision(names, {"observation": observation})
        else:
            rows = [{"decision": name_of(decision), "observation": observation}]
        for row in rows:
            if fallback.is_fallback(row["decision"]):
                raise InvalidInput("a fallback cannot be amended, since it is no decision there.")
            self._do("amend", row | {"observation": _plain(row["observation"]), "reason": reason})

    def reset(self, *, reason: str = SAID) -> None:
        """Forget what was learned, because the world has changed, with the reason for the log."""
        self._do("reset", {"reason": reason})

    def tell_past(
        self,
        actions: Any,
        observations: Iterable[Any] | None = None,
        contexts: Iterable[Any] | None = None,
        *,
        counts: Iterable[int] | None = None,
        weights: Iterable[float] | None = None,
        probabilities: Iterable[float] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Start from logged data, as :meth:`Learner.tell_past` does.

        Rows are sent 5,000 at a time. If some are refused, no row of that request is learned from,
        but those of earlier requests are.
        """
        given = {"actions": actions, "observations": observations, "contexts": contexts}
        given |= {"counts": counts, "weights": weights, "probabilities": probabilities}
        rows, base = past.read_rows(given, columns), uuid4().hex
        ready = []
        for number, row in enumerate(rows):
            plain = {name: x for name, x in row.items() if x is not None}
            plain |= {"observation": _plain(row["observation"]), "key": f"{base}-{number}"}
            if "context" in plain:
                plain["context"] = plain_context(plain["context"])
            ready.append(plain)
        for chunk in chunks(ready, MOST_PAST, LARGEST_PAST):
            self._sender.post("history", {"rows": chunk}, deadline_of(None))

    def _do(self, verb: str, content: dict[str, Any]) -> None:
        self._sender.post(verb, content | {"key": uuid4().hex}, deadline_of(None))


def are_several(decision: Any) -> TypeGuard[Sequence[Named]]:
    """Whether decisions are given as a list."""
    return isinstance(decision, Sequence) and not isinstance(decision, (Decision, str))


def name_of(decision: Any) -> str:
    """Return the id of a decision that is given itself, or by its id."""
    found = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(found, str):
        raise InvalidInput(f"decision must be a decision or its id; got {brief(decision)}.")
    return found


def plain_context(context: Any) -> Any:
    """Return a context as plain data: its label, its number, or a dict that describes it."""
    if context is None or isinstance(context, str | int | Mapping | np.integer):
        return context
    if not isinstance(context, Game):
        raise InvalidInput(f"context must be a label, a number or a game; got {brief(context)}.")
    return Unlisted(context).written()


def _plain(observation: Any) -> Any:
    """Return an observation as plain data; a signal that is not finite as {"float": "inf"}."""
    scalar = not isinstance(observation, Sequence) or isinstance(observation, str)
    try:
        return log_form(observation, signal=scalar and getattr(observation, "ndim", 0) == 0)
    except RecursionError:
        raise InvalidInput("observation must be a signal or a vector.") from None


def deadline_of(timeout: float | None) -> float:
    """Return the time of the monotonic clock at which a call ends."""
    given = TIMEOUT if timeout is None else real_number("timeout", timeout)
    if not 0 < given <= LONGEST_TIMEOUT:
        raise InvalidInput(
            f"timeout must be more than 0 and at most {LONGEST_TIMEOUT:g} seconds; got {given:g}."
        )
    return monotonic() + given
