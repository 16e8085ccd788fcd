"""Tokens: what is stored of them, and when they count."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from time import monotonic, sleep

import pytest

from partial_monitoring.errors import StorageError
from partial_monitoring.service.http.tokens import (
    SOONEST,
    Tokens,
    check_form,
    form_token,
    text_of,
)
from partial_monitoring.service.problems import Problem
from partial_monitoring.storage.tokens import TokenRow


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class InMemory:
    """A table that lasts as long as the process."""

    def __init__(self) -> None:
        self._rows: dict[str, TokenRow] = {}

    def create(self, token: TokenRow) -> None:
        self._rows[token.id] = token

    def list(self) -> list[TokenRow]:
        return list(self._rows.values())

    def revoke(self, name: str, at: float) -> bool:
        self._rows[name] = self._rows[name]._replace(revoked_at=at)
        return True


@pytest.fixture
def table() -> InMemory:
    return InMemory()


@pytest.fixture
def tokens(table: InMemory, clock: Clock) -> Iterator[Tokens]:
    found = Tokens(table, clock=clock)
    yield found
    found.close()


def test_only_the_hash_is_stored(tokens: Tokens, table: InMemory) -> None:
    token, text = tokens.create("play", label="shop")
    prefix, name, secret = text.split("_", 2)
    assert (prefix, name) == ("pm", token.id)
    [row] = table.list()
    assert row.hash == sha256(secret.encode()).digest()
    assert secret not in repr(row)
    assert "hash" not in token.public()


def test_what_is_verified_is_what_was_created(tokens: Tokens) -> None:
    token, text = tokens.create("read")
    assert tokens.verify(text.encode()) == token
    assert tokens.verify(text.encode()) is tokens.verify(text.encode())
    for wrong in (text[:-1], text + "x", text.upper(), "", "pm__", text[:-1] + "é", "\x00"):
        with pytest.raises(Problem) as caught:
            tokens.verify(wrong.encode())
        assert caught.value.status == 401
    other = tokens.create("read")[1]
    mixed = text[:16] + other[16:]
    assert tokens.known(mixed.encode()) is None


def test_a_token_counts_until_it_expires(tokens: Tokens, clock: Clock) -> None:
    text = tokens.create("read", expires_at=1010.0)[1].encode()
    assert tokens.known(text) is not None
    clock.now = 1009.9
    assert tokens.known(text) is not None
    clock.now = 1010.0
    assert tokens.known(text) is None
    with pytest.raises(Problem, match="time to come"):
        tokens.create("read", expires_at=5.0)


def test_a_token_that_another_process_revokes_counts_less_than_a_second(table: InMemory) -> None:
    one, two = Tokens(table), Tokens(table)
    try:
        token, text = one.create("admin")
        sleep(SOONEST)
        assert two.verify(text.encode()) == token  # created elsewhere: it is looked for
        begun = monotonic()
        one.revoke(token.id)
        assert one.known(text.encode()) is None
        while two.known(text.encode()) is not None:
            assert monotonic() - begun < 1.0
            sleep(0.01)
    finally:
        one.close()
        two.close()


def test_tokens_that_are_not_known_do_not_load_the_database(table: InMemory) -> None:
    tokens = Tokens(table, watch=False)
    reads = 0
    listed = table.list

    def counted() -> list[object]:
        nonlocal reads
        reads += 1
        return listed()  # type: ignore[return-value]

    table.list = counted  # type: ignore[method-assign, assignment]
    for number in range(1000):
        with pytest.raises(Problem):
            tokens.verify(f"pm_{number:012x}_{'x' * 43}".encode())
    assert reads < 100


def test_known_tokens_count_while_the_database_is_away(
    table: InMemory, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(table)
    try:
        text = tokens.create("read")[1].encode()

        def away() -> list[object]:
            raise StorageError("the database is away.")

        table.list = away  # type: ignore[method-assign, assignment]
        sleep(0.7)
        assert tokens.known(text) is not None
        assert "away" in caplog.text
        assert text.decode() not in caplog.text
    finally:
        tokens.close()


def test_roles_and_studies_are_kept_apart(tokens: Tokens) -> None:
    everything, one = tokens.create("admin")[0], tokens.create("play", study="shop")[0]
    everything.may("admin", None)
    everything.may("read", "shop")
    one.may("play", "shop")
    one.may("read", "shop~3")
    for role, study in (("admin", "shop"), ("play", "shops"), ("read", None), ("read", "sho")):
        with pytest.raises(Problem) as caught:
            one.may(role, study)
        assert caught.value.status == 403


def test_revoking_twice_is_once_and_nobody_is_not_found(tokens: Tokens, clock: Clock) -> None:
    token = tokens.create("read")[0]
    first = tokens.revoke(token.id)
    clock.now += 5
    assert tokens.revoke(token.id) == first
    with pytest.raises(Problem, match="no token"):
        tokens.revoke("nobody")


def test_forms_belong_to_a_login() -> None:
    check_form(b"pm_a", form_token(b"pm_a").encode())
    for given in (None, b"", form_token(b"pm_b").encode()):
        with pytest.raises(Problem, match="form"):
            check_form(b"pm_a", given)


def test_a_request_shows_its_token_in_one_place() -> None:
    assert text_of({b"authorization": b"Bearer x"}) == (b"x", False)
    assert text_of({b"authorization": b"bearer  x "}) == (b"x", False)
    assert text_of({b"authorization": b"Basic x", b"cookie": b"pm_token=y"}) == (b"", False)
    assert text_of({b"cookie": b"a=1; pm_token=y; b=2"}) == (b"y", True)
    assert text_of({b"cookie": b"xpm_token=y"}) == (b"", False)
    assert text_of({}) == (b"", False)
