"""The batched and the compiled way to play a policy, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import AtOnce, play, play_batched
from partial_monitoring.simulation.run import Run
from partial_monitoring.simulation.truths import read_truth

TIE = 1e-9
"""Numbers that differ by this fraction may be in either order."""

TABLES = ("regret", "plays", "information", "ratio")


def environment(game: Any, seeds: int, noise: str | None = None) -> Environment:
    """A random parameter for every seed."""
    numbers = np.arange(seeds)
    theta = read_truth("random", game, rows=True).draw(game, numbers)
    return Environment(game, theta, numbers, noise)


def same(one: Run, other: Run) -> bool:
    """Whether two runs have the same bits."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in TABLES
    )


def compare(
    game: Any, policy: Any, rounds: int, *, seeds: int = 3, noise: str | None = None
) -> None:
    """Ask for the same bits in both ways, on one thread and on two."""
    marks = np.unique([1, min(2, rounds), min(513, rounds), rounds])
    slow = play_batched(game, policy, environment(game, seeds, noise), marks)
    for threads in (1, 2):
        quick = play(game, policy, environment(game, seeds, noise), marks, threads=threads)
        assert quick.backend == "compiled"
        assert same(quick, slow)


def agree(game: Any, policy: Any, rounds: int, *, seeds: int = 3, noise: str | None = None) -> int:
    """Ask for the same actions in both ways, and nearly the same numbers.

    For loops that add in another order than products of matrices do. After a tie a seed goes
    another way; returns how many have.
    """
    marks, ties = np.arange(1, rounds + 1), 0
    slow = play_batched(game, policy, environment(game, seeds, noise), marks)
    quick = play(game, policy, environment(game, seeds, noise), marks, threads=2)
    assert quick.backend == "compiled"
    for seed in range(seeds):
        apart = np.flatnonzero((slow.plays[seed] != quick.plays[seed]).any(axis=1))
        until = int(apart[0]) if len(apart) else rounds
        for name in ("regret", "information", "ratio"):
            own, other = (getattr(run, name)[seed, :until] for run in (slow, quick))
            np.testing.assert_allclose(other, own, rtol=1e-6, atol=1e-8, err_msg=name)
        if len(apart):
            ties += 1
            chosen = [_played(run.plays[seed], until) for run in (slow, quick)]
            assert tied(game, policy, seeds, seed, until, *chosen, noise), (seed, until, chosen)
    return ties


def _played(plays: Any, t: int) -> int:
    """Return the action of round t (from 0)."""
    return int((plays[t] - (plays[t - 1] if t else 0)).argmax())


def tied(
    game: Any,
    policy: Any,
    seeds: int,
    seed: int,
    t: int,
    own: int,
    other: int,
    noise: str | None = None,
) -> bool:
    """Whether another action than its own is played in round t if numbers change a little."""
    world = environment(game, seeds, noise)
    rounds = AtOnce(game, policy, world, initial_state_of(policy, game, seeds))
    for s in range(t):
        rounds.round(s)
    uniforms = rounds._uniforms(t)
    choice = policy.decide(rounds.state, uniforms)
    assert int(choice.action[seed]) == own
    if choice.index is not None:
        index = choice.index[seed]
        return bool(index[own] - index[other] <= TIE * np.abs(index).max())
    if choice.candidates is not None:
        other = int(np.flatnonzero(choice.candidates[seed] == other)[0])
    uniform = np.ravel(uniforms[seed])[:1]
    return _after_a_change(policy, choice.gaps[seed], choice.information[seed], uniform, other)


def _after_a_change(policy: Any, gaps: Any, information: Any, uniform: Any, other: int) -> bool:
    """Whether small changes of gaps and information lead to another action."""
    rule, rng = as_rule(getattr(policy, "sampling", pm.sampling.exact)), np.random.default_rng(0)
    for _ in range(1000):
        d, i = (
            np.maximum(own + TIE * own.max() * rng.uniform(-1, 1, own.shape), 0.0)
            for own in (gaps, information)
        )
        drawn, _ = rule.solve(d[None], i[None], None).play(uniform, len(d))  # type: ignore[arg-type]
        if int(drawn[0]) == other:
            return True
    return False
