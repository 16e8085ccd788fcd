"""Progress that tells the truth: what is done, what was there before, how fast, how long still."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any


class Progress:
    """A bar per game and policy on a terminal; nothing in a log, except what must be said."""

    def __init__(self, *, visible: bool) -> None:
        self.visible = visible and sys.stderr.isatty()
        self._bars: Any = None
        self._tasks: dict[Any, Any] = {}
        self._rounds: dict[Any, int] = {}
        self._played = 0
        self._start = monotonic()

    def __enter__(self) -> Progress:
        if self.visible:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bars

            self._bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
                TextColumn("{task.fields[note]}", style="dim"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, line: str) -> None:
        """Print a line that must not be missed."""
        print(f"pm: {line}", file=sys.stderr)

    def add(self, key: tuple[str, ...], horizon: int, runs: int, missing: int) -> None:
        """Add a bar for runs of which some may be there already."""
        self._rounds[key] = horizon
        if self._bars is None:
            return
        from rich.markup import escape

        game, theta, policy = map(escape, key)
        there = runs - missing
        note = "all were there" if not missing else f"{there} were there" if there else ""
        title = f"{game} [dim]{theta}[/dim] {policy}"
        self._tasks[key] = self._bars.add_task(title, total=runs, completed=there, note=note)
        self._start = monotonic()

    def advance(self, key: tuple[str, ...], runs: int) -> None:
        """Tell that some runs were finished."""
        self._played += runs * self._rounds[key]
        if self._bars is None:
            return
        self._bars.advance(self._tasks[key], runs)
        elapsed = max(monotonic() - self._start, 1e-9)
        speed = self._played / elapsed
        left = sum(
            (task.total - task.completed) * self._rounds[own]
            for own, number in self._tasks.items()
            for task in self._bars.tasks
            if task.id == number
        )
        note = f"{speed:,.0f} rounds/s in all, {_duration(left / speed)} left in all"
        self._bars.update(self._tasks[key], note=note)


def _duration(seconds: float) -> str:
    """Show a duration for people.

    >>> _duration(5), _duration(190), _duration(7300)
    ('5 s', '3 min', '2 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.0f} h"
