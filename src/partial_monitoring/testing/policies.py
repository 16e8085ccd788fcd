"""Check a policy."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from partial_monitoring import games
from partial_monitoring.errors import InvalidInput, brief
from partial_monitoring.estimation.kernel.append_only import AppendOnly
from partial_monitoring.learner.deciding import MOST_MASKED
from partial_monitoring.learner.learner import Learner
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import (
    Choices,
    Policy,
    draws_needed,
    is_policy,
    uniform_stream,
)
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import play
from partial_monitoring.testing.requirements import require
from partial_monitoring.validation import Array, whole_number


def check_policy(
    policy: Policy[Any], on: AnyGame | Iterable[AnyGame] | None = None, *, rounds: int = 30
) -> None:
    """Check that a policy can be simulated, learn live, and be trusted.

    Parameters
    ----------
    policy
        The policy.
    on
        The games to play; unless given, games of several kinds, and the policy may refuse some of
        them, but not all.
    rounds
        Number of rounds on each.

    Notes
    -----
    The policy must choose actions that exist, with distributions that are distributions; give the
    same answer to the same question; leave its state and all global randomness alone; play each
    replicate as if it were alone; accept ``available`` or refuse it in a sentence; and decide with
    ``Learner`` as it does with ``simulate``.
    """
    require(is_policy(policy), f"it has no init, decide and update: {brief(policy)}")
    whole_number("rounds", rounds, at_least=1)
    if isinstance(on, AnyGame):
        on = [on]
    for game in () if on is None else on:
        require(isinstance(game, AnyGame), f"it cannot be tried on {brief(game)}")
    chosen = _some_games() if on is None else list(on)
    refusals = []
    for game in chosen:
        try:
            initial_state_of(policy, game, 1)
        except InvalidInput as refusal:
            require(on is None, f"it refuses the game: {refusal}")
            refusals.append(refusal)
            continue
        _check_on(policy, game, rounds)
    require(len(refusals) < len(chosen), f"it refuses every game: {refusals[:1]}")


def _some_games() -> Sequence[AnyGame]:
    return [
        games.apple_tasting(),
        games.dynamic_pricing(),
        games.label_efficient(),
        games.linear_bandit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]),
        games.dueling([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
        games.survey(),
        games.segment_pricing(),
        games.contextual_apple_tasting(),
        games.kernelized_bandit([0.0, 0.3, 0.5, 1.0]),
        games.kernelized_dueling([0.0, 0.4, 1.0]),
    ]


def _check_on(policy: Policy[Any], game: AnyGame, rounds: int) -> None:
    theta = game.parameters.relative_interior_point()
    seeds = np.array([3, 4, 5])
    before = np.random.get_state()  # noqa: NPY002
    together = _actions(policy, game, theta, seeds, rounds)
    for i, seed in enumerate(seeds):
        alone = _actions(policy, game, theta, np.array([seed]), rounds)
        require(
            bool((alone[:, 0] == together[:, i]).all()),
            "a replicate plays differently when others run beside it",
        )
    after = np.random.get_state()  # noqa: NPY002
    require(pickle.dumps(before) == pickle.dumps(after), "it uses NumPy's global generator")
    _check_frequencies(policy, game)
    _check_available(policy, game)
    _check_learner(policy, game, theta, int(seeds[0]), together[:, 0])
    marks = np.array([rounds])
    run = play(game, policy, Environment(game, np.repeat(theta[None], 3, axis=0), seeds), marks)
    require(bool((run.regret >= -1e-9).all()), "its regret is negative")


def _actions(policy: Policy[Any], game: AnyGame, theta: Array, seeds: Any, rounds: int) -> Array:
    """Play some rounds with every check of a round, and return the actions, shape (rounds, n)."""
    n = len(seeds)
    environment = Environment(game, np.repeat(theta[None], n, axis=0), seeds)
    state = policy.init(game, n)
    uniforms = uniform_stream(policy, state, seeds)
    played = []
    for t in range(rounds):
        before = list(_arrays(state))
        context = environment.context(t)
        seen: dict[str, Any] = {} if context is None else {"context": context}
        choice = policy.decide(state, uniforms(t), **seen)
        _check_choices(choice, game, n)
        require(
            bool((policy.decide(state, uniforms(t), **seen).action == choice.action).all()),
            "it answers the same question differently",
        )
        shown = environment.observe(choice.action, t)
        handed = shown.copy()
        following = policy.update(state, choice.action, handed, **seen)
        require(bool((handed == shown).all()), "it changes the observation that it is handed")
        require(list(_arrays(state)) == before, "it changes the state that it is handed")
        state = following
        played.append(choice.action)
    return np.array(played)


def _arrays(state: Any) -> Iterator[bytes]:
    """Return the content of all arrays in a state, which may be nested."""
    if isinstance(state, np.ndarray):
        yield state.tobytes()
    elif isinstance(state, AnyGame):  # whose arrays cannot be changed
        return
    elif isinstance(state, AppendOnly):  # entries after its rows are unused
        yield from _arrays(state.rows)
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
    require(action.shape == (n,), f"its actions have shape {action.shape}, not ({n},)")
    require(action.dtype.kind in "iu", f"its actions are not integers but {action.dtype}")
    require(
        bool(((action >= 0) & (action < game.k)).all()), "it plays an action that does not exist"
    )
    mu = choice.distribution
    count = game.k if choice.candidates is None else choice.candidates.shape[1]
    stated = {"gaps": choice.gaps, "information": choice.information, "ratio": choice.ratio}
    known = {name: values for name, values in stated.items() if values is not None}
    for name, values in {"distribution": mu, **known}.items():
        shape, wanted = np.shape(values), (n,) if name == "ratio" else (n, count)
        require(shape == wanted, f"its {name} has shape {shape}, not {wanted}")
    require(bool(np.isfinite(mu).all()), "its distribution is not finite")
    require(bool((mu >= 0).all()), "its distribution has negative entries")
    for name, values in known.items():
        require(not (values < 0).any(), f"its {name} has negative entries")
    require(np.abs(mu.sum(axis=1) - 1).max() <= 1e-9, "its distribution does not sum to 1")
    chance = mu[np.arange(n), choice.positions]
    require(bool((chance > 0).all()), "it plays an action that its distribution rules out")


def _check_frequencies(policy: Policy[Any], game: AnyGame) -> None:
    """Whatever the uniform number is, actions come as often as their distribution says."""
    state = policy.init(game, 1)
    if draws_needed(policy, state) is not None:
        return  # what else it draws decides, too
    context = game.context(0 if game.traits.contexts else None)
    grid = (np.arange(200) + 0.5) / 200
    answers = [policy.decide(state, np.array([u]), **context.options) for u in grid]
    places = np.array([int(answer.positions[0]) for answer in answers])
    mu = answers[0].distribution[0]
    often = np.bincount(places, minlength=len(mu)) / len(grid)
    require(
        np.abs(often - mu).max() <= 0.02, "it plays actions more often than its distribution says"
    )


def _check_available(policy: Policy[Any], game: AnyGame) -> None:
    if game.k > MOST_MASKED:
        return  # too many for a mask
    state = policy.init(game, 1)
    width = draws_needed(policy, state)
    uniforms = np.full((1,) if width is None else (1, width), 0.3)
    for given in game.contexts if game.traits.contexts else [None]:  # type: ignore[attr-defined]
        context = game.context(given)
        for action in range(min(context.game.k, 4)):
            only = context.outer(action)
            mask = np.arange(game.k) == only
            try:
                choice = policy.decide(state, uniforms, mask, **context.options)
            except InvalidInput:
                return  # it says that it cannot
            require(int(choice.action[0]) == only, "it plays an action that is not available")


def _check_learner(
    policy: Policy[Any], game: AnyGame, theta: Array, seed: int, expected: Array
) -> None:
    """A learner that observes what the environment shows must make the same decisions."""
    learner = Learner(game, policy, seed=seed, allow_hopeless=True)
    environment = Environment(game, theta[None], np.array([seed]))
    for t, action in enumerate(expected):
        drawn = environment.context(t)
        given = None if drawn is None else int(drawn[0])
        context, decision = game.context(given), learner.ask(context=given)
        same = context.outer(decision.action) == action
        require(same, "a Learner decides differently from simulate")
        shown = environment.observe(np.array([action]), t)[0]
        observed = context.game.feedback().decode(context.game, decision.action, shown)
        learner.tell(decision, observed)
