"""A process that serves a database: started, looked after, and ended in order."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from time import monotonic, sleep, time
from typing import Any, Final

from partial_monitoring.errors import InvalidInput, StorageError, brief
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.http.app import Application, application
from partial_monitoring.service.http.limits import LOOPBACK, Hosts, Limits
from partial_monitoring.service.http.tokens import Tokens
from partial_monitoring.service.page.mounted import page_of
from partial_monitoring.service.problems import log
from partial_monitoring.service.process import Server, check_certificate, configured
from partial_monitoring.service.watching.watcher import Watcher
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.opened import database_at

PORT: Final = 8787
PATIENCE: Final = 30.0
"""Seconds that a server of a test has to start."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a database is served.

    Attributes
    ----------
    host, port
        Where; port 0 is one that is free.
    tls_cert, tls_key
        Files of a certificate and its key, for https.
    behind_proxy
        Whether a proxy in front ends TLS, so that other machines may connect.
    allow_hosts
        Other names of this server.
    limits
        What callers may use.
    access_log
        Whether every request is logged.
    label
        Of the token that is created if there is none.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    allow_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    access_log: bool = False
    label: str = "first start"


class Serving:
    """A server with all it needs.

    Parameters
    ----------
    url
        The address of the database.
    options
        How it is served.
    on_start
        Called when requests are accepted.
    """

    def __init__(
        self, url: str, options: Options, on_start: Callable[[Serving], None] = lambda own: None
    ) -> None:
        check_place(options)
        self.options = options
        self.database: Database = database_at(url)
        with _undone(self.database.close) as keep:
            self._socket = bound(options.host, options.port)
            keep(self._socket.close)
            self.tokens = Tokens(self.database.tokens)
            keep(self.tokens.close)
            self.engine = Engine(self.database)
            keep(self.engine.close)
            self.watcher = Watcher(self.engine)
            keep(self.watcher.close)
            self.app: Application = application(
                self.engine,
                self.tokens,
                options.limits,
                hosts=Hosts(names(options)),
                page=page_of,
                access_log=options.access_log,
            )
            self.app.service.warm = False
            config = configured(self.app, options)
            self._server = Server(config, self.app.service, lambda: on_start(self))
            announce = getattr(self.database, "announce", None)
            if announce is not None:
                announce(self.address)
            self.first = self._first_token()  # last: it is shown once, when nothing can fail

    @property
    def address(self) -> str:
        """Where it can be reached."""
        host = self.options.host
        host = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        scheme = "http" if self.options.tls_cert is None else "https"
        shown = f"[{host}]" if ":" in host else host
        return f"{scheme}://{shown}:{self._socket.getsockname()[1]}"

    def _first_token(self) -> str | None:
        """Return the text of a new token, if nobody could administer this database without it."""
        for own in self.tokens.list():
            lasts = own.expires_at is None or own.expires_at > time()
            if own.role == "admin" and own.study is None and own.revoked_at is None and lasts:
                return None
        return self.tokens.create("admin", label=self.options.label)[1]

    @property
    def is_ready(self) -> bool:
        """Whether requests may come."""
        return self._server.started and not self.app.service.why_not_ready

    @property
    def token(self) -> str:
        """The token of an administrator, a new one if this is not the first start."""
        if self.first is None:
            self.first = self.tokens.create("admin", label="started")[1]
        return self.first

    def run(self) -> None:
        """Serve until the process is told to stop, then finish what has begun."""
        warming = Thread(target=self._warm, name="pm warming", daemon=True)
        warming.start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.close()

    def stop(self) -> None:
        """Let ``run`` end."""
        self.app.service.stopping = True
        self._server.should_exit = True

    def _warm(self) -> None:
        """Load all studies, and let each decide once."""
        service = self.app.service
        try:
            for name in self.engine.names():
                if service.stopping:
                    return
                if "~" not in name:
                    with suppress(Exception):  # whoever asks is told what is wrong
                        service.warmed(self.engine.hosted(name))
        except Exception:
            log.exception("The studies cannot be loaded.")
        finally:
            service.warm = True

    def close(self) -> None:
        """Drain, keep snapshots, and let others use the database."""
        self._socket.close()
        self.tokens.close()
        self.app.service.close()
        self.watcher.close()
        self.engine.close()
        self.database.close()  # a file writes its log ahead back


@contextmanager
def _undone(*steps: Callable[[], object]) -> Iterator[Callable[[Callable[[], object]], None]]:
    """If what follows fails, undo what was done before."""
    done = list(steps)
    try:
        yield done.append
    except BaseException:
        for undo in reversed(done):
            undo()
        raise


def check_place(options: Options) -> None:
    """Refuse to talk to other machines in clear text, or with a certificate of no use."""
    if (options.tls_cert is None) != (options.tls_key is None):
        raise InvalidInput("--tls-cert and --tls-key must be given together.")
    for path in (options.tls_cert, options.tls_key):
        if path is not None and not path.is_file():
            raise InvalidInput(f"{path}: No such file.")
    if options.tls_cert is not None and options.tls_key is not None:
        check_certificate(options.tls_cert, options.tls_key)
    if options.tls_cert is None and not options.behind_proxy and not is_loopback(options.host):
        raise InvalidInput(
            f"host {brief(options.host)} can be reached from other machines, so tokens must not "
            "travel in clear text; give --tls-cert and --tls-key, or --behind-proxy if a proxy "
            "does that."
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK


def names(options: Options) -> Iterable[str]:
    """Return the names under which a server is reached."""
    own = () if is_loopback(options.host) else (options.host, socket.gethostname())
    return (*own, *options.allow_hosts)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        said = str(error.strerror or error).rstrip(".")
        raise StorageError(f"cannot listen at {host}:{port}: {said}.") from None
    found.set_inheritable(False)
    return found


def serve(
    url: str,
    options: Options | None = None,
    on_start: Callable[[Serving], None] = lambda own: None,
) -> None:
    """Serve a database until the process is told to stop."""
    Serving(url, options or Options(), on_start).run()


@contextmanager
def started(url: str, **options: Any) -> Iterator[Serving]:
    """Serve a database from a thread, at a free port, for tests.

    Its ``address`` and the ``token`` of an administrator are in what it gives.
    """
    found = Serving(url, Options(**{"port": 0, **options}))
    thread = Thread(target=found.run, name="pm serving")
    thread.start()
    try:
        end = monotonic() + PATIENCE
        while not found.is_ready and thread.is_alive() and monotonic() < end:
            sleep(0.01)
        if not found.is_ready:
            raise StorageError("the server did not start.")
        yield found
    finally:
        found.stop()
        thread.join(PATIENCE)
