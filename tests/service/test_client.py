"""A client does what the learner behind the service does."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner.learner import RemoteLearner
from partial_monitoring.learner.remote.calls import Service
from tests.service.fake import TOKEN, Fake, served

REFUSED = pm.errors.InvalidInput
NEW = ("activate", "close", "flush", "refused")
"""What clients have and other learners have not."""


@pytest.fixture
def fake() -> Iterator[Fake]:
    with served() as own:
        yield own


def test_the_same_code_plays_the_same(fake: Fake) -> None:
    client, memory = fake.client(), pm.Learner("dynamic_pricing", seed=1)
    for played in (client, memory):
        assert isinstance(played, pm.Learner)
        first = played.ask()
        second, third = played.ask(count=2, available=["$2", "$3"])
        played.tell(second, "yes")
        played.tell([first.id, third], ["no", "no"])
        played.cancel(played.ask())
        played.amend(second, "no")
        played.tell_past(["$2", "$3"], ["yes", "no"], counts=None)
        played.tell(played.ask(), None)
    assert client.round == memory.round == 6
    left, right = ([row | {"id": 0} for row in own.history] for own in (client, memory))
    assert left == right
    assert client.open == []
    assert client.ask().label == memory.ask().label
    assert [own.label for own in client.open] == [own.label for own in memory.open]
    assert client.open[0].since is not None
    client.reset()
    assert client.events[-1]["kind"] == "reset"


def test_what_is_read_is_what_is_there(fake: Fake) -> None:
    client, own = fake.client(), fake.learner
    client.tell(client.ask(), "yes")
    assert client.game.actions == own.game.actions
    assert (client.seed, client.window, client.allow_hopeless) == (1, None, False)
    one, two = client.status(), own.status()
    assert one.table == two.table
    assert one.best == two.best
    assert str(one.promise) == "practical: no bound is proven; measured"
    assert str(one).splitlines()[:4] == str(two).splitlines()[:4]
    assert "<table" in client._repr_html_()
    sets = client.confidence_set(), own.confidence_set()
    assert (sets[0].estimate == sets[1].estimate).all()
    assert client.plot().axes[0].get_xlabel() == own.plot().axes[0].get_xlabel()
    assert list(client.statuses()) == [None]
    assert "pricing" in repr(client)
    assert TOKEN not in repr(client) + client._repr_html_()
    before = len(fake.seen)
    assert client.game is client.game
    assert len(fake.seen) == before


def test_reasons_are_read_when_somebody_looks(fake: Fake) -> None:
    decision = fake.client().ask()
    before = len(fake.seen)
    assert (decision.probability, decision.fallback, decision.context) == (1.0, False, None)
    assert len(fake.seen) == before
    assert decision.gaps.tolist() == [0.5]
    assert decision.information is None
    assert decision.index is None
    assert decision.labels[decision.place] == decision.label
    assert "it looks best" in str(decision)
    assert "<table" in decision._repr_html_()
    assert len(fake.seen) == before + 1
    assert decision.to_dict()["label"] == decision.label
    again = pickle.loads(pickle.dumps(decision))
    assert again.id == decision.id
    assert again.explain() == decision.explain()


def test_a_status_survives_plain_data() -> None:
    status = pm.Learner("dynamic_pricing", pm.IDS(), seed=1).status()
    again = pm.Status.from_dict(status.to_dict())
    assert str(again) == str(status)
    assert again._repr_html_() == status._repr_html_()
    bare = status.to_dict() | {"at_risk": None}
    bare["table"][0] |= {"low": None, "high": None}
    row = pm.Status.from_dict(bare).table.rows[0]
    assert (row.low, row.high) == (float("-inf"), float("inf"))


def test_every_method_is_a_client_s_own(fake: Fake) -> None:
    """What is inherited can only read; nothing writes to what is not there."""
    public = {name for name in dir(RemoteLearner) if not name.startswith("_")}
    assert public - {name for name in dir(pm.Learner) if not name.startswith("_")} == set(NEW)
    client: Any = fake.client()
    for name, given in (("settle", ()), ("save", ("file",)), ("moved_to", ("apple_tasting",))):
        with pytest.raises(REFUSED, match="not for a client"):
            getattr(client, name)(*given)
    for name in ("load", "replay"):
        with pytest.raises(REFUSED, match=r"pm\.Learner"):
            getattr(client, name)("file")


def test_a_key_has_one_decision(fake: Fake) -> None:
    client: Any = fake.client()
    one, two = (client.ask(key="customer-17/2026-11") for _ in range(2))
    assert one.id == two.id
    assert (one.repeated, two.repeated) == (False, True)
    assert client.ask(key="customer-18/2026-11").id != one.id
    typed = pm.RemoteLearner(storage=fake.address, name="pricing", token=TOKEN)
    assert typed.ask(key="customer-17/2026-11", timeout=5).id == one.id
    for bad in ("", "x" * 201, 7, "a\nb"):
        with pytest.raises(REFUSED, match="key must be"):
            client.ask(key=bad)


def test_refusals_are_those_of_the_service(fake: Fake) -> None:
    client = fake.client()
    decision = client.ask()
    with pytest.raises(REFUSED, match="shows one of 'no', 'yes'; got 'perhaps'"):
        client.tell(decision, "perhaps")
    with pytest.raises(REFUSED, match="decision"):
        client.tell("nobody-1", "yes")
    with pytest.raises(REFUSED, match=r"\(1 of 2 were refused\)"):
        client.tell([decision, "nobody-2"], ["yes", "no"])
    client.tell(decision, "yes")  # as before
    with pytest.raises(REFUSED):
        client.tell(decision, "no")
    assert client.round == 2


def test_a_game_that_is_given_must_be_the_same(fake: Fake) -> None:
    assert fake.client(game="dynamic_pricing").round == 1
    with pytest.raises(REFUSED, match=r"plays a game with \d actions; got one with"):
        fake.client(game="apple_tasting")
    with pytest.raises(REFUSED, match="another policy"):
        fake.client(policy="ids")


def test_a_study_may_take_long_to_create(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(own: Service, path: str, content: Any, deadline: float) -> Any:
        assert path == "/v1/studies"
        raise REFUSED(f"there are {deadline - monotonic():.0f} s left.")

    monkeypatch.setattr(Service, "post", post)
    with pytest.raises(REFUSED, match="there are 120 s left"):  # it may have to compile first
        pm.Learner("apple_tasting", storage=fake.address, name="cold", token=TOKEN)


def test_copies_and_pickles(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    client = fake.client()
    for other in (copy.copy(client), copy.deepcopy(client)):
        assert other.ask().label
    data = pickle.dumps(client)
    assert TOKEN.encode() not in data
    monkeypatch.delenv("PM_TOKEN", raising=False)
    with pytest.raises(REFUSED, match="PM_TOKEN"):
        pickle.loads(data)
    monkeypatch.setenv("PM_TOKEN", TOKEN)
    assert pickle.loads(data).ask().label
    assert pm.Learner(storage=fake.address, name="pricing").ask().label


def test_threads_share_a_client(fake: Fake) -> None:
    client, names, errors = fake.client(), list[Any](), list[Exception]()

    def play() -> None:
        try:
            for _ in range(10):
                decision = client.ask()
                names.append(decision.id)
                client.tell(decision, "yes")
            client.close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=play) for _ in range(6)]
    for own in threads:
        own.start()
    for own in threads:
        own.join()
    assert not errors
    assert len(set(names)) == 60
    assert client.round == 61


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_has_connections_of_its_own(fake: Fake) -> None:
    client = fake.client()
    client.tell(client.ask(), "yes")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            os.write(write, str(client.ask().id).encode())
        finally:
            os._exit(0)
    ours = [client.ask().id for _ in range(3)]
    os.waitpid(child, 0)
    theirs = os.read(read, 1000).decode()
    assert theirs not in ["", *ours]
    os.close(read)
    os.close(write)
    assert client.ask().label
