"""Print the tables of all benchmarks (``make bench``) or of those named on the command line."""

from __future__ import annotations

import sys

from rich.console import Console

from benchmarks import (
    certified,
    classification,
    contextual,
    engine,
    kernelized,
    model,
    preferences,
    regret,
    scaling,
)

PARTS = {
    "model": model,
    "classification": classification,
    "engine": engine,
    "contextual": contextual,
    "kernelized": kernelized,
    "preferences": preferences,
    "scaling": scaling,
    "certified": certified,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["regret"]:  # has options of its own, and takes hours
        regret.main(sys.argv[2:], prog_name="python -m benchmarks regret")
    console = Console(width=120)
    for name in sys.argv[1:] or PARTS:
        tables = PARTS[name].run()
        for table in tables if isinstance(tables, list) else [tables]:
            console.print(table)
