"""A service for one study, of the standard library alone, that can be told to misbehave."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import partial_monitoring as pm

TOKEN = "pm_id_secret"
STUDY = "/v1/studies/pricing"

Fault = Callable[["Handler"], bool]
"""Answers a request in place of the service; false if the service is to answer it, too."""


class Fake(ThreadingHTTPServer):
    """The service; ``faults`` are what happens to the next requests, one for each."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, learner: pm.Learner | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.learner = learner or pm.Learner("dynamic_pricing", seed=1)
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.seen: list[tuple[str, str, dict[str, str], Any]] = []
        self.by_key: dict[str, Any] = {}
        self.rows: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        self.lock = threading.Lock()
        self.scheme = "http"
        self.sockets: set[socket.socket] = set()

    @property
    def address(self) -> str:
        return f"{self.scheme}://localhost:{self.server_port}"

    def client(self, **options: Any) -> pm.Learner:
        return pm.Learner(storage=self.address, name="pricing", token=TOKEN, **options)

    def verbs(self) -> list[str]:
        return [path.rpartition("/")[2] for method, path, *_ in self.seen if method == "POST"]

    def handle_error(self, *given: Any) -> None:
        pass

    def kill(self) -> None:
        """End at once, with all connections; the study is kept."""
        self.shutdown()
        self.server_close()
        for own in list(self.sockets):
            with suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)

    # -- verbs -----------------------------------------------------------------------------------

    def ask(self, given: dict[str, Any]) -> Any:
        if given["key"] in self.by_key:
            return {"decisions": [row | {"repeated": True} for row in self.by_key[given["key"]]]}
        options = {name: given[name] for name in ("context", "available") if name in given}
        made = self.learner.ask(count=given.get("count", 1), **options)
        rows = [
            own.to_dict() | {"number": int(str(own.id).rpartition("-")[2]), "repeated": False}
            for own in made
        ]
        self.by_key[given["key"]] = rows
        return {"decisions": rows}

    def tell(self, given: dict[str, Any]) -> Any:
        found = []
        for own in given.get("answers", [given]):
            name, seen = own["decision"], own["observation"]
            row = {"decision": name, "result": "told"}
            if self.told.get(name, UNTOLD) == seen:
                row["result"] = "duplicate"
            else:
                try:
                    self.learner.tell(name, seen)
                    self.told[name] = seen
                except pm.errors.InvalidInput as error:
                    if "answers" not in given:
                        raise
                    row |= {"result": "refused", "status": 422, "detail": str(error)}
            found.append(row)
        return {"answers": found}

    def history(self, given: dict[str, Any]) -> Any:
        once = {row["key"]: row for row in given["rows"] if row["key"] not in self.rows}
        new = list(once.values())
        columns = {name: [row[name] for row in new] for name in ("action", "observation")}
        if new:
            self.learner.tell_past(columns["action"], columns["observation"])
        self.rows |= {row["key"]: row for row in new}
        return {"accepted": len(new), "repeated": len(given["rows"]) - len(new)}

    def cancel(self, given: dict[str, Any]) -> Any:
        self.learner.cancel(given["decisions"])
        return {}

    def amend(self, given: dict[str, Any]) -> Any:
        self.learner.amend(given["decision"], given["observation"])
        return {}

    def reset(self, given: dict[str, Any]) -> Any:
        self.learner.reset()
        return {}

    # -- what is read ----------------------------------------------------------------------------

    def read(self, path: str, query: dict[str, str]) -> Any:
        own = self.learner
        if path == STUDY:
            return {"round": own.round}
        if path == f"{STUDY}/spec":
            return own._spec.to_dict()
        if path == f"{STUDY}/events":
            first, limit = int(query["after"]), int(query["limit"])
            rows = own.events[first : first + limit]
            last = rows[-1]["seq"] if rows else first
            return {"events": rows, "next": last if last < len(own.events) else None}
        if path == f"{STUDY}/decisions":
            rows = [{"number": int(str(x.id).rpartition("-")[2]), **x._asdict()} for x in own.open]
            times = [row.pop("since").timestamp() for row in rows]
            rows = [row | {"asked_at": at} for row, at in zip(rows, times, strict=True)]
            return {"decisions": rows, "next": None}
        if path == f"{STUDY}/status":
            found = own.status().to_dict()
            promise = {"guaranteed": False, "sentence": "Practical, no bound holds: measured."}
            return found | {"actions": found.pop("table"), "promise": promise, "why": ""}
        if path.endswith("/why"):
            label = next(row["label"] for row in own.history if row["id"] == path.split("/")[-2])
            return {
                **{"reason": "it looks best", "notes": ["may lose: per round"], "ratio": None},
                **{"columns": ["action", "chosen"], "rows": [[f"{label} <", "100.0%"]]},
                "actions": [{"label": label, "probability": 1.0, "gaps": 0.5, "information": None}],
                **{"beta": 2.0, "decided_by": None, "units": {"gaps": "g", "information": "i"}},
            }
        raise KeyError(path)


