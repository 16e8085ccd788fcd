"""The service: decisions that are stored, in process and over HTTP, against Optuna's storages."""

from __future__ import annotations

from contextlib import ExitStack
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table
from tests.storage import cluster

from benchmarks import service_http as over_http
from benchmarks import service_large
from benchmarks import service_peers as peers
from benchmarks.timing import show

PAIRS, BLOCKS = 50, 6
"""Asks and tells of a block, and blocks of each row, of which the fastest counts."""

BARS = {"SQLite": ("Optuna, SQLite", 15.0), "PostgreSQL": ("Optuna, PostgreSQL", 7.0)}
"""How many times as many pairs a second are to be reached."""

JOURNAL = 1.5
"""The same against Optuna's journal, of SQLite."""

THREADS, EACH = 16, 10
"""Threads of Optuna that share a study, and pairs of each."""

CLIENTS = (16, 64)
"""Of the service, over HTTP."""

SHARED = 20.0
"""How many times the pairs of Optuna's threads are to be reached over HTTP with as many clients."""

PARTS = 2.0
"""How many times the sum of its parts an event may cost the server."""


def in_process(folder: Path, own: Any) -> Table:
    """Pairs a second in one process, each row with the same number of pairs."""
    rows = {"memory": peers.ours("memory"), "SQLite": peers.ours(f"sqlite:///{folder}/ours.db")}
    if own is not None:
        rows["PostgreSQL"] = peers.ours(own.new("ours"))
    if peers.OPTUNA:
        rows["Optuna, in memory"] = peers.optunas(None)
        rows["Optuna, SQLite"] = peers.optunas(f"sqlite:///{folder}/optuna.db")
        if own is not None:
            rows["Optuna, PostgreSQL"] = peers.optunas(peers.by_sqlalchemy(own.new("optuna")))
        rows["Optuna, journal"] = peers.optunas(peers.journal(folder / "journal"))
    found = dict.fromkeys(rows, (inf, inf))
    for pair in rows.values():
        peers.timed(pair, 10)
    for _ in range(BLOCKS):
        for name, pair in rows.items():
            clock, processor = peers.timed(pair, PAIRS)
            found[name] = min(found[name][0], clock), min(found[name][1], processor)
    table = Table(title="Stored decisions in process: pairs of ask and tell")
    for column in ("storage", "pairs/s", "processor", "times Optuna", "by processor", "bar"):
        table.add_column(column)
    table.add_column("times Optuna's journal")
    for name, own in found.items():
        peer, bar = BARS.get(name, ("Optuna, in memory" if name == "memory" else "", None))
        theirs, journal = found.get(peer), found.get("Optuna, journal")
        ratios = (
            ["", ""]
            if theirs is None
            else [f"{b / a:.1f}" for a, b in zip(own, theirs, strict=True)]
        )
        last = "" if journal is None or "Optuna" in name else f"{journal[0] / own[0]:.1f}"
        shown = "" if bar is None else f"{bar:g}"
        table.add_row(name, f"{1 / own[0]:,.0f}", show(own[1]), *ratios, shown, last)
    table.caption = (
        f"The fastest of {BLOCKS} blocks of {PAIRS} pairs, rows in turn. Three prices, default "
        f"policy; Optuna with its RandomSampler, which learns nothing. SQLite with "
        f"synchronous=FULL, PostgreSQL with fsync, all on one machine. Processor: time of this "
        f"process, which others that share the machine change less. Bar against the journal: "
        f"{JOURNAL:g} on SQLite."
    )
    return table


def loads(server: over_http.Server, storage: str) -> list[tuple[str, over_http.Load]]:
    """Return what loads of all sizes find, from our own clients and from wrk if it is there."""
    kinds = (False, True) if over_http.has_wrk() else (False,)
    each = [(clients, wrk) for clients in CLIENTS for wrk in kinds]
    return [(storage, server.load(clients, wrk=wrk)) for clients, wrk in each]


def http(found: list[tuple[str, over_http.Load]], own: Any) -> Table:
    """Requests a second over HTTP, and pairs a second against Optuna's threads."""
    theirs = None
    if peers.OPTUNA and own is not None:
        study = peers.optunas(peers.by_sqlalchemy(own.new("threads")))
        theirs = max(peers.in_threads(study, THREADS, EACH) for _ in range(BLOCKS))
    table = Table(title="The service over HTTP: asks and their tells, every answer stored")
    for column in ("storage", "clients", "requests/s", "p50", "p99", "refused", "times Optuna"):
        table.add_column(column)
    for storage, load in found:
        times = "" if theirs is None else f"{load.requests / 2 / theirs:.0f}"
        numbers = f"{load.requests:,.0f}", show(load.p50), show(load.p99), str(load.refused)
        table.add_row(storage, f"{load.clients} ({load.by})", *numbers, times)
    if theirs is not None:
        shared = f"{THREADS} threads", f"{theirs:,.0f} pairs/s"
        table.add_row("Optuna, PostgreSQL", *shared, "", "", "", "1")
    table.caption = (
        f"Every client asks, tells and asks again on one connection, {over_http.SECONDS} s, server "
        f"and clients on one machine. Times Optuna: pairs a second against its {THREADS} threads "
        f"on PostgreSQL in this run; the bar is {SHARED:g} with 16 clients."
    )
    return table


def parts(folder: Path, found: list[tuple[str, over_http.Load]]) -> Table:
    """Return what an event costs the server against the parts that it cannot do without."""
    with over_http.started("bare") as server:
        bare = min(server.load(clients).cpu for clients in CLIENTS)
    row = over_http.row_seconds(folder)
    table = Table(title="Processor time of an event: the server against the sum of its parts")
    columns = "clients", "server", "bare request", "decision", "row", "sum", "ratio", "bar"
    for column in (*columns, "ratio, nothing open"):
        table.add_column(column)
    alone = over_http.decision_seconds(0)
    for storage, load in found:
        if storage == "SQLite":
            decision = over_http.decision_seconds(load.clients // 2)
            total = bare + decision + row
            shown = map(show, (load.cpu, bare, decision, row, total))
            ratios = (
                f"{load.cpu / total:.2f}",
                f"{PARTS:g}",
                f"{load.cpu / (bare + alone + row):.2f}",
            )
            table.add_row(f"{load.clients} ({load.by})", *shown, *ratios)
    table.caption = (
        "Bare request: a route of Starlette in the same server that reads and writes as many bytes "
        "of JSON. Decision: half of an ask and its tell in process and in memory, while half as "
        "many decisions are open as there are clients; last column, while none is. Row: of a "
        f"commit of {over_http.ROWS} rows to SQLite, synchronous=FULL."
    )
    return table


def run(*, large: bool = False) -> list[Table]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        own = stack.enter_context(cluster.running(peers.Cluster)) if peers.POSTGRES else None
        tables = [in_process(folder, own)]
        found = []
        with over_http.started(f"sqlite:///{folder}/served.db") as server:
            found += loads(over_http.with_study(server), "SQLite")
        if own is not None:
            with over_http.started(own.new("served")) as server:
                found += loads(over_http.with_study(server), "PostgreSQL")
        tables += [http(found, own), parts(folder, found)]
        return [*tables, service_large.run(folder)] if large else tables
