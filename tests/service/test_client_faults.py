"""A service that is away, slow, hostile or loses answers: what a client does then."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner.remote import connection
from tests.service import fake as faults
from tests.service.fake import TOKEN, Fake, served

AWAY = pm.errors.StorageError


@pytest.fixture
def fake() -> Iterator[Fake]:
    with served() as own:
        yield own


def test_an_answer_that_is_lost_is_asked_for_again(fake: Fake) -> None:
    client = fake.client()
    for _ in range(5):
        fake.faults.append(faults.lost)
        decision = client.ask()
        fake.faults.append(faults.lost)
        client.tell(decision, "yes")
    fake.faults.append(faults.lost)
    client.tell(client.ask(count=3), ["yes", "no", "no"])
    assert len(fake.learner.history) == 8
    assert fake.learner.round == 9
    assert fake.learner.open == []
    keys = [given["key"] for _, path, _, given in fake.seen if path.endswith("/ask")]
    assert len(keys) == 12
    assert len(set(keys)) == 6


def test_it_comes_again_when_it_is_told_to(fake: Fake) -> None:
    client = fake.client()
    for count, status in enumerate((502, 503, 504, 408), 1):
        fake.faults.append(faults.refusing(status))
        assert client.ask().label
        assert len(fake.learner.history) == count
    fake.faults.append(faults.refusing(429, Retry_After="1"))
    start = time.monotonic()
    assert client.ask().label
    assert 1.0 <= time.monotonic() - start < 3.0


def test_it_does_not_wait_longer_than_it_may(fake: Fake) -> None:
    client: Any = fake.client()
    for fault in (faults.refusing(503, Retry_After="60"), faults.hang_up, faults.slow(0.6)):
        fake.always, start = fault, time.monotonic()
        with pytest.raises(AWAY, match="cannot be used now"):
            client.ask(timeout=0.3)
        assert time.monotonic() - start < 0.5
    fake.always = faults.refusing(429, "study 'pricing' has 5 open decisions, its max_open.")
    with pytest.raises(pm.errors.InvalidInput, match="max_open"):
        client.ask()
    time.sleep(0.5)


def test_an_answer_letter_by_letter_is_cut_off(fake: Fake) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    client: Any = fake.client()
    for parts in ([b"H"] * 20, [head, *[b" "] * 20]):
        fake.faults.append(faults.raw(*parts, pause=0.1))
        start = time.monotonic()
        with pytest.raises(AWAY, match="no answer in time"):
            client.ask(timeout=0.4)
        assert time.monotonic() - start < 0.6


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"{}", b"no JSON", b"\xff\xfe", b"[" * 100_000, b"1e999", b"null", b'"x"'),
        *(b'{"decisions": 3}', b'{"decisions": []}', b'{"decisions": [7]}', b"NaN"),
        b'{"decisions": [{"id": 7, "label": 1, "action": "a", "probability": 2, "round": null}]}',
        b'{"decisions": [{"id":"a","label":"b","action":1,"probability":NaN,"round":1}]}',
        b'{"decisions": [{"id":null,"label":"b","action":1,"probability":1,"round":1}]}',
    ],
)
def test_nonsense_is_refused_in_one_sentence(fake: Fake, body: bytes) -> None:
    client = fake.client()
    fake.faults.append(faults.saying(body))
    with pytest.raises(AWAY, match="gave an answer that ask cannot have") as caught:
        client.ask()
    assert len(str(caught.value)) < 300
    reads = [client.status, lambda: client.round, lambda: client.events]
    for call in reads if body == b'{"decisions": []}' else [*reads, lambda: client.open]:
        fake.faults.append(faults.saying(body))
        with pytest.raises(AWAY, match="gave an answer that"):
            call()
    assert client.ask().label


def test_a_long_answer_is_not_read(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    client = fake.client()
    fake.faults.append(faults.saying(b" " * 10_000_000))
    with pytest.raises(AWAY, match="more than 8,000,000 bytes"):
        client.ask()
    monkeypatch.setattr(connection, "MOST_BYTES", 100)
    chunk = b"40\r\n" + b" " * 64 + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    fake.faults.append(faults.raw(head, *[chunk] * 10))
    with pytest.raises(AWAY, match="more than 100 bytes"):
        client.ask()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_token_does_not_follow_a_redirect(fake: Fake, status: int) -> None:
    with served() as other:
        elsewhere = f"{other.address}/v1/studies/pricing/ask"
        fake.faults.append(faults.saying(b"{}", status, Location=elsewhere))
        with pytest.raises(AWAY, match="redirect"):
            fake.client().ask()
        assert other.seen == []


def test_what_a_service_says_is_shown_safely(fake: Fake) -> None:
    fake.faults.append(faults.refusing(422, "\x1b[2J" + "x" * 10_000))
    with pytest.raises(pm.errors.InvalidInput) as caught:
        fake.client().ask()
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_no_error_shows_the_token(fake: Fake) -> None:
    wrong = pm.Learner(storage=fake.address, name="pricing", token="pm_id_wrong")
    with pytest.raises(AWAY, match="the token is not valid") as caught:
        wrong.ask()
    texts = [repr(caught.value), repr(wrong), repr(vars(wrong)), repr(vars(wrong._service))]
    for bad in ("pm_\nid", "pm_ü", "x" * 501, "a b"):
        with pytest.raises(pm.errors.InvalidInput, match="token must be") as refused:
            pm.Learner(storage=fake.address, name="pricing", token=bad)
        texts.append(repr(refused.value))
        assert bad not in texts[-1]
    assert not [text for text in texts if "wrong" in text]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://decide.corp:8787", "must be an https address"),
        ("http://192.168.1.7:8787", "must be an https address"),
        ("http://localhost.corp", "must be an https address"),
        ("https://anna:secret@decide.corp", "without a user"),
        ("https://", "an address such as"),
        ("https://decide.corp:99999", "address of a service"),
        ("https://decide.corp/?x=1", "an address such as"),
        ("https://decide.corp/#pm_x", "an address such as"),
        ("https://decide.corp/a b", "an address such as"),
        ("https://decide.corp/\r\nX: y", "an address such as"),
    ],
)
def test_addresses_that_are_refused(address: str, said: str) -> None:
    with pytest.raises(pm.errors.InvalidInput, match=said) as caught:
        pm.Learner(storage=address, name="pricing", token=TOKEN)
    assert "secret" not in str(caught.value)


def test_arguments_that_are_refused(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PM_TOKEN", raising=False)
    refused = pm.errors.InvalidInput
    for name in (None, "", "a/b", "../x", "x" * 65, 7):
        with pytest.raises(refused, match="name must be"):
            pm.Learner(storage=fake.address, name=name, token=TOKEN)  # type: ignore[arg-type]
    with pytest.raises(refused, match="token must be given"):
        pm.Learner(storage=fake.address, name="pricing")
    for own in ("memory", "sqlite:///x.db"):
        with pytest.raises(refused, match="token must be left out"):
            pm.Learner("dynamic_pricing", storage=own, token=TOKEN)
    client: Any = fake.client()
    for timeout in (0, -1, float("nan"), "soon", 1e9):
        with pytest.raises(refused, match="timeout must be"):
            client.ask(timeout=timeout)
    for label in (7, "", "$9"):
        with pytest.raises(refused, match="fallback must be"):
            client.ask(fallback=label, available=["$2"])
    for storage in ("memory", 7, None, "sqlite:///x.db"):
        with pytest.raises(refused, match="storage must be"):
            pm.RemoteLearner(storage=storage, name="x", token=TOKEN)  # type: ignore[arg-type]
    assert pm.Learner(storage="http://decide.corp?insecure", name="x", token=TOKEN)
    assert fake.seen == []


def test_a_service_that_comes_back_is_found(fake: Fake) -> None:
    client = fake.client()
    decision = client.ask()
    port, learner = fake.server_port, fake.learner
    fake.kill()

    def come_back() -> None:
        time.sleep(0.5)
        back.append(Fake(learner, port))
        back[0].by_key = fake.by_key
        back[0].serve_forever(0.01)

    back: list[Fake] = []
    thread = threading.Thread(target=come_back, daemon=True)
    thread.start()
    client.tell(decision, "yes")
    assert client.round == 2
    back[0].kill()
    thread.join()


# -- TLS -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    command += f" -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {path}.key"
    done = subprocess.run([*command.split(), "-out", str(path)], capture_output=True)
    if done.returncode:
        pytest.skip("openssl is not installed")
    return path


def test_a_certificate_is_needed_that_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, f"{certificate}.key")
    with served(tls=context) as own:
        client: Any = own.client()
        start = time.monotonic()
        with pytest.raises(AWAY, match="certificate is refused"):
            client.ask()
        assert time.monotonic() - start < 2.0
        assert own.seen == []
        assert client.ask(fallback="$2").fallback
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        trusting = own.client()
        trusting.tell(trusting.ask(), "yes")
        assert trusting.round == 2
        other: Any = pm.Learner(
            storage=own.address.replace("localhost", "127.0.0.1"), name="pricing", token=TOKEN
        )
        with pytest.raises(AWAY, match="certificate is refused"):
            other.ask(timeout=2)
