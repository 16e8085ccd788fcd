"""The command ``pm serve``: learners for everybody who can reach an address."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from partial_monitoring.errors import InvalidInput

if TYPE_CHECKING:
    from partial_monitoring.service.server import Serving

DEFAULT = "sqlite:///partial-monitoring.db"


@click.command()
@click.argument("address", default=DEFAULT)
@click.option("--port", default=8787, show_default=True, help="0 for one that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="A certificate, for https.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key.")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front does https.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name of this server.")
@click.option("--rate", default=2000.0, show_default=True, help="Requests a second of a token.")
@click.option("--access-log", is_flag=True, help="Log every request, without secrets.")
@click.option("--token-label", default="first start", help="Name the first token.")
def serve(
    address: str,
    port: int,
    host: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    allow_host: tuple[str, ...],
    rate: float,
    access_log: bool,
    token_label: str,
) -> None:
    """Serve the learners of a database: ask, tell, and a page that shows them.

    \b
    pm serve                                    partial-monitoring.db in this folder
    pm serve sqlite:///shop.db --port 9000      another file, another port
    pm serve postgresql://db/shop               as many processes as you like
    pm serve sqlite:///shop.db --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem

    The first start prints a token, once; only its hash is stored. Further ones, with fewer rights:
    pm tokens create http://127.0.0.1:8787 --role play --study pricing

    Only this machine can connect unless --host says otherwise, which takes a certificate, or a
    proxy in front. Ctrl-C or SIGTERM ends it in order: nothing that was answered is lost.

    The interface is described at /api, and for programs at /openapi.json.
    """
    if not 0 <= port <= 65535:
        raise InvalidInput(f"--port must be from 0 to 65535; got {port}.")
    if not 1 <= rate <= 1e9:
        raise InvalidInput(f"--rate must be at least 1; got {rate:g}.")
    try:
        from partial_monitoring.service import server
        from partial_monitoring.service.http.limits import Limits
        from partial_monitoring.service.process import log_to_stderr
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"pm serve needs {error.name}; in a clone, install it with pip install '.[serve]'."
        ) from None
    log_to_stderr()
    options = server.Options(
        host=host,
        port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
        allow_hosts=allow_host,
        limits=Limits(rate=rate),
        access_log=access_log,
        label=token_label,
    )
    server.serve(address, options, told)
    if any(own.name.startswith("pm ") for own in threading.enumerate()):
        sys.stdout.flush()
        os._exit(0)  # all is stored; what somebody still computes is not waited for


def told(serving: Serving) -> None:
    """Print where the service is, and how to use it."""
    address, token = serving.address, serving.first
    click.echo(f"Serving {serving.database.address} at {address}  (Ctrl-C ends it)")
    if token is None:
        click.echo(f"Open    {address}/login with your token; the interface: {address}/api")
        return
    auth = '-H @<(echo "Authorization: Bearer $PM_TOKEN")'
    game = """'{"name": "pricing", "game": {"named": "dynamic_pricing"}}'"""
    click.echo(
        f"""Open    {address}/login#{token}

This token is shown once. A first decision, from bash or zsh (after an installation, the first
study takes up to a minute, because it is compiled for this machine):

  export PM_TOKEN={token}
  curl {auth} {address}/v1/studies -d {game}
  curl {auth} {address}/v1/studies/pricing/ask -d '{{}}'
"""
    )
