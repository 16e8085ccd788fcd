"""Play one policy on all seeds: in compiled code where it has some, else by batched formulas."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput, is_interruption
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import (
    Policy,
    check_choices,
    checked_actions,
    drawn_with,
    seen,
    uniform_stream,
)
from partial_monitoring.policies.program import NotCompiled, Program, program_of
from partial_monitoring.simulation.delayed import Delayed, Late
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.progress import round_counter
from partial_monitoring.simulation.run import Run
from partial_monitoring.simulation.world import no_totals, world_of
from partial_monitoring.validation import Array, Indices

MOST_COUNTS = 1_000_000
"""Largest table of plays (checkpoints times actions) that is kept for a seed."""

COMPILED, ON_DEVICE = "compiled", "compiled for the GPU"
"""The backends of policies whose rounds are compiled as a whole."""

SLICE = 0.1
"""Seconds that compiled code plays at a time; then progress is shown, and it can be stopped."""

SHARES = 4
"""The number of tasks that each thread gets in a slice, so that none waits long for the last."""

Ends = list[tuple[int, int | None]]
"""Rounds to stop before, each with the number of its checkpoint, None if there is none."""


def play(
    game: AnyGame,
    policy: Policy[Any],
    environment: Environment,
    marks: Indices,
    title: str | None = None,
    threads: int | None = None,
    device: str | None = None,
    late: Late | None = None,
) -> Run:
    """Play one policy to the last checkpoint and record it; ``threads`` are all cores unless given.

    The numbers do not depend on the way that is taken, nor on the threads.
    """
    run = _played(game, policy, environment, marks, title, threads, device, late)
    lead = environment.lead(marks)
    if lead is not None:
        run.regret -= lead
    return run


def _played(
    game: AnyGame,
    policy: Policy[Any],
    environment: Environment,
    marks: Indices,
    title: str | None,
    threads: int | None,
    device: str | None,
    late: Late | None,
) -> Run:
    """Do the same, with regret against the best action of every round."""
    state = initial_state_of(policy, game, len(environment.seeds))
    try:
        if late is not None:
            raise NotCompiled("answers come late")
        program, world = program_of(policy, state), world_of(environment)
        if device is not None and getattr(program, "kernel", None) is None:
            raise NotCompiled("its rounds are compiled for the processor only")
        if device is not None and hasattr(world, "held"):
            raise NotCompiled("what is true changes from round to round")
    except NotCompiled as why:
        if device is not None:
            name = type(policy).__name__
            raise InvalidInput(f"{name} cannot be played on a GPU here: {why}.") from None
        run = play_batched(game, policy, environment, marks, title, state, late)
        run.backend = f"batched: {why}"
        return run
    if device is not None:
        return play_on_device(game, program, world, marks, title)
    return play_compiled(game, program, world, marks, title, threads)


def play_compiled(
    game: AnyGame,
    program: Program,
    world: Any,
    marks: Indices,
    title: str | None = None,
    threads: int | None = None,
) -> Run:
    """Play a program on the cores of this machine."""
    n = len(world.seeds)
    totals = no_totals(n, counted_actions(game, marks))
    reached, run = np.zeros(n, dtype=np.int64), _new_run(totals, marks, COMPILED)
    with shared_out(n, threads) as each:

        def advance(ends: Ends) -> None:
            def part(first: int, last: int) -> None:
                for stop, checkpoint in ends:
                    program.play(world, totals, reached, stop, first, last)
                    if checkpoint is not None:
                        run.record(checkpoint, stop, totals, slice(first, last))

            each(part)

        in_slices(advance, run, marks, title)
    return run


def play_on_device(
    game: AnyGame, program: Program, world: Any, marks: Indices, title: str | None = None
) -> Run:
    """Play a program on a GPU."""
    from partial_monitoring.numerics.cuda.play import OnDevice

    totals = no_totals(len(world.seeds), counted_actions(game, marks))
    played: Any = OnDevice(program, world, totals)  # type: ignore[no-untyped-call]
    run = _new_run(totals, marks, ON_DEVICE)

    def advance(ends: Ends) -> None:
        for stop, checkpoint in ends:
            played.advance(stop)
            if checkpoint is not None:
                played.collect()
                run.record(checkpoint, stop, totals)

    in_slices(advance, run, marks, title)
    return run


def in_slices(advance: Callable[[Ends], None], run: Run, marks: Indices, title: str | None) -> None:
    """Let a function play a run and record it, in slices of many rounds.

    Threads wait for each other at the end of a slice, but not at its checkpoints.
    """
    checkpoints = marks.tolist()
    horizon, rounds, t, start = checkpoints[-1], 1, 0, perf_counter()
    with round_counter(title, horizon) as bar, stoppable(run):
        while t < horizon:
            began, stop = perf_counter(), min(t + rounds, horizon)
            advance(ends_between(checkpoints, t, stop))
            took = perf_counter() - began
            if t == 0:
                start = perf_counter()  # the first round may load or compile code
            else:
                usual = (stop - t) * SLICE / max(took, 1e-9)
                rounds = int(min(max(usual, 1), 2 * rounds + 64))
            t = stop
            bar(t)
    run.seconds = _seconds(start, horizon)


def ends_between(checkpoints: list[int], t: int, stop: int) -> Ends:
    """Return where to stop after round t: at the checkpoints on the way, then at the last round.

    >>> ends_between([1, 4, 8, 9], 1, 8), ends_between([1, 4, 8, 9], 1, 6)
    ([(4, 1), (8, 2)], [(4, 1), (6, None)])
    """
    first, last = bisect_right(checkpoints, t), bisect_right(checkpoints, stop)
    found: Ends = [(checkpoints[i], i) for i in range(first, last)]
    return found if found and found[-1][0] == stop else [*found, (stop, None)]


def _new_run(totals: Any, marks: Indices, backend: str) -> Run:
    """Return a run in which nothing is recorded yet."""
    run = Run.empty(len(totals.regret), len(marks), totals.plays.shape[1])
    run.backend = backend
    return run


def play_batched(
    game: AnyGame,
    policy: Policy[Any],
    environment: Environment,
    marks: Indices,
    title: str | None = None,
    state: Any = None,
    late: Late | None = None,
) -> Run:
    """Play a policy round by round, all seeds at once."""
    n, horizon = len(environment.seeds), int(marks[-1])
    if state is None:
        state = initial_state_of(policy, game, n)
    rounds: AtOnce | Delayed = AtOnce(game, policy, environment, state)
    if late is not None:
        rounds = Delayed(game, policy, environment, late, state)
    totals = no_totals(n, counted_actions(game, marks))
    run = Run.empty(n, len(marks), totals.plays.shape[1])
    each = np.arange(n)
    done, start = 0, perf_counter()
    with round_counter(title, horizon) as bar, stoppable(run):
        for t in range(horizon):
            action, gained, ratio = rounds.round(t)
            totals.regret[:] += environment.gap(action, t)
            totals.gained[:] += gained
            totals.ratios[:] += ratio
            if totals.plays.size:
                totals.plays[each, action] += 1
            if t + 1 == marks[done]:
                run.record(done, t + 1, totals)
                done += 1
            if t == 0:
                start = perf_counter()
            bar(t + 1)
    run.seconds = _seconds(start, horizon)
    return run


class AtOnce:
    """Rounds of one policy that is told every answer before the next decision."""

    def __init__(
        self, game: AnyGame, policy: Policy[Any], environment: Environment, state: Any
    ) -> None:
        self.policy, self.environment, self.state, self._k = policy, environment, state, game.k
        self._uniforms = uniform_stream(policy, state, environment.seeds)

    def round(self, t: int) -> tuple[Indices, Array, Any]:
        """Play round t (from 0); return actions (n,), information gained and ratios (n,)."""
        context, n = self.environment.context(t), len(self.environment.seeds)
        choice = self.policy.decide(self.state, self._uniforms(t), **seen(context))
        if t == 0:
            check_choices(choice, self._k, n)
        action = checked_actions(choice, n, self._k)
        shown = self.environment.observe(action, t)
        options = seen(context) | drawn_with(self.policy, choice.chosen)
        self.state = self.policy.update(self.state, action, shown, **options)
        return action, choice.gained, np.nan if choice.ratio is None else choice.ratio


def counted_actions(game: AnyGame, marks: Indices) -> int:
    """Return of how many actions plays are counted: all, or none if that takes too much memory."""
    return game.k if len(marks) * game.k <= MOST_COUNTS else 0


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def shared_out(
    count: int, threads: int | None
) -> Iterator[Callable[[Callable[[int, int], None]], None]]:
    """Share replicates out among threads: gives a function that calls another with ranges of them.

    It returns when all of them are done, also if one failed or was interrupted.
    """
    workers = min(cores() if threads is None else threads, count)
    if workers == 1:
        yield lambda task: task(0, count)
        return
    limits = np.linspace(0, count, min(count, SHARES * workers) + 1).astype(int).tolist()
    with ThreadPoolExecutor(workers, "partial-monitoring") as pool:

        def each(task: Callable[[int, int], None]) -> None:
            for _ in pool.map(task, limits[:-1], limits[1:]):
                pass

        yield each


@contextmanager
def stoppable(run: Run) -> Iterator[None]:
    """Let the keyboard interrupt a run, which keeps what is recorded."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        run.interrupted = True


def _seconds(start: float, horizon: int) -> float:
    """Return the seconds of all rounds, given when the first was over."""
    return (perf_counter() - start) * (horizon / max(1, horizon - 1))
