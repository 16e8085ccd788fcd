"""Segments: the same kind of decision for several groups, each with an unknown of its own.

A game with one context per segment over the product of their parameter sets, theta = (theta_1, ...,
theta_J). In segment z everything depends on theta_z alone, so that nothing is learned about the
others, unless a prior says that they are alike (``shared``):

    theta_z = theta_0 + common + own_z,   own_z being ``shared`` times as large as common.

As a Gaussian prior, the covariance of theta is (1 1' + shared^2 I) / (1 + shared^2) times that of
one segment alone. It is only a prior: every segment may be anything, and with enough data of its
own it is what its own data say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.alike import Alike
from partial_monitoring.model.any_game import AnyGame, Traits
from partial_monitoring.model.contextual import ContextualGame, ContextualTruths
from partial_monitoring.model.dueling import DuelingGame
from partial_monitoring.model.feedback import Feedback, NoiseFunction
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.truths import Truths, limits
from partial_monitoring.parameter_sets import Product
from partial_monitoring.validation import Array, Indices, brief

TRAITS = Traits(signals=True)
"""Of one segment."""

USUAL = 0.3
"""How large own deviations are next to the common part if ``shared`` is True."""

SCALES = 1e-3, 1e3
"""The least and the largest ``shared``: beyond, segments are one, or share nothing."""


def segments(
    games: Mapping[str, Game],
    shared: float | bool | None = None,
    context_distribution: ArrayLike | None = None,
) -> SegmentedGame:
    """Return one game for several segments, each with an unknown of its own.

    Parameters
    ----------
    games
        The game of each segment, by name. They may differ in everything but the kind of feedback;
        what a segment earns and shows depends on its own unknown.
    shared
        None: what is learned in one segment says nothing about the others. A number: the unknowns
        have a common part, from which each deviates by this many times as much as the common part
        itself is uncertain (a hierarchical Gaussian prior); True is 0.3. The unknowns must then lie
        in the same set.
    context_distribution
        The probability of each segment; uniform if not given.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> shop = pm.games.dynamic_pricing()
    >>> game = pm.segments({"startup": shop, "enterprise": shop})
    >>> game.d, game.contexts
    (6, ('startup', 'enterprise'))
    """
    return SegmentedGame(games, shared, context_distribution)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class SegmentedGame(ContextualGame):
    """A game with one context per segment, over the product of their parameter sets."""

    segments: tuple[Game, ...]
    """The games as they were given, each over its own parameter set."""
    shared: float | None
    """How large own deviations are next to the common part; None if nothing is shared."""

    def __init__(
        self,
        games: Mapping[str, Game],
        shared: float | bool | None = None,
        context_distribution: ArrayLike | None = None,
    ) -> None:
        own = _checked(games)
        parameters = Product(*(game.parameters for game in own.values()))
        lifted = (
            in_block(game, parameters, block)
            for game, block in zip(own.values(), parameters.blocks, strict=True)
        )
        super().__init__(lifted, context_distribution, tuple(own))
        validation.set_fields(self, segments=tuple(own.values()), shared=_scale(shared, own))

    def block(self, segment: int | str) -> slice:
        """Return where the unknown of a segment is in theta."""
        product: Any = self.parameters
        found: slice = product.blocks[self.context_index(segment)]
        return found

    def split(self, theta: ArrayLike) -> dict[str, Array]:
        """Return the unknown of each segment, for parameters (..., d), by name."""
        try:
            whole = np.asarray(theta, dtype=float)
        except (TypeError, ValueError):
            whole = np.zeros(())
        if whole.ndim == 0 or whole.shape[-1] != self.d:
            raise InvalidInput(
                f"theta must have {self.d} entries, those of all segments; got {brief(theta)}."
            )
        return {name: whole[..., self.block(name)] for name in self.contexts}

    def joined(self, thetas: Mapping[str, ArrayLike]) -> Array:
        """Return the parameter whose part for each segment is given by name, shape (d,)."""
        if not isinstance(thetas, Mapping):
            raise InvalidInput(
                f"thetas must be a dict with one theta per segment; got {brief(thetas)}."
            )
        validation.known_keys("thetas", thetas, self.contexts, self.contexts)
        parts = [
            own.parameters.checked(thetas[name], f"the theta of {brief(name)}")
            for name, own in zip(self.contexts, self.segments, strict=True)
        ]
        return np.concatenate(parts)

    @property
    def alike(self) -> Alike | None:
        if self.shared is None:
            return None
        product: Any = self.parameters
        return Alike(self.shared, product.blocks)

    def draw_truths(self, seeds: Indices) -> Array:
        """Draw one parameter per seed: each segment by itself, or around a common part.

        With c and the e_z drawn from the set that all unknowns share, theta_z is the mixture of c
        and e_z in which e_z weighs ``shared`` times as much as c.
        """
        if self.shared is None:
            return self.parameters.sample(seeds)
        alone, whole = self.segments[0].parameters, self.parameters
        drawn = Product(alone, whole).sample(seeds)
        common = np.tile(drawn[:, : alone.d], len(self.segments))
        return (common + self.shared * drawn[:, alone.d :]) / (1.0 + self.shared)

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return SegmentTruths(self, theta) if self.traits.signals else ContextualTruths(self, theta)

    @property
    def sharing(self) -> str:
        """What segments learn from each other, in one sentence."""
        if self.shared is None:
            return "each segment has its own unknown θ: what one shows says nothing about others"
        return (
            f"each segment has its own θ, a common part and a deviation about "
            f"{display.number(self.shared)} times as large: what one shows counts less in others"
        )

    def sheets(self, title: str = "") -> list[display.Sheet]:
        """Return one table per segment, about its own unknown."""
        count = len(self.segments)
        several = "1 segment" if count == 1 else f"{count} segments"
        return self._tables(title or f"{several}, {self.k} actions", "segment", self.segments)

    def __repr__(self) -> str:
        return (
            f"SegmentedGame(segments={len(self.games)}, k={self.k}, d={self.d}, m={self.m}, "
            f"shared={self.shared})"
        )


class SignalSegment(Game):
    """The finite game of one segment, over the unknowns of all segments."""

    NOISES: ClassVar[tuple[str, ...]] = ("outcome",)

    own: FiniteGame
    block: slice

    @property
    def traits(self) -> Traits:
        return TRAITS

    @property
    def symbols(self) -> tuple[tuple[Any, ...], ...]:
        """The symbols each action can show, in the order of the rows of its map."""
        return self.own.symbols

    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        return self.own.feedback(noise)

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return self.own.truths(theta[:, self.block])


class SegmentTruths(ContextualTruths):
    """Segments of finite games: each draws its outcomes from its own distribution."""

    game: SegmentedGame

    @cached_property
    def outcome_limits(self) -> Array:
        """The uniform number below which each outcome is drawn, (n, segments, outcomes)."""
        game, most = self.game, max(own.d for own in self.game.segments)
        found = np.full((len(self.theta), len(game.segments), most), np.inf)
        for z, own in enumerate(game.segments):
            weights = np.maximum(self.theta[:, game.block(z)], 0.0)
            found[:, z, : own.d] = limits(weights / weights.sum(axis=1, keepdims=True))
        return found

    @cached_property
    def _signals(self) -> Array:
        """The columns of the maps of each segment, shape (segments, k, outcomes, m)."""
        game, most = self.game, max(own.d for own in self.game.segments)
        found = np.zeros((len(game.segments), game.k, most, game.m))
        for z, own in enumerate(game.segments):
            columns = own.observation_maps.swapaxes(1, 2)
            found[z, game.positions(z), : own.d, : own.m] = columns
        return found


@singledispatch
def in_block(game: Game, parameters: Product, block: slice) -> Game:
    """Return a game over a product of sets, in which it depends on one of them."""
    maps = [_widened(game.rows(a), parameters.d, block) for a in range(game.k)]
    return Game(
        _widened(game.features, parameters.d, block),
        maps,
        parameters,
        game.noise_std,
        game.actions,
        noise=game.noise,
    )


@in_block.register
def _(game: FiniteGame, parameters: Product, block: slice) -> Game:
    lifted = object.__new__(SignalSegment)
    validation.set_fields(
        lifted,
        features=_widened(game.features, parameters.d, block),
        observation_maps=_widened(game.observation_maps, parameters.d, block),
        parameters=parameters,
        noise_std=game.noise_std,
        actions=game.actions,
        noise="outcome",
        row_counts=game.row_counts,
        own=game,
        block=block,
    )
    return lifted


@in_block.register
def _(game: DuelingGame, parameters: Product, block: slice) -> Game:
    features = _widened(game.item_features, parameters.d, block)
    noise_std = float(game.noise_std)
    return DuelingGame(features, parameters, noise_std, game.items, noise=game.noise)


def _widened(rows: Array, d: int, block: slice) -> Array:
    """Return rows (..., size) about one segment as rows (..., d) about all of them."""
    wide = np.zeros((*rows.shape[:-1], d))
    wide[..., block] = rows
    return validation.frozen(wide)


def _checked(games: Any) -> dict[str, Game]:
    """Validate the segments: listed games without contexts that show the same kind of thing."""
    if not isinstance(games, Mapping) or not games:
        raise InvalidInput(f"games must be a dict with one game per segment; got {brief(games)}.")
    first = next(iter(games.values()))
    for name, game in games.items():
        if not isinstance(name, str):
            raise InvalidInput(f"games must name its segments by strings; got {brief(name)}.")
        if not isinstance(game, Game) or game.traits.function:
            hint = (
                "; take game.linear" if isinstance(game, AnyGame) and game.traits.function else ""
            )
            raise InvalidInput(
                f"games must hold one Game without contexts per segment{hint}; got {brief(game)} "
                f"for {name!r}."
            )
        if game.noise != first.noise:
            raise InvalidInput(
                f"all segments must show the same kind of thing; {name!r} has noise "
                f"{game.noise!r}, {next(iter(games))!r} has {first.noise!r}."
            )
    return dict(games)


def _scale(shared: Any, games: Mapping[str, Game]) -> float | None:
    """Return how large own deviations are, or None; unknowns that are shared must be alike."""
    if shared is None or shared is False:
        return None
    low, high = SCALES
    scale = USUAL if shared is True else validation.positive_number("shared", shared)
    if not low <= scale <= high:
        raise InvalidInput(f"shared must be from {low:g} to {high:g}; got {shared!r}.")
    (one, first), *others = games.items()
    for name, game in others:
        alike = game.parameters.equals(first.parameters)
        if not alike or game.outcome_labels != first.outcome_labels:
            raise InvalidInput(
                f"shared must be None unless the unknowns of all segments are alike; that of "
                f"{name!r} lies in {game.parameters.describe()}, that of {one!r} in "
                f"{first.parameters.describe()}" + (", over other outcomes." if alike else ".")
            )
    return float(scale)
