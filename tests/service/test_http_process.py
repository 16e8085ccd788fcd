"""The process: what it prints, what it keeps secret, whom it refuses, and how it ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from tests.service.http_client import Client
from tests.service.processes import PM, TOKEN, running


def test_two_commands_to_the_first_decision_and_no_secret_anywhere(tmp_path: Path) -> None:
    with running(tmp_path) as own:
        assert f"{own.address}/login#{own.token}" in own.printed
        own.wait_ready()
        commands = own.printed[own.printed.index("  export") :]
        if shutil.which("curl") and shutil.which("bash"):
            answers = subprocess.run(
                ["bash", "-s"], input=commands, capture_output=True, text=True, check=True
            ).stdout
            assert '"name":"pricing"' in answers
            assert '"decisions":[{"id"' in answers
        else:
            own.client.create("pricing")
        own.client("GET", f"/v1/studies?x={own.token}")
        own.client("GET", f"/v1/{own.token}")
        own.client("POST", "/v1/studies/pricing/tell", {"decision": own.token, "observation": 1})
        second = own.client("POST", "/v1/tokens", {"role": "play"}).json["token"]
        processes = subprocess.run(["ps", "axww"], capture_output=True, text=True).stdout
        own.own.send_signal(signal.SIGTERM)
        assert own.ended() == 0
        log = own.log.read_text()
        assert "POST /v1/studies/pricing/ask 200" in log
        assert "Traceback" not in log
        for token in (own.token, second):
            secret = token.split("_", 2)[2]
            assert secret not in log
            assert secret not in processes
            for path in tmp_path.glob("partial-monitoring.db*"):
                assert secret.encode() not in path.read_bytes()
    with running(tmp_path) as again:
        assert "login#" not in again.printed
        assert TOKEN.search(again.printed) is None
        client = Client(again.address, own.token)
        again.client = client
        again.wait_ready()
        assert client("GET", "/v1/studies").json["studies"][0]["name"] == "pricing"
        refused = subprocess.run([*PM, "serve"], cwd=tmp_path, capture_output=True, text=True)
        assert refused.returncode == 2
        assert again.address in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def test_a_stop_under_load_loses_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "sqlite:///shop.db", "--rate", "100000") as own:
        own.client.create("pricing")
        own.wait_ready()
        acknowledged: list[str] = []
        statuses: set[int] = set()
        stop = Event()

        def play(number: int) -> None:
            turn = 0
            while not stop.is_set():
                turn += 1
                try:
                    reply = own.client(
                        "POST", "/v1/studies/pricing/ask", {"key": f"{number}/{turn}"}
                    )
                except OSError:
                    return
                statuses.add(reply.status)
                if reply.status == 200:
                    acknowledged.append(reply.json["decisions"][0]["id"])

        threads = [Thread(target=play, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        sleep(1.0)
        begun = monotonic()
        own.own.send_signal(signal.SIGTERM)
        assert own.ended() == 0
        assert monotonic() - begun < 10.0
        stop.set()
        for thread in threads:
            thread.join()
        assert statuses <= {200, 503}
        assert "Traceback" not in own.log.read_text()
    assert acknowledged
    from partial_monitoring.storage.opened import database_at

    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    study = database.study("pricing")
    assert study is not None
    stored = [event["decision"] for event in study.after() if event["kind"] == "ask"]
    kept = study.latest()
    database.close()
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert kept is not None
    assert kept["seq"] == len(stored)  # the next start has nothing to replay
    assert not list(tmp_path.glob("*-wal"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "--tls-cert"),
        (["--host", "example.org"], "--behind-proxy"),
        (["--tls-cert", "x.pem"], "--tls-key"),
        (["--tls-cert", "x.pem", "--tls-key", "y.pem"], "x.pem"),
        (["nonsense"], "storage must be an address"),
        (["sqlite:////nowhere/at/all/x.db"], "/nowhere/at/all"),
        (["--rate", "0"], "--rate"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    from click.testing import CliRunner

    from partial_monitoring.cli import main

    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["serve", "--port", "0", *words])
    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.splitlines()) == 1


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    import socket

    from partial_monitoring.errors import StorageError
    from partial_monitoring.service.server import Options, Serving

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StorageError, match=str(port)):
            Serving(f"sqlite:///{tmp_path}/x.db", Options(port=port))
    Serving(f"sqlite:///{tmp_path}/x.db", Options(port=0)).close()  # nothing is held


def test_a_start_that_fails_leaves_no_token_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the next one would show none, and nobody could administer the database."""
    from partial_monitoring.errors import InvalidInput
    from partial_monitoring.service import server

    url, pem = f"sqlite:///{tmp_path}/x.db", tmp_path / "x.pem"
    pem.write_text("no certificate")
    with pytest.raises(InvalidInput, match=r"x\.pem: is no certificate with this key: .*\.$"):
        server.Serving(url, server.Options(port=0, tls_cert=pem, tls_key=pem))
    assert not (tmp_path / "x.db").exists()

    def fail(*given: object, **named: object) -> None:
        raise RuntimeError("no threads left")

    for part in ("Engine", "Watcher", "application", "configured"):
        with monkeypatch.context() as broken:
            broken.setattr(server, part, fail)
            with pytest.raises(RuntimeError, match="no threads left"):
                server.Serving(url, server.Options(port=0))
    own = server.Serving(url, server.Options(port=0))
    own.close()
    assert own.first is not None


