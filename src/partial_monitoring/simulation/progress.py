"""Progress of simulations and experiments on standard error: done, stored, rate, time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any


class Progress:
    """Progress bars on a terminal or in a notebook; in a log, only warnings.

    Parameters
    ----------
    visible
        Whether to show bars at all.
    unit
        What the bars count, in the plural.
    """

    def __init__(self, *, visible: bool, unit: str = "runs") -> None:
        self.visible = visible and (sys.stderr.isatty() or _in_notebook())
        self.unit = unit
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
                TextColumn(f"{{task.completed:.0f}}/{{task.total:.0f}} {self.unit}"),
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
        """Print a warning."""
        print(f"pm: {line}", file=sys.stderr)

    def add(self, key: tuple[str, ...], rounds: int, total: int, missing: int) -> None:
        """Add a bar of ``total`` units of ``rounds`` rounds each, some of them not stored yet."""
        self._rounds[key] = rounds
        if self._bars is None:
            return
        from rich.markup import escape

        words = [escape(word) for word in key]
        words[1:-1] = [f"[dim]{word}[/dim]" for word in words[1:-1]]
        title = " ".join(words)
        stored = total - missing
        note = "all stored before" if not missing else f"{stored} stored before" if stored else ""
        self._tasks[key] = self._bars.add_task(title, total=total, completed=stored, note=note)
        self._start = monotonic()

    def advance(self, key: tuple[str, ...], count: int) -> None:
        """Report that some more units of a bar are finished."""
        self._played += count * self._rounds[key]
        if self._bars is None:
            return
        self._bars.advance(self._tasks[key], count)
        speed = self._played / max(monotonic() - self._start, 1e-9)
        tasks = {task.id: task for task in self._bars.tasks}
        left = sum(
            (tasks[number].total - tasks[number].completed) * self._rounds[own]
            for own, number in self._tasks.items()
        )
        what = " in total" if len(tasks) > 1 else ""
        note = f"{speed:,.0f} rounds/s{what}, {_duration(left / speed)} left{what}"
        self._bars.update(self._tasks[key], note=note)


@contextmanager
def round_counter(title: str | None, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of finished rounds; without a title nothing shows."""
    with Progress(visible=title is not None, unit="rounds") as shown:
        key, step, before = (str(title),), max(1, total // 200), 0
        shown.add(key, 1, total, total)

        def advance(done: int) -> None:
            nonlocal before
            if done % step == 0 or done == total:
                shown.advance(key, done - before)
                before = done

        yield advance


def _in_notebook() -> bool:
    from rich.console import Console

    return Console(stderr=True).is_jupyter


def _duration(seconds: float) -> str:
    """Show a duration for people.

    >>> _duration(5), _duration(190), _duration(7300)
    ('5 s', '3 min', '2 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.0f} h"
