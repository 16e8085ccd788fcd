"""Numbers for Prometheus, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from partial_monitoring import __version__
from partial_monitoring.errors import StorageError
from partial_monitoring.service.study.hosted import ARCHIVED

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)

HELP: Final = {
    "pm_info": ("gauge", "The version of the library."),
    "pm_ready": ("gauge", "1 while requests are accepted and can be stored."),
    "pm_requests_total": ("counter", "Requests by verb and status."),
    "pm_ask_seconds": ("histogram", "Time to answer an ask."),
    "pm_tell_seconds": ("histogram", "Time to answer a tell."),
    "pm_commit_seconds": ("histogram", "Time to decide and store what shares a commit."),
    "pm_batch_size": ("histogram", "Requests that were stored together."),
    "pm_tells_total": ("counter", "Answers by what became of them."),
    "pm_version": ("gauge", "Number of the last event of a study."),
    "pm_fold_lag": ("gauge", "Events that are stored but not yet known to this process."),
    "pm_open_decisions": ("gauge", "Decisions that wait for their answers."),
    "pm_plausible_actions": ("gauge", "Actions that may still be the best."),
    "pm_at_risk": ("gauge", "What the best guess may lose per round."),
    "pm_regret_estimate": ("gauge", "Estimated regret so far."),
    "pm_alarm": ("gauge", "1 while an alarm is raised."),
}
"""The kind of each number, and what it is."""

GAUGES: Final = {
    "pm_plausible_actions": "plausible",
    "pm_at_risk": "at_risk",
    "pm_regret_estimate": "regret_estimate",
}
"""Numbers that a view prepares, and what it calls them."""

Labels = Mapping[str, str]


class Histogram:
    """How many values are at most as large as each of some bounds; threads may share it."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds, self._counts = bounds, [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """Yield its lines."""
        total = 0
        for bound, count in zip(self._bounds, self._counts, strict=False):
            total += count
            yield line(f"{name}_bucket", total, {"le": f"{bound:g}"})
        total += self._counts[-1]
        yield line(f"{name}_bucket", total, {"le": "+Inf"})
        yield line(f"{name}_sum", self._sum)
        yield line(f"{name}_count", total)


class Metrics:
    """What a server has done, and how its studies are."""

    def __init__(self, engine: Any) -> None:
        self._engine, self._lock = engine, Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._tells: Counter[str] = Counter()
        self._commits, self._sizes = Histogram(SECONDS), Histogram(SIZES)
        self._timed = {"ask": Histogram(SECONDS), "tell": Histogram(SECONDS)}

    def counted(self, verb: str, status: int, seconds: float) -> None:
        """Count a request that was answered; in the loop only."""
        self._requests[verb, status] += 1
        timed = self._timed.get(verb)
        if timed is not None:
            timed.observe(seconds)

    def batched(self, count: int) -> None:
        """Count answers that came together."""
        with self._lock:
            self._sizes.observe(count)

    def committed(self, seconds: float) -> None:
        """Note how long it took to decide and store a batch; in any thread."""
        with self._lock:
            self._commits.observe(seconds)

    def told(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Count what became of answers."""
        for own in results:
            self._tells[own["result"]] += 1

    def text(self) -> str:
        """Return everything as text."""
        found = {name: list[str]() for name in HELP}
        found["pm_info"].append(line("pm_info", 1, {"version": __version__}))
        found["pm_ready"].append(line("pm_ready", int(self._engine.ready)))
        for (verb, code), count in sorted(self._requests.items()):
            own = {"verb": verb, "code": str(code)}
            found["pm_requests_total"].append(line("pm_requests_total", count, own))
        for result, count in sorted(self._tells.items()):
            found["pm_tells_total"].append(line("pm_tells_total", count, {"kind": result}))
        histograms = {
            "pm_ask_seconds": self._timed["ask"],
            "pm_tell_seconds": self._timed["tell"],
            "pm_commit_seconds": self._commits,
            "pm_batch_size": self._sizes,
        }
        for name, histogram in histograms.items():
            found[name] += histogram.lines(name)
        for study, hosted in sorted(self._engine.studies.items()):
            if hosted.state == ARCHIVED:  # what is open there is open in its successor
                continue
            for name, labels, value in of_study(hosted):
                found[name].append(line(name, value, {"study": study, **labels}))
        parts = []
        for name, lines in found.items():
            if lines:
                kind, said = HELP[name]
                parts += [f"# HELP {name} {said}", f"# TYPE {name} {kind}", *lines]
        return "\n".join(parts) + "\n"


def of_study(hosted: Any) -> Iterator[tuple[str, Labels, float]]:
    """Yield the numbers of a study: what it knows by itself, and what its views have prepared."""
    yield "pm_version", {}, hosted.version
    with suppress(StorageError):  # these numbers must be there when the database is not
        yield "pm_fold_lag", {}, max(0, hosted.study.version - hosted.version)
    yield "pm_open_decisions", {}, len(hosted._session.open)
    known = gauges(hosted)
    for name, key in GAUGES.items():
        value = known.get(key)
        yield name, {}, float("nan") if value is None else value
    for kind, raised in known.get("alarms", {}).items():
        yield "pm_alarm", {"kind": kind}, int(raised)


def gauges(hosted: Any) -> Mapping[str, Any]:
    """Return the numbers that a view has of a study; loaded when it is used."""
    from partial_monitoring.service import views

    return views.gauges(hosted)


def line(name: str, value: float, labels: Labels | None = None) -> str:
    """Return a line.

    >>> line("pm_alarm", 1, {"study": "shop"})
    'pm_alarm{study="shop"} 1'
    """
    shown = ",".join(f'{key}="{_escaped(own)}"' for key, own in (labels or {}).items())
    number = "NaN" if value != value else str(value)
    return f"{name}{{{shown}}} {number}" if shown else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
