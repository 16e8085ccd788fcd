"""uvicorn as it is used here: its settings, its signals, and what it logs."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import uvicorn

from partial_monitoring.errors import InvalidInput
from partial_monitoring.service.http.protocol import look_after, protocol

GRACE: Final = 5
"""Seconds that requests have to be answered when the server is told to stop."""

SECURE: Final = ("strict-transport-security", "max-age=31536000")
"""What tells browsers to come by https only."""

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

SECRET: Final = re.compile(r"(pm_[0-9a-f]{12}_)[A-Za-z0-9_-]{20,}")


def check_certificate(cert: Path, key: Path) -> None:
    """Refuse a certificate that cannot be used."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (ssl.SSLError, OSError) as error:
        said = str(getattr(error, "reason", None) or error).rstrip(".")
        raise InvalidInput(f"{cert}: is no certificate with this key: {said}.") from None


def configured(app: Any, options: Any) -> uvicorn.Config:
    """Return the settings of a server."""
    config = uvicorn.Config(
        app,
        http=protocol(options.limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[] if options.tls_cert is None else [SECURE],
        proxy_headers=options.behind_proxy,
        timeout_keep_alive=int(options.limits.idle),
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    config.load()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # anybody can cause a warning
    return config


class Server(uvicorn.Server):
    """A server that says when it has started, and is not ready once it is told to stop.

    Parameters
    ----------
    config
        Its settings.
    service
        What is told that it stops.
    on_start
        Called when it listens.
    """

    def __init__(self, config: uvicorn.Config, service: Any, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._on_start = service, on_start
        self._task: asyncio.Task[None] | None = None

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        self._task = asyncio.create_task(look_after(self.server_state.connections))
        self._on_start()

    async def shutdown(self, sockets: Any = None) -> None:
        self._service.stopping = True
        await super().shutdown(sockets=sockets)
        if self._task is not None:
            self._task.cancel()

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._service.stopping = True
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {own: signal.signal(own, self.handle_exit) for own in SIGNALS}
        try:
            yield  # a stop that was asked for is no failure, so the signal ends here
        finally:
            for own, handler in before.items():
                signal.signal(own, handler)


class WithoutSecrets(logging.Filter):
    """A filter that leaves no token in what is logged, should it get there."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if SECRET.search(text):
            record.msg, record.args = SECRET.sub(r"\1...", text), ()
        return True


def log_to_stderr() -> None:
    """Write what happens to standard error."""
    handler = logging.StreamHandler()
    handler.addFilter(WithoutSecrets())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
