"""Play policies against true parameters, all seeds of an experiment at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import games as game_registry
from partial_monitoring import policies as registry
from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.numerics.cuda import check_device
from partial_monitoring.policies.policy import Policy, is_policy
from partial_monitoring.policies.probing import probing
from partial_monitoring.simulation.delayed import Delays, Late
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import play
from partial_monitoring.simulation.result import Result
from partial_monitoring.simulation.truths import FixedTruth, Truth, read_truth
from partial_monitoring.simulation.worst_case import worst_theta
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    is_whole,
    labels,
    real_array,
    whole_number,
)

MOST_ROUNDS = 10**12
"""Largest horizon."""

MOST_SEEDS, MOST_ON_DEVICE = 1_000_000, 10_000_000
"""Largest number of seeds, and of those on a GPU."""

Policies = str | Policy[Any] | Sequence[str | Policy[Any]] | Mapping[str, str | Policy[Any]]


def simulate(
    game: str | AnyGame,
    policies: Policies = registry.DEFAULT,
    theta: ArrayLike | str | Callable[[Array], Any] | Truth = "random",
    *,
    horizon: int,
    seeds: int | Iterable[int] = 20,
    checkpoints: ArrayLike | None = None,
    noise: str | NoiseFunction | None = None,
    probe: float = 0.0,
    delay: Delays = 0,
    batch: int = 1,
    pending: str = "expected",
    threads: int | None = None,
    device: str | None = None,
    progress: bool = False,
) -> Result:
    """Play policies on a game and return their regret.

    Parameters
    ----------
    game
        The game, or the name of one of ``pm.games``.
    policies
        A policy, a name, a list of them, or a dict from names of your own to policies;
        ``pm.Calibrated()`` unless given.
    theta
        The true parameter (d,), one per seed (seeds, d), "random" for one per seed drawn uniformly
        from Theta, or "worst" for one for which the first policy has large regret, found by a
        search. On unbounded sets both stay within 1, the default ``norm_bound``, of the default
        ``prior_mean``. For a kernel game: the numbers, a function (n, p) -> (n,) or the name of
        one of ``pm.functions``; random functions have the norm that is the game's bound. Worlds
        that change are in ``pm.truths``: outcomes, opponents, parameters that move.
    horizon
        Number of rounds.
    seeds
        How many (0, 1, ...), or which.
    checkpoints
        Rounds after which regret is recorded; by default about fifty, evenly on a logarithmic
        scale. The horizon is always one.
    noise
        As for :class:`partial_monitoring.Instance`.
    probe
        The share of uniform actions that are mixed into every policy, see
        :class:`partial_monitoring.Probing`.
    delay
        By how many rounds answers come late: a number; the chances of 0, 1, ... rounds; a
        distribution with a ``cdf`` such as ``scipy.stats.geom(0.1)``, rounded down; or a function
        from uniform numbers (n,) to rounds. Delays are drawn with the seed.
    batch
        Decisions are made in batches of this size, and answers are told between batches.
    pending
        "expected": while answers are open, policies that can do so decide as if these had come out
        as expected (``expecting`` of :class:`partial_monitoring.Policy`); "ignored": as if nothing
        were open.
    threads
        How many threads play at the same time, all cores unless given; the numbers do not depend
        on it. Policies that are not compiled as a whole (``result.backend`` says why) use one.
    device
        "cuda" to play on an NVIDIA GPU, for up to millions of seeds (``pip install
        'partial-monitoring[cuda]'``); policies that are not compiled as a whole are refused there.
    progress
        Show a progress bar on standard error.

    Notes
    -----
    All policies meet the same outcomes and the same noise. What a seed does is the same whatever
    other seeds run beside it, and the same as what a ``Learner`` with that seed would do. An
    interruption from the keyboard keeps what is done.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("apple_tasting", theta=[0.9, 0.1], horizon=50, seeds=4)
    >>> result.regret["calibrated"].shape == (4, len(result.checkpoints))
    True
    """
    game = game_registry.named(game)
    boolean("progress", progress)
    chosen = named_policies(policies, probe)
    rounds = whole_number("horizon", horizon, at_least=1, at_most=MOST_ROUNDS)
    numbers = seed_numbers(seeds, MOST_SEEDS if device is None else MOST_ON_DEVICE)
    marks = checkpoint_rounds(checkpoints, rounds)
    if threads is not None:
        threads = whole_number("threads", threads, at_least=1)
    if device is not None:
        check_device(device)
    late = Late.read(delay, batch, pending)
    truth = read_truth(theta, game, rows=True).prepared(game, rounds)
    if truth.searched:
        first = next(iter(chosen.values()))
        truth = FixedTruth(worst_for(game, first, rounds, noise, threads, device, late))
    environment = truth.environment(game, numbers, rounds, noise)
    runs = {}
    for name, policy in chosen.items():
        title = name if progress else None
        runs[name] = play(game, policy, environment, marks, title, threads, device, late)
        if runs[name].interrupted:
            break
    return Result.of(numbers, marks, environment.theta, runs, truth.against)


def worst_for(
    game: AnyGame,
    policy: Policy[Any],
    horizon: int,
    noise: str | NoiseFunction | None,
    threads: int | None = None,
    device: str | None = None,
    late: Late | None = None,
) -> Array:
    """Search for a parameter on which a policy has large regret."""

    def regret(theta: Array, seed: int) -> Array:
        numbers = np.arange(len(theta), dtype=np.int64) + len(theta) * seed
        environment = Environment(game, game.from_coordinates(theta), numbers, noise)
        marks = np.array([horizon])
        run = play(game, policy, environment, marks, None, threads, device, late)
        if run.interrupted:
            raise KeyboardInterrupt
        return run.regret[:, 0]

    return game.from_coordinates(worst_theta(game.coordinate_set, regret))


def named_policies(policies: Policies, probe: object = 0.0) -> dict[str, Policy[Any]]:
    """Return policies by name, with a share of probes."""

    def name(place: int, policy: Any) -> str:
        return policy if isinstance(policy, str) else registry.name_of(policy)

    return by_name("policies", policies, lambda policy: probing(_policy(policy), probe), name)


def by_name(
    what: str, given: Any, read: Callable[[Any], Any], name: Callable[[int, Any], str]
) -> dict[str, Any]:
    """Return one item, a list or a dict of them as a dict; the items of a list are named.

    ``read`` checks an item or builds it from its name, and ``name`` takes its position, too.
    """
    if isinstance(given, Mapping):
        pairs = [*zip(labels(what, [*given], len(given)), given.values(), strict=True)]
    else:
        several = isinstance(given, Sequence) and not isinstance(given, str)
        pairs = [(name(i, item), item) for i, item in enumerate(given if several else [given])]
    if not pairs:
        one = {"policies": "policy", "games": "game"}[what]
        raise InvalidInput(f"{what} must hold at least one {one}; got none.")
    named: dict[str, Any] = {}
    for key, item in pairs:
        if key in named:
            raise InvalidInput(
                f"{what} must have different names; {brief(key)} appears twice (give a dict "
                f"instead)."
            )
        named[key] = read(item)
    return named


def seed_numbers(seeds: int | Iterable[int], most: int = MOST_SEEDS) -> Indices:
    """Return the seeds as an array: a count, or a list of different whole numbers."""
    if is_whole(seeds):
        count = whole_number("seeds", seeds, at_least=1)
        if count > most:
            raise InvalidInput(f"seeds must be at most {most:,}; got {brief(seeds)}.")
        return np.arange(count, dtype=np.int64)
    if not isinstance(seeds, Iterable) or isinstance(seeds, str | bytes | bytearray):
        raise InvalidInput(f"seeds must be a count or a list of whole numbers; got {brief(seeds)}.")
    numbers = [randomness.checked_seed("seeds", seed) for seed in islice(seeds, most + 1)]
    if not 0 < len(numbers) <= most or len(set(numbers)) < len(numbers):
        raise InvalidInput(
            f"seeds must be different whole numbers, 1 to {most:,} of them; got {brief(numbers)}."
        )
    return np.array(numbers, dtype=np.int64)


def checkpoint_rounds(checkpoints: ArrayLike | None, horizon: int) -> Indices:
    """Return increasing rounds that end with the horizon."""
    if checkpoints is None:
        return np.array(_usual_rounds(horizon))
    marks = real_array("checkpoints", checkpoints, ("n",))
    if (marks < 1).any() or (marks > horizon).any() or (marks != np.round(marks)).any():
        raise InvalidInput(
            f"checkpoints must be whole rounds from 1 to {horizon}; got {brief(marks.tolist())}."
        )
    return _increasing(marks, horizon)


@lru_cache(maxsize=32)
def _usual_rounds(horizon: int) -> tuple[int, ...]:
    """Return about fifty rounds, evenly on a logarithmic scale."""
    return tuple(_increasing(np.geomspace(1, horizon, 50), horizon).tolist())


def _increasing(marks: Array, horizon: int) -> Indices:
    """Return different rounds in their order, the last of which is the horizon."""
    return np.unique(np.append(np.round(marks), horizon)).astype(np.int64)


def _policy(policy: str | Policy[Any]) -> Policy[Any]:
    if isinstance(policy, str):
        return registry.make(policy)
    if not is_policy(policy):
        raise InvalidInput(f"policies must be policies or names of them; got {brief(policy)}.")
    return policy