UNTOLD = object()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Fake

    def setup(self) -> None:
        super().setup()
        self.server.sockets.add(self.request)

    def finish(self) -> None:
        self.server.sockets.discard(self.request)
        super().finish()

    def do_GET(self) -> None:
        self.handled("GET")

    def do_POST(self) -> None:
        self.handled("POST")

    def handled(self, method: str) -> None:
        own, parts = self.server, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.given = json.loads(body) if body else {}
        self.verb = parts.path.rpartition("/")[2]
        with own.lock:
            own.seen.append((method, parts.path, dict(self.headers), self.given))
            fault = own.faults.popleft() if own.faults else own.always
        if fault is not None and fault(self):
            return
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.problem(401, "the token is not valid.")
            return
        try:
            with own.lock:
                if method == "GET":
                    query = {name: x[0] for name, x in parse_qs(parts.query).items()}
                    found = own.read(parts.path, query)
                else:
                    found = getattr(own, self.verb)(self.given)
        except pm.errors.InvalidInput as error:
            self.problem(422, str(error))
        except KeyError:
            self.problem(404, f"there is no {parts.path}.")
        else:
            self.answer(200, json.dumps(found).encode())

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status: int, detail: str, **headers: str) -> None:
        self.answer(status, json.dumps({"status": status, "detail": detail}).encode(), **headers)

    def log_message(self, *words: Any) -> None:
        pass


# -- faults --------------------------------------------------------------------------------------


def lost(handler: Handler) -> bool:
    """Carry the request out, and close the connection before the answer."""
    with handler.server.lock:
        getattr(handler.server, handler.verb)(handler.given)
    hang_up(handler)
    return True


def hang_up(handler: Handler) -> bool:
    """Close the connection and do nothing."""
    handler.close_connection = True
    handler.request.shutdown(socket.SHUT_RDWR)
    return True


def refusing(status: int, detail: str = "later.", **headers: str) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.problem(status, detail, **headers)
        return True

    return fault


def slow(seconds: float) -> Fault:
    def fault(handler: Handler) -> bool:
        time.sleep(seconds)
        return False

    return fault


def saying(body: bytes, status: int = 200, **headers: str) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.answer(status, body, **headers)
        return True

    return fault


def raw(*parts: bytes, pause: float = 0.0) -> Fault:
    """Send bytes as they are, with pauses, and hang up."""

    def fault(handler: Handler) -> bool:
        try:
            for part in parts:
                handler.wfile.write(part)
                handler.wfile.flush()
                time.sleep(pause)
        except OSError:
            pass
        return hang_up(handler)

    return fault


@contextmanager
def served(
    learner: pm.Learner | None = None, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[Fake]:
    own = Fake(learner, port)
    if tls is not None:
        own.socket, own.scheme = tls.wrap_socket(own.socket, server_side=True), "https"
    thread = threading.Thread(target=own.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield own
    finally:
        own.kill()
        thread.join()