def test_a_token_is_shown_if_no_other_can_administer_everything(tmp_path: Path) -> None:
    from time import time

    from partial_monitoring.service.server import Options, Serving

    url = f"sqlite:///{tmp_path}/x.db"

    def first() -> str | None:
        own = Serving(url, Options(port=0))
        own.close()
        return own.first

    def only(**said: Any) -> None:
        """Leave the database with this token and those that do not count."""
        own = Serving(url, Options(port=0))
        for token in own.tokens.list():
            own.tokens.revoke(token.id)
        own.tokens.create(**said)
        own.close()

    assert first() is not None
    assert first() is None
    only(role="admin", study="shop")
    assert first() is not None
    only(role="play")
    assert first() is not None
    only(role="admin", expires_at=time() + 3600)
    assert first() is None
    only(role="admin", expires_at=time() + 0.5)
    sleep(0.6)
    assert first() is not None


def test_https_with_a_certificate(tmp_path: Path) -> None:
    import json
    import ssl
    from urllib.request import Request, urlopen

    from partial_monitoring.service.server import started

    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = (
        f"req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {cert} -days 1 -subj /CN=localhost"
    )
    more = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(["openssl", *words.split(), *more], check=True, capture_output=True)
    with started(f"sqlite:///{tmp_path}/x.db", host="127.0.0.1", tls_cert=cert, tls_key=key) as own:
        assert own.address.startswith("https://")
        headers = {"Authorization": f"Bearer {own.token}"}
        request = Request(f"{own.address}/v1/studies", headers=headers)
        with urlopen(request, context=ssl.create_default_context(cafile=str(cert))) as answer:
            assert json.load(answer) == {"studies": []}
            assert "max-age" in answer.headers["strict-transport-security"]


def test_tokens_are_made_from_the_command_line(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from partial_monitoring.cli import main
    from partial_monitoring.service.server import started

    url = f"sqlite:///{tmp_path}/x.db"

    def run(*words: str, token: str = "") -> str:
        result = CliRunner(env={"PM_TOKEN": token}).invoke(main, ["tokens", *words])
        assert result.exit_code == 0, result.output
        return result.output.strip()

    admin = run("create", url, "--role", "admin", "--label", "me")
    assert TOKEN.fullmatch(admin)
    with started(url) as own:
        assert own.first is None
        assert Client(own.address, admin)("GET", "/v1/tokens").status == 200
        given = ("create", own.address, "--role", "play", "--study", "shop", "--expires", "12h")
        play = run(*given, token=admin)
        assert Client(own.address, play)("GET", "/v1/tokens").status == 403
        name = play.split("_")[1]
        assert f"{name}  play   shop  until" in run("list", own.address, token=admin)
        assert "revoked" in run("revoke", own.address, name, token=admin)
        assert Client(own.address, play)("GET", "/v1/studies").status == 401
        refused = CliRunner().invoke(main, ["tokens", "list", url])
        assert own.address in refused.output or refused.exit_code == 0  # the same process may
    assert f"{name}  play   shop  revoked" in run("list", url)
    for words, said in [
        (["create", url, "--role", "king"], "role must be"),
        (["create", url, "--expires", "soon"], "--expires"),
        (["revoke", url, "nobody"], "no token"),
        (["list", "http://127.0.0.1:1"], "PM_TOKEN"),
    ]:
        result = CliRunner(env={"PM_TOKEN": ""}).invoke(main, ["tokens", *words])
        assert (result.exit_code, len(result.output.splitlines())) == (2, 1)
        assert said in result.output
    far = CliRunner(env={"PM_TOKEN": "x"}).invoke(main, ["tokens", "list", "http://127.0.0.1:1"])
    assert "cannot be reached" in far.output
