"""Run every benchmark and print its table: ``make bench``."""

from __future__ import annotations

from rich.console import Console

from benchmarks import classification, model

if __name__ == "__main__":
    console = Console(width=110)
    for part in (model, classification):
        console.print(part.run())
