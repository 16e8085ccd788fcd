"""The client against the service itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

server = pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)

REFUSED = pm.errors.InvalidInput


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("served") / "shop.db"
    with server.started(f"sqlite:///{path}") as found:
        yield found


def made(serving: Any, name: str, *given: Any, **options: Any) -> tuple[Any, pm.Learner]:
    """Return a client that creates its study, and a learner in memory that plays the same."""
    place = {"storage": serving.address, "token": serving.token, "name": name}
    return pm.Learner(*given, **options, **place), pm.Learner(*given, **options)


def test_it_plays_as_in_memory(serving: Any) -> None:
    client, memory = made(serving, "pricing", "dynamic_pricing", seed=3, probe=0.1)
    for played in (client, memory):
        first, second, third = played.ask(count=3)
        played.tell(second, "yes")
        played.tell([first.id, third], ["no", "no"])
        played.cancel(played.ask(available=["$2"]))
        played.amend(second, "no")
        played.tell_past(["$2", "$3"], ["yes", "no"], counts=[3, 2])
        played.tell(played.ask(), None)
        played.reset()
        played.ask()
    assert client.round == memory.round
    unnamed = ("id", "key", "actor", "reason", "time", "decision")
    rows = [
        [{k: x for k, x in row.items() if k not in unnamed} for row in own.history]
        for own in (client, memory)
    ]
    assert rows[0] == rows[1]
    assert [own.label for own in client.open] == [own.label for own in memory.open]
    one, two = client.status(), memory.status()
    assert one.table == two.table
    assert str(one) == str(two)
    assert one._repr_html_() == two._repr_html_()
    assert (client.confidence_set().estimate == memory.confidence_set().estimate).all()
    assert client.plot().axes[0].get_xlabel() == memory.plot().axes[0].get_xlabel()
    left, right = client.ask(), memory.ask()
    assert (left.label, left.probability, left.probed) == (
        right.label,
        right.probability,
        right.probed,
    )
    assert left.explain() == right.explain()
    order = [list(right.labels).index(label) for label in left.labels]
    assert left.gaps == pytest.approx(right.gaps[order])
    assert client.game.actions == memory.game.actions
    assert client.policy == memory.policy
    assert list(client.statuses()) == [None]
    rows = [pm.off_policy(own, "$3", "$2") for own in (client, memory)]
    assert rows[0].estimate == rows[1].estimate


def test_contexts_and_duels(serving: Any) -> None:
    client, memory = made(serving, "survey", "survey", seed=1)
    for played in (client, memory):
        for context in (0, 1, played.game.contexts[0]):
            decision = played.ask(context=context)
            rows = played.game.context(context).game.row_count(decision.action)
            played.tell(decision, [0.25] * rows)
    for context in (1, client.game.contexts[1]):
        assert client.status(context=context).table == memory.status(context=1).table
    assert list(client.statuses(most=2)) == list(client.game.contexts[:2])
    assert client.ask(context=0).context == memory.ask(context=0).context

    duels = pm.games.dueling([[0.0], [0.5], [1.0]], feedback="sign")
    client, memory = made(serving, "duels", duels, seed=1)
    for played in (client, memory):
        played.tell(played.ask(), wins=4, of=5)
    left, right = client.ask(), memory.ask()
    assert (left.first, left.second) == (right.first, right.second)
    assert client.round == memory.round == 6
    assert client.history[0]["observation"] == {"wins": 4, "of": 5}

    own = {"features": [[1.0, 0.0], [0.0, 1.0]], "observation_maps": [[[1.0, 0.0]], [[0.0, 1.0]]]}
    game = pm.ContextualGame([pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]])] * 2)
    client, memory = made(serving, "unlisted", game, seed=1)
    described = {name: np.array(x) for name, x in own.items()}
    for context in (own, described, memory.game.context(own).game):
        left, right = client.ask(context=context), memory.ask(context=context)
        assert left.label == right.label
        client.tell(left, [0.5])
        memory.tell(right, [0.5])
    assert client.round == 4


def test_arrays_and_bad_values(serving: Any) -> None:
    client, _ = made(serving, "linear", pm.games.linear_bandit(), seed=1)
    decision = client.ask()
    for bad in (["a"], [float("nan")], [1.0] * 999, object(), {"x": 1}):
        with pytest.raises(REFUSED):
            client.tell(decision, bad)
    client.tell(decision, np.array([0.5]))
    assert client.round == 2
    for given in ({"available": ["nothing"]}, {"available": []}, {"count": 1001}, {"now": 1e15}):
        with pytest.raises(REFUSED):
            client.ask(**given)
    with pytest.raises(REFUSED):
        client.ask(context=object())


def test_a_paused_study_answers_with_a_fallback(serving: Any) -> None:
    import http.client
    import json

    client, _ = made(serving, "paused", "dynamic_pricing", seed=1)
    client.tell(client.ask(), "yes")
    host = serving.address.removeprefix("http://")

    def patch(**content: Any) -> None:
        own = http.client.HTTPConnection(host)
        headers = {"Authorization": f"Bearer {serving.token}", "Content-Type": "application/json"}
        own.request("PATCH", "/v1/studies/paused", json.dumps(content), headers)
        assert own.getresponse().status == 200
        own.close()

    patch(state="paused")
    with pytest.raises(REFUSED, match="paused"):
        client.ask()
    named = client.ask(fallback="$2")
    patch(settings={"fallback": "$3"})
    theirs = client.ask()
    assert (named.label, named.fallback, theirs.label, theirs.fallback) == ("$2", True, "$3", True)
    client.tell([named.id, theirs], ["yes", "no"])
    client.tell(theirs, "no")
    patch(state="running")
    assert client.round == 4
    assert [row["label"] for row in client.history[1:]] == ["$2", "$3"]
    assert not client.ask().fallback


def test_keys_hold_and_meta(serving: Any) -> None:
    client, _ = made(serving, "sticky", "dynamic_pricing", seed=1, window=pm.Window(days=1))
    one, two = (client.ask(key="customer-17/2026-11", meta={"shop": 3}) for _ in range(2))
    assert (one.id, one.repeated, two.repeated) == (two.id, False, True)
    held = client.ask(hold=True)
    assert [own.due is None for own in client.open] == [False, True]
    client.activate(held)
    assert all(own.due is not None for own in client.open)
    client.tell(one, "yes")
    assert client.open[0].answer == "yes"
    several = [client.ask(count=3, key="batch") for _ in range(2)]
    assert [own.id for own in several[0]] == [own.id for own in several[1]]


def test_it_is_opened_by_name_or_compared(serving: Any, tmp_path: Path) -> None:
    made(serving, "compared", "dynamic_pricing", seed=5)
    place = {"storage": serving.address, "token": serving.token}
    assert pm.Learner(**place, name="compared").seed == 5
    with pytest.raises(REFUSED, match="plays a game with"):
        pm.Learner("apple_tasting", **place, name="compared")
    with pytest.raises(REFUSED, match="no study"):
        pm.Learner(**place, name="nowhere").ask()
    with pytest.raises(pm.errors.StorageError, match="token"):
        pm.Learner(storage=serving.address, token="pm_x_y", name="compared").ask()


def test_a_study_that_is_edited_is_read_anew(serving: Any) -> None:
    client, memory = made(serving, "edited", "dynamic_pricing", seed=1)
    for _ in range(3):
        client.tell(client.ask(), "yes")
    before = client.confidence_set().estimate
    service = client._service
    content = {"policy": "ids", "reason": "a certified policy is wanted"}
    service.post("/v1/studies/edited/edit", content, time.monotonic() + 10)
    assert client.round == 4
    assert client.confidence_set().estimate.shape == before.shape
    assert client.policy == pm.IDS()
    assert client.ask().label in memory.game.actions
