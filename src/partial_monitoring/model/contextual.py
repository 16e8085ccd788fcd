"""Contextual partial monitoring: one game per context over one parameter (section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.alike import Alike
from partial_monitoring.model.any_game import AnyGame, Context, Traits
from partial_monitoring.model.feedback import Feedback, NoiseFunction
from partial_monitoring.model.game import Game
from partial_monitoring.model.truths import MOST_NUMBERS, Tables, Truths, limits, mean_outside
from partial_monitoring.validation import Array, Indices

MOST_NAMED = 6
"""Largest number of contexts that an error names."""

CONTEXT_KEYS = ("features", "observation_maps", "noise_std", "actions", "noise")
"""Keys that describe an unlisted context."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ContextualGame(AnyGame):
    """A game whose features, maps and available actions depend on a context seen before acting.

    Context z is itself a :class:`Game` with the features phi_a^z, the maps M_a^z and the available
    actions A(z); all contexts share one unknown parameter theta. Actions with one label are the
    same action in different contexts.

    Parameters
    ----------
    games
        One game per context, all over the same parameter set.
    context_distribution
        chi, the probability of each context; uniform if not given.
    contexts
        Labels of the contexts; without them the indices.

    Examples
    --------
    >>> from partial_monitoring import AllParameters, ContextualGame, Game
    >>> theta = AllParameters(2)
    >>> answers = Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], theta)
    >>> silent = Game([[1, 0], [0, 1]], [[], []], theta)
    >>> ContextualGame([answers, silent], [0.3, 0.7], ["answers", "silent"]).at("silent").rank
    0
    """

    games: tuple[Game, ...]
    context_distribution: Array
    contexts: tuple[str, ...]

    def __init__(
        self,
        games: Iterable[Game],
        context_distribution: ArrayLike | None = None,
        contexts: Iterable[object] | None = None,
    ) -> None:
        checked = _checked_games(games)
        count = len(checked)
        if context_distribution is None:
            context_distribution = np.full(count, 1.0 / count)
        validation.set_fields(
            self,
            parameters=checked[0].parameters,
            games=checked,
            context_distribution=validation.probabilities(
                "context_distribution", context_distribution, count
            ),
            contexts=validation.labels("contexts", contexts, count),
        )

    @cached_property
    def traits(self) -> Traits:
        duels, first = any(game.traits.duels for game in self.games), self.games[0].traits
        return Traits(finite=first.finite, signals=first.signals, contexts=True, duels=duels)

    @property
    def d(self) -> int:
        return self.games[0].d

    @property
    def k(self) -> int:
        """Number of different actions over all contexts."""
        return len(self.actions)

    @cached_property
    def m(self) -> int:
        return max(game.m for game in self.games)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The labels of all actions, in order of first appearance."""
        return tuple(dict.fromkeys(label for game in self.games for label in game.actions))

    @cached_property
    def available(self) -> NDArray[np.bool_]:
        """A(z) as a mask, shape (contexts, k)."""
        mask = self.local_actions >= 0
        mask.setflags(write=False)
        return mask

    @cached_property
    def features(self) -> Array:
        """phi_a^z, shape (contexts, k, d); zero where the action is not available."""
        stacked = np.zeros((len(self.games), self.k, self.d))
        for z, game in enumerate(self.games):
            stacked[z, self._positions[z]] = game.features
        return validation.frozen(stacked)

    @cached_property
    def observation_maps(self) -> Array:
        """M_a^z, shape (contexts, k, m, d); zero where the action is not available."""
        stacked = np.zeros((len(self.games), self.k, self.m, self.d))
        for z, game in enumerate(self.games):
            stacked[z, self.positions(z), : game.m] = game.observation_maps
        return validation.frozen(stacked)

    def positions(self, context: int | str) -> NDArray[np.intp]:
        """Return the numbers of the actions of ``at(context)`` among all actions."""
        return self._positions[self.context_index(context)]

    @cached_property
    def _positions(self) -> tuple[NDArray[np.intp], ...]:
        where = {label: a for a, label in enumerate(self.actions)}
        return tuple(
            np.array([where[label] for label in game.actions], dtype=np.intp) for game in self.games
        )

    @cached_property
    def local_actions(self) -> NDArray[np.intp]:
        """The number of each action in each context, -1 where it is missing, (contexts, k)."""
        local = np.full((len(self.games), self.k), -1, dtype=np.intp)
        for z, places in enumerate(self._positions):
            local[z, places] = np.arange(len(places))
        return local

    def context_index(self, context: int | str) -> int:
        """Return the index of a context given by index or by label."""
        return validation.index_of("context", context, self.contexts)

    def at(self, context: int | str) -> Game:
        """Return the game that is played when the given context is seen."""
        return self.games[self.context_index(context)]

    def checked_context(self, game: Game) -> Game:
        """Return a context that is given by its game, if it is over the same parameters."""
        if not game.parameters.equals(self.parameters):
            raise InvalidInput(
                f"context must be a game over the parameters of all contexts, "
                f"{validation.brief(self.parameters)}; got {validation.brief(game.parameters)}."
            )
        return game

    def check_offered(self, context: Indices, action: Indices) -> None:
        """Refuse actions (n,), numbered over all contexts, that their contexts (n,) lack."""
        there = (action >= 0) & (action < self.k)
        there &= self.available[context, np.where(there, action, 0)]
        if not there.all():
            names = np.array(self.contexts, dtype=object)[context]
            check_offered(self.actions, action, there, names)

    @property
    def linear(self) -> NoReturn:
        raise InvalidInput("game must have no contexts; take the game of one with game.at.")

    @property
    def shows_own_reward(self) -> bool:
        return all(game.shows_own_reward for game in self.games)

    @property
    def context_limits(self) -> Array:
        return limits(self.context_distribution)

    def action_index(self, action: int | str) -> int:
        return validation.index_of("action", action, self.actions)

    def action_label(self, action: int) -> str:
        return self.actions[action]

    def row_count(self, action: int) -> int:
        """Return the largest number of rows that an action has in any context."""
        local = self.local_actions[:, action]
        return max(g.row_count(int(a)) for g, a in zip(self.games, local, strict=True) if a >= 0)

    def context(self, given: Any = None) -> Context:
        """Return the game of a context: a label, an index, a game, or features and maps of one."""
        if given is None:
            names = ", ".join(f"'{name}'" for name in self.contexts[:MOST_NAMED])
            more = ", ..." if len(self.contexts) > MOST_NAMED else ""
            raise InvalidInput(f"context must be given, the game has contexts: {names}{more}.")
        if isinstance(given, Game):
            return Context(self.checked_context(given), given, name=given)
        if isinstance(given, str) or validation.is_whole(given):
            z = self.context_index(given)
            return Context(self.games[z], np.array([z]), self._positions[z], self.contexts[z])
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"context must be one of the game's, a Game, or a dict with features and "
                f"observation_maps; got {validation.brief(given)}."
            )
        described = self._described(given)
        return Context(described, described, name=described)

    def _described(self, context: Mapping[str, Any]) -> Game:
        """Return the game of an unlisted context from its features, maps and options."""
        validation.known_keys("a context", context, CONTEXT_KEYS)
        for key in CONTEXT_KEYS[:2]:
            if key not in context:
                raise InvalidInput(
                    f"context must have the key {key!r}; got {validation.brief(sorted(context))}."
                )
        first, options = self.games[0], dict(context)
        options.setdefault("noise", first.noise if first.noise in Game.NOISES else "gaussian")
        if np.ndim(first.noise_std) == 0:
            options.setdefault("noise_std", first.noise_std)
        return Game(parameters=self.parameters, **options)

    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        kinds = {own.noise if noise is None else noise for own in self.games}
        if len(kinds) > 1 or callable(noise):
            raise InvalidInput(
                f"noise must be one of the library's and the same in all contexts; got "
                f"{validation.brief(noise or sorted(map(str, kinds)))}."
            )
        return self.games[0].feedback(noise)

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return ContextualTruths(self, theta)

    @property
    def alike(self) -> Alike | None:
        """Which parts of theta a prior takes for alike; None if there are none."""
        return None

    @property
    def sharing(self) -> str:
        """What contexts learn from each other, in one sentence."""
        words = "all contexts share one unknown θ: what is learned in one counts in all"
        same = self._same()
        if len(same) < 2:
            return words
        names = ", ".join(display.ELLIPSIS if n is None else n for n in display.shortened(same))
        return (
            f"{words}; {names} are the same game and learn as one, pm.segments gives each its own θ"
        )

    def _same(self) -> list[str]:
        """Return the contexts of the first game that appears more than once; none if all differ."""
        found: dict[Any, list[str]] = {}
        for name, game in zip(self.contexts, self.games, strict=True):
            arrays = game.features, game.observation_maps, np.asarray(game.noise_std)
            found.setdefault(tuple(own.tobytes() for own in arrays), []).append(name)
        return next((names for names in found.values() if len(names) > 1), [])

    def sheets(self, title: str = "") -> list[display.Sheet]:
        """Return one table per context, or those of the first and the last ones."""
        count = f"{len(self.games)} context{'s' if len(self.games) > 1 else ''}"
        headline = title or f"{count}, {self.k} actions"
        return self._tables(headline, "context", self.games)

    def _tables(self, title: str, kind: str, games: Sequence[Game]) -> list[display.Sheet]:
        """Return a title with what is shared, then the tables of the games of some contexts."""
        count = len(games)
        tables = [display.Sheet(title, (), ())]
        for z in display.shortened(range(count), most=6):
            if z is None:
                rest = f"{display.ELLIPSIS} {count - 3} more {kind}s"
                tables.append(display.Sheet(rest, (), ()))
                continue
            chance = display.number(float(self.context_distribution[z]))
            tables += games[z].sheets(f"{kind} {self.contexts[z]} (probability {chance})")
        notes = [table.notes for table in tables if table.columns]
        common = tuple(note for note in notes[0] if all(note in own for own in notes))
        own = [replace(t, notes=tuple(n for n in t.notes if n not in common)) for t in tables[1:]]
        return [replace(tables[0], notes=(*common, self.sharing)), *own]

    def __repr__(self) -> str:
        kind = type(self.parameters).__name__
        return (
            f"ContextualGame(contexts={len(self.games)}, k={self.k}, d={self.d}, m={self.m}, "
            f"parameters={kind})"
        )


class ContextualTruths(Truths):
    """What actions earn and show in their contexts under true parameters (n, d)."""

    def __init__(self, game: ContextualGame, theta: Array) -> None:
        self.game, self.theta = game, theta
        self._each = np.arange(len(theta))
        self._sizes = np.ones((len(game.games), game.k))
        for z, own in enumerate(game.games):
            self._sizes[z, game.positions(z)] = own.noise_std

    @cached_property
    def _signals(self) -> Array:
        """The columns of all maps, shape (contexts, k, outcomes, m)."""
        return np.ascontiguousarray(self.game.observation_maps.swapaxes(2, 3))

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        context = self._offered(action, context)
        rows = self.game.observation_maps[context, action]  # (n, m, d)
        return np.asarray((rows * self.theta[:, None, :]).sum(axis=-1))

    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        return np.asarray(self._sizes[context, action])

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        rewards = (self.game.features[context] * self.theta[:, None, :]).sum(axis=-1)  # (n, k)
        rewards = np.where(self.game.available[context], rewards, -np.inf)
        return np.asarray(rewards.max(axis=1) - rewards[self._each, action])

    def columns(self, action: Indices, outcome: Indices, context: Indices | None = None) -> Array:
        return np.asarray(self._signals[self._offered(action, context), action, outcome])

    def tables(self) -> Tables | None:
        game, theta = self.game, self.theta[:, None, None, :]
        rows, features = game.observation_maps, game.features  # (contexts, k, m, d), (.., k, d)
        if len(theta) * rows.size > MOST_NUMBERS:
            return None
        means = (rows[None] * theta[..., None, :]).sum(axis=-1)
        rewards = np.where(game.available, (features[None] * theta).sum(axis=-1), -np.inf)
        losses = rewards.max(axis=2, keepdims=True) - rewards
        return Tables(means, self._sizes, losses, self._signals)

    def outside(self, low: float, high: float) -> str | None:
        return mean_outside(self.game.games, self.theta, low, high)

    def _offered(self, action: Indices, context: Indices | None) -> Indices:
        """Return the contexts (n,), if they offer the actions (n,)."""
        assert context is not None
        self.game.check_offered(context, action)
        return context


def check_offered(
    labels: Sequence[str], action: Indices, there: NDArray[np.bool_], names: Any = None
) -> None:
    """Refuse the first action (n,) that is not offered (n,); names are those of the contexts."""
    if there.all():
        return
    first = int(np.flatnonzero(~there)[0])
    number = int(action[first])
    label = labels[number] if 0 <= number < len(labels) else number
    where = "" if names is None else f" in context {validation.brief(names[first])}"
    raise InvalidInput(
        f"action must be one that the context offers; got {validation.brief(label)}{where}."
    )


def same_context(one: Game, two: Game) -> bool:
    """Whether two contexts have the same features, maps and noise."""
    return one is two or (
        np.array_equal(one.features, two.features)
        and np.array_equal(one.observation_maps, two.observation_maps)
        and np.array_equal(one.noise_std, two.noise_std)
    )


def _checked_games(value: Iterable[Game]) -> tuple[Game, ...]:
    """Validate that the contexts are games over one parameter set."""
    if not isinstance(value, Iterable):
        raise InvalidInput(f"games must hold one Game per context; got {validation.brief(value)}.")
    games = tuple(value)
    if not games:
        raise InvalidInput("games must hold at least one context; got none.")
    for z, game in enumerate(games):
        if not isinstance(game, AnyGame) or game.traits.contexts:
            raise InvalidInput(
                f"games must hold one Game per context; got {validation.brief(game)} at {z}."
            )
        if game.traits.function:
            raise InvalidInput(
                f"contexts cannot be kernel games; give the linear ones, game.linear; "
                f"got {validation.brief(game)} "
                f"at {z}."
            )
        if not game.parameters.equals(games[0].parameters):
            raise InvalidInput(
                f"all contexts must share one parameter set; context {z} has "
                f"{validation.brief(game.parameters)}, "
                f"context 0 has {validation.brief(games[0].parameters)}."
            )
        if game.outcome_labels != games[0].outcome_labels:
            raise InvalidInput(
                f"finite contexts must share their outcomes; context {z} has "
                f"{validation.brief(game.outcome_labels)}, context 0 has "
                f"{validation.brief(games[0].outcome_labels)}."
            )
    return games
