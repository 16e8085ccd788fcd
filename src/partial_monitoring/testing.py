"""Checks for what you add: games, parameter sets, policies.

Each check plays with what it is handed and raises an ``AssertionError`` with one sentence at the
first thing that does not hold. They are meant for the tests of your own code:

>>> import partial_monitoring as pm
>>> pm.testing.check_policy(pm.IDS(gap=pm.gaps.relaxed))
>>> pm.testing.check_game(pm.games.apple_tasting())
>>> pm.testing.check_parameter_set(pm.Ball([0, 0], 1))
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from partial_monitoring import games
from partial_monitoring.contextual_game import AnyGame, ContextualGame
from partial_monitoring.contextual_world import ContextualWorld
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.stack import Stack
from partial_monitoring.finite_game import FiniteGame
from partial_monitoring.game import Game
from partial_monitoring.game_files import game_from_dict, game_to_dict
from partial_monitoring.instance import Instance
from partial_monitoring.learner import Learner
from partial_monitoring.observability.classify import analyze
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.place import place_of
from partial_monitoring.policy import Choices, Policy, draws_of, is_policy, started, uniforms_of
from partial_monitoring.simulation import play, world_of
from partial_monitoring.truth import random_theta
from partial_monitoring.validation import Array, whole_number

CLOSE = 1e-7
"""Numbers that should be equal may differ by this fraction of the numbers involved."""

MOST_ANALYZED = 30
"""Games with up to so many actions are also analysed."""


# -- parameter sets ----------------------------------------------------------------------------


def check_parameter_set(parameters: ParameterSet, *, seed: int = 0) -> None:
    """Check that a parameter set is convex, and that its methods agree with each other.

    Its projections must lie inside, stay where they are and be nearest; its support function must
    be attained or approached by points inside and be the one of a convex set.
    """
    _require(isinstance(parameters, ParameterSet), "it is not a ParameterSet")
    rng = np.random.default_rng(seed)
    d, center, basis = parameters.d, parameters.relative_interior_point(), _basis(parameters)
    _require(center.shape == (d,), f"relative_interior_point has shape {center.shape}, not ({d},)")
    _require(bool(parameters.contains(center)), "relative_interior_point is not contained")
    points = _points(parameters, rng)
    _require(bool(parameters.contains(points).all()), "a projection is not contained")
    size = 1.0 + np.abs(points).max()
    middle = 0.5 * (points + points[::-1])
    _require(bool(parameters.contains(middle).all()), "the set is not convex")
    off = points - center
    _require(
        np.abs(off - off @ basis @ basis.T).max() <= CLOSE * size,
        "difference_basis does not span the differences of points",
    )
    for point in points:
        again = parameters.project(point)
        _require(
            np.abs(again - point).max() <= CLOSE * size, "project moves a point that is inside"
        )
    _check_projection(parameters, points, rng)
    _check_support(parameters, points, rng)


def _basis(parameters: ParameterSet) -> Array:
    basis = parameters.difference_basis()
    d, dim = parameters.d, parameters.dimension
    _require(basis.shape == (d, dim), f"difference_basis has shape {basis.shape}, not ({d}, {dim})")
    _require(
        np.abs(basis.T @ basis - np.eye(dim)).max(initial=0.0) <= 1e-9,
        "the columns of difference_basis are not orthonormal",
    )
    return basis


def _points(parameters: ParameterSet, rng: np.random.Generator) -> Array:
    """Return points of the set: projections of points near and far."""
    center = parameters.relative_interior_point()
    far = center + rng.standard_normal((20, parameters.d)) * 10.0 ** rng.uniform(-2, 1, (20, 1))
    return np.stack([parameters.project(point) for point in far])


def _check_projection(parameters: ParameterSet, points: Array, rng: np.random.Generator) -> None:
    """Nothing in the set is nearer: <G (x - p), y - p> <= 0 for all y in it."""
    d = parameters.d
    for _ in range(10):
        root = rng.standard_normal((d, d))
        gram = root @ root.T + 0.1 * np.eye(d)
        x = rng.standard_normal(d) * 5
        nearest = parameters.project(x, gram)
        steps = (points - nearest) @ (gram @ (x - nearest))
        size = np.abs(gram).max() * (1 + np.abs(x).max()) * (1 + np.abs(points).max())
        _require(steps.max() <= CLOSE * size, "project does not give the nearest point")


def _check_support(parameters: ParameterSet, points: Array, rng: np.random.Generator) -> None:
    directions = rng.standard_normal((30, parameters.d))
    heights = parameters.support(directions)
    _require(heights.shape == (30,), f"support has shape {heights.shape}, not (30,)")
    size = 1 + np.abs(points).max() * np.abs(directions).max()
    reached = (points @ directions.T).max(axis=0)
    _require(bool((heights >= reached - CLOSE * size).all()), "support is below a point of the set")
    _require(
        np.allclose(parameters.support(2 * directions), 2 * heights, rtol=CLOSE, equal_nan=False),
        "support of twice a direction is not twice the support",
    )
    sums = parameters.support(directions + directions[::-1])
    with np.errstate(invalid="ignore"):
        slack = sums - heights - heights[::-1]
    _require(not (slack > CLOSE * size).any(), "support of a sum exceeds the sum of supports")
    bounded = np.isfinite(heights)
    for c, height in zip(directions[bounded], heights[bounded], strict=True):
        far = parameters.project(parameters.relative_interior_point() + 1e4 * c)
        _require(float(far @ c) >= height - 1e-3 * (size + abs(height)), "support is not attained")
    reach = parameters.diameter()
    apart = np.linalg.norm(points[:, None] - points[None], axis=2).max()
    _require(apart <= reach * (1 + CLOSE) + CLOSE, "two points are further apart than the diameter")
    center = parameters.relative_interior_point()
    away = np.linalg.norm(points - center, axis=1).max()
    _require(
        away <= parameters.norm_bound(center) * (1 + CLOSE) + CLOSE,
        "a point is further from the centre than norm_bound",
    )


# -- games -------------------------------------------------------------------------------------


def check_game(game: AnyGame, *, seed: int = 0) -> None:
    """Check that a game is whole: shapes, parameter set, files, observations, analysis."""
    if isinstance(game, ContextualGame):
        for context in game.contexts:
            check_game(game.at(context), seed=seed)
        return
    _require(isinstance(game, Game), "it is not a Game")
    k, m, d = game.k, game.m, game.d
    _require(game.features.shape == (k, d), "features do not have shape (k, d)")
    _require(game.observation_maps.shape == (k, m, d), "maps do not have shape (k, m, d)")
    _require(len(game.actions) == len(set(game.actions)) == k, "actions are not k different labels")
    _require(game.parameters.d == d, "the parameter set has another dimension")
    check_parameter_set(game.parameters, seed=seed)
    again = game_from_dict(game_to_dict(game))
    assert isinstance(again, Game)
    same = (
        np.array_equal(again.features, game.features)
        and np.array_equal(again.observation_maps, game.observation_maps)
        and again.actions == game.actions
    )
    _require(same, "a game file does not give the same game again")
    rng = np.random.default_rng(seed)
    for theta in random_theta(game.parameters, np.arange(5)):
        try:
            instance = Instance(game, theta)
        except InvalidInput:
            continue  # some parameters of a set may not suit the noise of the game
        _require(instance.gaps.min() == 0, "no action has gap zero")
        for action in range(min(k, 20)):
            seen = instance.observe(action, rng)
            if isinstance(game, FiniteGame):
                _require(seen in game.signals[action], "an observation is not one of the signals")
            else:
                rows = game.row_count(action)
                _require(np.shape(seen) == (rows,), "an observation has the wrong length")
    if k <= MOST_ANALYZED:
        _require(analyze(game).verify(), "its analysis does not hold")


# -- policies ----------------------------------------------------------------------------------


def check_policy(
    policy: Policy[Any], on: AnyGame | Iterable[AnyGame] | None = None, *, rounds: int = 30
) -> None:
    """Check that a policy can be simulated, learn live, and be trusted.

    Parameters
    ----------
    policy
        The policy.
    on
        The games to play; without any, games of several kinds, of which the policy may refuse some
        but not all.
    rounds
        How many rounds to play on each.

    Notes
    -----
    The policy must choose actions that exist, with distributions that are distributions; give the
    same answer to the same question; leave its state and all global randomness alone; play each
    replicate as if it were alone; take ``available`` or refuse it in a sentence; and do with
    ``Learner`` what it does with ``simulate``.
    """
    _require(is_policy(policy), f"it has no init, decide and update: {policy!r}")
    whole_number("rounds", rounds, at_least=1)
    if isinstance(on, Game | ContextualGame):
        on = [on]
    for game in () if on is None else on:
        _require(isinstance(game, Game | ContextualGame), f"it cannot be tried on {game!r}")
    chosen = _some_games() if on is None else list(on)
    refusals = []
    for game in chosen:
        try:
            started(policy, game, 1)
        except InvalidInput as refusal:
            _require(on is None, f"it refuses the game: {refusal}")
            refusals.append(refusal)
            continue
        _check_on(policy, game, rounds)
    _require(len(refusals) < len(chosen), f"it refuses every game: {refusals[:1]}")


def _some_games() -> Sequence[AnyGame]:
    return [
        games.apple_tasting(),
        games.dynamic_pricing(),
        games.label_efficient(),
        games.linear_bandit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]),
        games.dueling([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
        games.survey(),
        games.segment_pricing(),
        games.kernelized_bandit([[0.0], [0.2], [0.4], [1.0]]),
        games.kernelized_dueling([[0.0], [0.2], [1.0]]),
    ]


def _check_on(policy: Policy[Any], game: AnyGame, rounds: int) -> None:
    theta = game.parameters.relative_interior_point()
    seeds = np.array([3, 4, 5])
    before = np.random.get_state()  # noqa: NPY002
    together = _actions(policy, game, theta, seeds, rounds)
    for i, seed in enumerate(seeds):
        alone = _actions(policy, game, theta, np.array([seed]), rounds)
        _require(
            bool((alone[:, 0] == together[:, i]).all()),
            "a replicate plays differently when others run beside it",
        )
    after = np.random.get_state()  # noqa: NPY002
    _require(pickle.dumps(before) == pickle.dumps(after), "it uses NumPy's global generator")
    _check_frequencies(policy, game)
    _check_available(policy, game)
    _check_learner(policy, game, theta, int(seeds[0]), together[:, 0])
    marks = np.array([rounds])
    run = play(game, policy, world_of(game, np.repeat(theta[None], 3, axis=0), seeds), marks)
    _require(bool((run.regret >= -1e-9).all()), "its regret is negative")


def _actions(policy: Policy[Any], game: AnyGame, theta: Array, seeds: Any, rounds: int) -> Array:
    """Play some rounds with every check of a round, and return the actions, shape (rounds, n)."""
    n = len(seeds)
    world = world_of(game, np.repeat(theta[None], n, axis=0), seeds)
    state = policy.init(game, n)
    uniforms = uniforms_of(policy, state, seeds)
    played = []
    for t in range(rounds):
        before = list(_arrays(state))
        seen: dict[str, Any] = {}
        if isinstance(world, ContextualWorld):
            seen = {"context": world.context(t)}
        choice = policy.decide(state, uniforms(t), **seen)
        _check_choices(choice, game, n)
        _require(
            bool((policy.decide(state, uniforms(t), **seen).action == choice.action).all()),
            "it answers the same question differently",
        )
        shown = world.observe(choice.action, t)
        told = shown.copy()
        following = policy.update(state, choice.action, told, **seen)
        _require(bool((told == shown).all()), "it changes the observation that it is handed")
        _require(list(_arrays(state)) == before, "it changes the state that it is handed")
        state = following
        played.append(choice.action)
    return np.array(played)


def _arrays(state: Any) -> Iterator[bytes]:
    """Return the content of all arrays in a state, which may be nested."""
    if isinstance(state, np.ndarray):
        yield state.tobytes()
    elif isinstance(state, Stack):
        yield state.rows.tobytes()  # what lies behind them belongs to states that follow
    elif isinstance(state, Mapping):
        yield from (part for value in state.values() for part in _arrays(value))
    elif isinstance(state, list | tuple):
        yield from (part for value in state for part in _arrays(value))
    elif is_dataclass(state) and not isinstance(state, type):
        yield from (part for f in fields(state) for part in _arrays(getattr(state, f.name)))
    elif isinstance(state, bool | int | float | str):
        yield repr(state).encode()


def _check_choices(choice: Choices, game: AnyGame, n: int) -> None:
    action = np.asarray(choice.action)
    _require(action.shape == (n,), f"its actions have shape {action.shape}, not ({n},)")
    _require(action.dtype.kind in "iu", f"its actions are no whole numbers but {action.dtype}")
    _require(
        bool(((action >= 0) & (action < game.k)).all()), "it plays an action that is not there"
    )
    mu = choice.distribution
    count = game.k if choice.candidates is None else choice.candidates.shape[1]
    for name in ("distribution", "gaps", "information"):
        shape = np.shape(getattr(choice, name))
        _require(shape == (n, count), f"its {name} has shape {shape}, not ({n}, {count})")
    _require(bool(np.isfinite(mu).all()), "its distribution is not finite")
    _require(bool((mu >= 0).all()), "its distribution has negative entries")
    for name in ("gaps", "information", "ratio"):
        _require(not (getattr(choice, name) < 0).any(), f"its {name} has negative entries")
    _require(np.abs(mu.sum(axis=1) - 1).max() <= 1e-9, "its distribution does not sum to 1")
    chance = mu[np.arange(n), choice.places]
    _require(bool((chance > 0).all()), "it plays an action that its distribution rules out")


def _check_frequencies(policy: Policy[Any], game: AnyGame) -> None:
    """Whatever the uniform number is, actions come as often as their distribution says."""
    state = policy.init(game, 1)
    if draws_of(policy, state) is not None:
        return  # what else it draws decides, too
    seen: dict[str, Any] = {}
    if isinstance(game, ContextualGame):
        seen = {"context": np.zeros(1, dtype=np.int64)}
    grid = (np.arange(200) + 0.5) / 200
    answers = [policy.decide(state, np.array([u]), **seen) for u in grid]
    places = np.array([int(answer.places[0]) for answer in answers])
    mu = answers[0].distribution[0]
    often = np.bincount(places, minlength=len(mu)) / len(grid)
    _require(
        np.abs(often - mu).max() <= 0.02, "it plays actions more often than its distribution says"
    )


def _check_available(policy: Policy[Any], game: AnyGame) -> None:
    state = policy.init(game, 1)
    width = draws_of(policy, state)
    uniforms = np.full((1,) if width is None else (1, width), 0.3)
    contexts = range(len(game.games)) if isinstance(game, ContextualGame) else [None]
    for z in contexts:
        offered: Any = range(game.k)
        seen: dict[str, Any] = {}
        if z is not None and isinstance(game, ContextualGame):
            offered, seen = game.positions(z), {"context": np.array([z])}
        for only in offered[:4]:
            mask = np.arange(game.k) == only
            try:
                choice = policy.decide(state, uniforms, mask, **seen)
            except InvalidInput:
                return  # it says that it cannot
            _require(int(choice.action[0]) == only, "it plays an action that is not available")


def _check_learner(
    policy: Policy[Any], game: AnyGame, theta: Array, seed: int, expected: Array
) -> None:
    """A learner that is told what the simulated world shows must make the same decisions."""
    learner = Learner(game, policy, seed=seed, allow_hopeless=True)
    world = world_of(game, theta[None], np.array([seed]))
    for t, action in enumerate(expected):
        context = int(world.context(t)[0]) if isinstance(world, ContextualWorld) else None
        place = place_of(game, context)
        decision = learner.ask(context=context)
        same = place.outer(decision.action) == action
        _require(same, "a Learner decides differently than simulate")
        shown = world.observe(np.array([action]), t)[0]
        learner.tell(decision, _told(place.game, decision.action, shown))


def _told(game: Game, action: int, shown: Array) -> Any:
    """Return an observation as a user would tell it."""
    if isinstance(game, FiniteGame):
        return game.symbols[action][int(shown[: len(game.symbols[action])].argmax())]
    return shown[: game.row_count(action)].tolist()


def _require(holds: bool | np.bool_, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{sentence}.")
