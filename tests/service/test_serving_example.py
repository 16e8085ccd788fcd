"""``make serve-demo``: a case is played against ``pm serve``, which is killed in the middle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from examples.serving.customers import stream

ROOT = Path(__file__).parents[2]

pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)


def test_customers_answer_what_their_action_shows() -> None:
    own = stream()
    assert own.cautious in own.game.actions
    for label in own.game.actions:
        shown = {own.answer(customer, label) for customer in range(own.count)}
        assert shown <= set(own.game.symbols[own.game.action_index(label)])


@pytest.mark.nightly
def test_nothing_is_lost(tmp_path: Path) -> None:
    options = ["--once", "--pause", "0.03", "--file", str(tmp_path / "shop.db")]
    command = [sys.executable, "-m", "examples.serving", *options]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was lost." in done.stdout
    assert "all is equal." in done.stdout
