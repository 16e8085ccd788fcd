"""Clients that ask and tell over HTTP, come again until they are answered, and write that down."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from threading import Event, Thread
from time import monotonic, perf_counter, sleep
from typing import Any
from urllib.parse import urlsplit

from click.testing import CliRunner

from partial_monitoring.cli import main
from partial_monitoring.storage.opened import database_at
from tests.service import load

CLIENTS = 12

PATIENCE = 60.0
"""Seconds within which a request must be answered, whatever happens to servers."""

AGAIN = (429, 503)
"""What is asked again with the same key."""


class Caller:
    """Requests over a connection that is kept, to one of some servers."""

    def __init__(self, addresses: Sequence[str], token: str, first: int = 0) -> None:
        self._addresses, self._turn = addresses, first
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection: HTTPConnection | None = None
        self.statuses = Counter[int]()

    def once(self, path: str, body: Any) -> tuple[int, Any]:
        """Send a request, and return status and answer; what is lost is an error."""
        if self._connection is None:
            place = urlsplit(self._addresses[self._turn % len(self._addresses)])
            self._connection = HTTPConnection(place.hostname or "", place.port, timeout=30)
        try:
            self._connection.request("POST", path, json.dumps(body), self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
            found = answer.status, json.loads(text)
        except (OSError, HTTPException, ValueError):
            self.close()
            self._turn += 1
            raise
        self.statuses[found[0]] += 1
        return found

    def surely(self, path: str, body: Any) -> tuple[Any, bool]:
        """Send a request until it is answered; also return whether that took several tries."""
        end, again = monotonic() + PATIENCE, False
        while True:
            try:
                status, found = self.once(path, body)
                if status == 200:
                    return found, again
                assert status in AGAIN, found
            except (OSError, HTTPException, ValueError):
                sleep(0.005)
            else:
                sleep(0.02)
            again = True
            assert monotonic() < end, f"{path} is not answered any more"

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Player(Thread):
    """Plays a study until it is told to end, and knows what was acknowledged."""

    def __init__(self, load: Load, number: int, addresses: Sequence[str], token: str) -> None:
        super().__init__(daemon=True)
        self._load, self._own = load, str(number)
        self._rng = random.Random(number)
        self.caller = Caller(addresses, token, number)
        self.asked: dict[str, list[str]] = {}
        """The decisions of every key."""
        self.told: dict[str, str] = {}
        """What was observed after decisions."""
        self.again = 0
        """How many requests were lost and asked again, and had been stored."""
        self.seconds: list[float] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            turn = 0
            while not self._load.ending.is_set():
                self._round(f"{self._own}/{turn}")
                turn += 1
        except BaseException as error:
            self.error = error
            self._load.ending.set()
        finally:
            self.caller.close()

    def _round(self, key: str) -> None:
        """Ask, now and then for several or twice, and tell, now and then twice."""
        rng, path = self._rng, f"/v1/studies/{self._load.study}"
        given: dict[str, Any] = {"key": key}
        if rng.random() < 0.1:
            given["count"] = 3
        begun = perf_counter()
        found, again = self.caller.surely(f"{path}/ask", given)
        self.seconds.append(perf_counter() - begun)
        names = [own["id"] for own in found["decisions"]]
        self.asked[key] = names
        repeated = [own["repeated"] for own in found["decisions"]]
        assert len(names) == given.get("count", 1)
        assert len(set(repeated)) == 1
        assert again or not repeated[0]
        self.again += repeated[0]
        if rng.random() < 0.15:
            twice, _ = self.caller.surely(f"{path}/ask", given)
            assert [own["id"] for own in twice["decisions"]] == names
            assert all(own["repeated"] for own in twice["decisions"])
        if rng.random() < 0.1:
            return  # nobody observed anything
        answers = [{"decision": own, "observation": "yes"} for own in names]
        for turn in range(2 if rng.random() < 0.15 else 1):
            single = len(answers) == 1
            body = answers[0] if single else {"answers": answers}
            found, again = self.caller.surely(f"{path}/tell", body)
            results = {own["result"] for own in found["answers"]}
            assert results == {"told"} or (results == {"duplicate"} and (again or turn)), found
            self.again += "duplicate" in results and not turn
            self.told |= dict.fromkeys(names, "yes")


class Load:
    """Players of one study."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str,
        study: str = "pricing",
        count: int = CLIENTS,
        first: int = 0,
    ) -> None:
        self.study, self.ending = study, Event()
        numbers = range(first, first + count)
        self.players = [Player(self, number, addresses, token) for number in numbers]

    @property
    def count(self) -> int:
        """Number of requests that were acknowledged."""
        return sum(len(own.asked) + len(own.told) for own in self.players)

    @property
    def statuses(self) -> Counter[int]:
        return sum((own.caller.statuses for own in self.players), Counter[int]())

    @property
    def seconds(self) -> list[float]:
        """How long asks took, sorted."""
        return sorted(own for player in self.players for own in player.seconds)

    def wait(self, more: int) -> None:
        """Wait for so many other requests."""
        end, target = monotonic() + PATIENCE, self.count + more
        while self.count < target and not self.ending.is_set():
            assert monotonic() < end, "nothing is acknowledged any more"
            sleep(0.005)

    def check(self, events: list[dict[str, Any]]) -> None:
        """Compare what was acknowledged with a log: nothing is lost, nothing is twice."""
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        asks = [event for event in events if event["kind"] == "ask"]
        tells = [event for event in events if event["kind"] == "tell"]
        for found in (asks, tells):
            assert max(Counter(event["decision"] for event in found).values()) == 1
        by_key = {event["key"]: place for place, event in enumerate(asks) if "key" in event}
        observed = {event["decision"]: event["observation"] for event in tells}
        for player in self.players:
            for key, names in player.asked.items():
                place = by_key.pop(key)
                stored = [event["decision"] for event in asks[place : place + len(names)]]
                assert stored == names
            assert player.told.items() <= observed.items()
        assert len(by_key) <= len(self.players)  # those that nobody waited for at the end


@contextmanager
def playing(addresses: Sequence[str], token: str, **more: Any) -> Iterator[Load]:
    """Let clients play until the end."""
    load = Load(addresses, token, **more)
    for own in load.players:
        own.start()
    try:
        yield load
    finally:
        load.ending.set()
        for own in load.players:
            own.join(PATIENCE + 10)
    for own in load.players:
        if own.error is not None:
            raise own.error


def verify(address: str, players: load.Load) -> None:
    """Compare the log with what was acknowledged, and let ``pm store check`` replay it."""
    database = database_at(address, writes=False)
    study = database.study("pricing")
    assert study is not None
    events = list(study.after())
    players.check(events)
    result = CliRunner().invoke(main, ["store", "check", address])
    assert result.exit_code == 0, result.output
    assert f"{len(events):,} events; replayed, all is equal." in result.output
    print(f"{len(events):,} events, {sum(own.again for own in players.players)} found again")
