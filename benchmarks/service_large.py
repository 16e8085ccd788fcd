"""A study of a million decisions: how long it takes to ask, to start, and what it holds."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from rich.table import Table

import partial_monitoring as pm
from benchmarks import service_http as over_http
from benchmarks import service_peers as peers
from benchmarks.timing import show
from partial_monitoring.storage.sqlite import opened

SMALL, LARGE = 1_000, 1_000_000
"""Decisions."""

TOGETHER = 1_000
"""Pairs of a commit while the study is built."""

ASKS = 500
"""Of which the median counts."""

SLOWER, MEGABYTES = 1.2, 50
"""By which factor asking may become slower, and what a million answered decisions may hold."""


def memory() -> int:
    """Return the bytes that this process holds."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def asking(learners: Sequence[pm.Learner]) -> list[float]:
    """Return the median processor time of an ask of each learner, in turn; decisions are told."""
    taken: list[list[float]] = [[] for _ in learners]
    for _ in range(ASKS):
        for learner, own in zip(learners, taken, strict=True):
            began = process_time()
            decision = learner.ask()
            own.append(process_time() - began)
            learner.tell(decision, "yes")
    return list(map(median, taken))


def grown(learner: pm.Learner, decisions: int) -> None:
    """Ask and tell until there are so many decisions, many pairs with one commit."""
    while learner.round <= decisions:
        with learner._turn():
            for _ in range(min(TOGETHER, decisions + 1 - learner.round)):
                learner.tell(learner.ask(), "yes")


def run(folder: Path) -> Table:
    """Return a table of both sizes, on SQLite."""
    address = f"sqlite:///{folder}/large.db"
    few, many = (pm.Learner(peers.game(), storage=address, name=own) for own in ("few", "many"))
    for learner in (few, many):
        grown(learner, SMALL)
        asking([learner])
    before, began = memory(), perf_counter()
    grown(many, LARGE)
    built, after = perf_counter() - began, memory()
    asks = asking([few, many])
    opened(address).close()
    with over_http.started(address) as server:
        start, held = server.start, server.memory()
    table = Table(title=f"A study of {LARGE:,} decisions on SQLite")
    for column in ("", "found", "bar"):
        table.add_column(column)
    ask = f"{show(asks[0])} at {SMALL:,}, {show(asks[1])} at {LARGE:,}: {asks[1] / asks[0]:.2f}"
    table.add_row("ask, median processor time", ask, f"{SLOWER:g}")
    more = (after - before) / (LARGE - SMALL)  # bytes a decision, megabytes a million
    table.add_row("memory per million answered decisions", f"{more:.1f} MB", f"{MEGABYTES} MB")
    table.add_row("pairs a second while it was built", f"{(LARGE - SMALL) / built:,.0f}", "")
    table.add_row("the service starts in", show(start), "")
    table.add_row("and holds then", f"{held / 1e6:.0f} MB", "")
    return table
