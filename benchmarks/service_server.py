"""A server in a process of its own, whose processor time and memory can be read from outside.

``python -m benchmarks.service_server URL`` serves a database; with ``bare`` in place of an address,
nothing but a route of Starlette that answers as many bytes. The address and a token are printed.
"""

from __future__ import annotations

import json
import socket
import sys
from threading import Thread
from time import sleep
from typing import Any

ANSWER = {
    "decisions": [
        {
            "id": "k3f9x0q7tm-1000000",
            "number": 1000000,
            "label": "$3",
            "action": 2,
            "probability": 1.0,
            "round": 1000001,
            "asked_at": 1767225600.123,
            "repeated": False,
        }
    ]
}
"""As many bytes as the answer to an ask."""


def tell(address: str, token: str) -> None:
    print(json.dumps({"address": address, "token": token}), flush=True)


def served(url: str) -> None:
    """Serve a database, with no limit on how fast one token may ask."""
    from partial_monitoring.service.http.limits import Limits
    from partial_monitoring.service.server import Options, serve

    def started(own: Any) -> None:
        def wait() -> None:
            while not own.is_ready:
                sleep(0.002)
            tell(own.address, own.token)

        Thread(target=wait, daemon=True).start()

    serve(url, Options(port=0, limits=Limits(rate=1e9)), started)


def bare() -> None:
    """Serve one route, which reads JSON and answers JSON."""
    import orjson
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def answer(request: Request) -> Response:
        orjson.loads(await request.body())
        return Response(orjson.dumps(ANSWER), media_type="application/json")

    app = Starlette(routes=[Route("/v1/studies/{study}/{verb}", answer, methods=["POST"])])
    own = socket.socket()
    own.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, http="httptools", loop="uvloop", log_level="error")
    server = uvicorn.Server(config)
    tell(f"http://127.0.0.1:{own.getsockname()[1]}", "none")
    server.run(sockets=[own])


if __name__ == "__main__":
    bare() if sys.argv[1] == "bare" else served(sys.argv[1])
