"""What the tests of experiments share."""

from __future__ import annotations

from typing import Any

import pytest

from partial_monitoring.experiments.runs import Configuration
from partial_monitoring.simulation.result import Result


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """Record which cells and seeds are played."""
    record: list[tuple[str, list[int]]] = []
    original = Configuration.play

    def play(cell: Configuration, seeds: Any, threads: int | None = None) -> Result:
        record.append((cell.key, seeds.tolist()))
        return original(cell, seeds, threads)

    monkeypatch.setattr(Configuration, "play", play)
    return record
