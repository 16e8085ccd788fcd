"""The service: decisions that are stored, in process and over HTTP, against Optuna's storages."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table
from tests.storage import cluster

from benchmarks import service_peers as peers

PAIRS, BLOCKS = 100, 3
"""Asks and tells of a block, and blocks of each row, of which the fastest counts."""

BARS = {"SQLite": ("Optuna, SQLite", 15.0), "PostgreSQL": ("Optuna, PostgreSQL", 7.0)}
"""How many times as many pairs a second the issue asks for."""

JOURNAL = 1.5
"""The same against Optuna's journal, of SQLite."""


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
    found = dict.fromkeys(rows, 0.0)
    for pair in rows.values():
        peers.pairs_a_second(pair, 10)
    for _ in range(BLOCKS):
        for name, pair in rows.items():
            found[name] = max(found[name], peers.pairs_a_second(pair, PAIRS))
    table = Table(title="Stored decisions in process: pairs of ask and tell a second")
    for column in ("storage", "pairs/s", "times Optuna", "bar", "times Optuna's journal"):
        table.add_column(column)
    for name in rows:
        cells = [name, f"{found[name]:,.0f}"]
        if name in BARS:
            peer, bar = BARS[name]
            ratio = found[name] / found[peer] if peer in found else None
            cells += ["-" if ratio is None else f"{ratio:.1f}", f"{bar:g}"]
        elif name == "memory" and "Optuna, in memory" in found:
            cells += [f"{found[name] / found['Optuna, in memory']:.1f}", "-"]
        else:
            cells += ["", ""]
        against = found.get("Optuna, journal")
        shown = against is not None and not name.startswith("Optuna")
        cells.append(f"{found[name] / against:.1f}" if shown and against else "")
        table.add_row(*cells)
    table.caption = (
        f"The fastest of {BLOCKS} blocks of {PAIRS} pairs, rows in turn. Five prices, default "
        f"policy; Optuna with its RandomSampler, which learns nothing. SQLite with "
        f"synchronous=FULL, PostgreSQL with fsync, both on one machine. Bar against the journal: "
        f"{JOURNAL:g} on SQLite."
    )
    return table


def run(*, large: bool = False) -> list[Table]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        own = stack.enter_context(cluster.running(peers.Cluster)) if peers.POSTGRES else None
        return [in_process(folder, own)]
