"""Contextual games: something is seen before acting (section 6, examples 11 and 12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.games.dueling import dueling
from partial_monitoring.games.linear_bandit import MOST_ARMS, linear_bandit
from partial_monitoring.games.pricing import dynamic_pricing
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import Ball, Box, ParameterSet
from partial_monitoring.validation import (
    boolean,
    brief,
    labels,
    real_array,
    real_number,
    whole_number,
)


def survey(products: int = 2, answer_rate: float = 0.3, voucher: bool = False) -> ContextualGame:
    """Survey: some clients say whether they were satisfied, the others never answer.

    Model: theta_a in [0, 1] is the chance that product a satisfies. In the context "answers" (with
    probability ``answer_rate``) a 0/1 answer is seen, in the context "silent" nothing: what is
    learned from the first kind of client has to serve the second. With ``voucher`` those who answer
    can be given a voucher instead, which satisfies for certain and so shows nothing: nobody would
    try a product on them, were it not for the others.

    Example
    -------
    >>> survey().at("silent").row_counts
    (0, 0)

    Reference: example 11, the non-informative context.
    """
    k = whole_number("products", products, at_least=1, at_most=MOST_ARMS)
    rate = real_number("answer_rate", answer_rate)
    if not 0 <= rate <= 1:
        raise InvalidInput(f"answer_rate must lie between 0 and 1; got {brief(answer_rate)}.")
    # The constant reward of the voucher is a last coordinate of theta, which is 1.
    d = k + boolean("voucher", voucher)
    box = Box((np.arange(d) >= k).astype(float), np.ones(d))
    names = [*(f"product {a}" for a in range(k)), "voucher"][:d]
    shown = [*np.eye(d)[:k, None], *np.zeros((d - k, 0, d))]
    answers = Game(np.eye(d), shown, box, 0.5, names, noise="bernoulli")
    silent = Game(np.eye(d)[:k], np.zeros((k, 0, d)), box, 0.5, names[:k], noise="bernoulli")
    return ContextualGame((answers, silent), np.array([rate, 1 - rate]), ("answers", "silent"))


def greedy_exploration(contexts: int = 8) -> ContextualGame:
    """Greedy exploration: contexts differ so much that the best actions show all.

    Model: a linear bandit in the plane. Context z of n offers the unit vectors at the angles
    2 pi z / n and 2 pi z / n + pi / 2; whatever theta is, the best actions of all contexts together
    span the plane. Theta is the unit ball.

    Example
    -------
    >>> greedy_exploration(4).at(1).k
    2

    Reference: example 12; Bastani, Bayati and Khosravi (2021).
    """
    n = whole_number("contexts", contexts, at_least=2, at_most=MOST_ARMS)
    disk = Ball(np.zeros(2), 1.0)
    games = []
    for angle in 2 * np.pi * np.arange(n) / n:
        turned = np.array([angle, angle + np.pi / 2])
        arms = np.stack([np.cos(turned), np.sin(turned)], axis=1)
        games.append(Game(arms, arms[:, None, :], disk, 1.0, ("left", "right")))
    return ContextualGame(tuple(games))


def contextual_linear_bandit(
    features: ArrayLike = (
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0.6, 0.8, 0), (0, 0.6, 0.8), (0.8, 0, 0.6)),
        ((0.6, -0.8, 0), (0, 0.6, -0.8), (-0.8, 0, 0.6)),
    ),
    context_distribution: ArrayLike | None = None,
    *,
    parameters: ParameterSet | None = None,
    noise_std: float = 1.0,
    contexts: Iterable[object] | None = None,
) -> ContextualGame:
    """Contextual linear bandit: features depend on what is seen first, rewards are shown.

    Model: phi_a^z are the features of action a in context z and M_a^z = (phi_a^z)'. Theta is the
    unit ball unless given.

    Parameters
    ----------
    features
        Shape (contexts, k, d).
    context_distribution
        chi; uniform unless given.

    Example
    -------
    >>> contextual_linear_bandit().at(1).k
    3

    Reference: section 6; Li, Chu, Langford and Schapire (2010).
    """
    phi = real_array("features", features, ("contexts", "k", "d"))
    games = [linear_bandit(own, parameters, noise_std=noise_std) for own in phi]
    return ContextualGame(games, context_distribution, contexts)


def contextual_dueling(
    features: ArrayLike = (((1, 0), (0, 1), (0.6, 0.6)), ((1, 0), (0, -1), (0.6, -0.6))),
    context_distribution: ArrayLike | None = None,
    *,
    feedback: str = "quantitative",
    parameters: ParameterSet | None = None,
    contexts: Iterable[object] | None = None,
) -> ContextualGame:
    """Contextual dueling: which two items to compare depends on who is asked.

    Model: in context z the items have the features phi_a^z, and a duel is as in the dueling bandit.
    Theta is the unit ball unless given.

    Parameters
    ----------
    features
        Item features in each context, shape (contexts, items, d).

    Example
    -------
    >>> contextual_dueling().at(0).k
    9

    Reference: section 6 with example 3.
    """
    phi = real_array("features", features, ("contexts", "items", "d"))
    games = [dueling(own, feedback=feedback, parameters=parameters) for own in phi]
    return ContextualGame(games, context_distribution, contexts)


def segment_pricing(
    prices: ArrayLike = (1, 2, 3),
    premiums: ArrayLike = (0, 1),
    cost: float = 2.0,
    context_distribution: ArrayLike | None = None,
) -> ContextualGame:
    """Segment pricing: customers of some segments pay a premium on what others would pay.

    Model: dynamic pricing in which a customer of segment z who would pay x as an ordinary one pays
    up to x + premium_z. The distribution of x is common to all segments, so what is learned in one
    serves the others.

    Parameters
    ----------
    prices
        The prices that can be offered; also what ordinary customers may be willing to pay.
    premiums
        What each segment pays on top.
    cost
        What a lost sale costs.

    Example
    -------
    >>> segment_pricing().contexts
    ('premium $0', 'premium $1')

    Reference: example 10 with contexts.
    """
    offers = real_array("prices", prices, ("k",))
    extra = real_array("premiums", premiums, ("contexts",))
    outcomes = [f"${value:.15g}" for value in offers]
    names = labels("premiums", [f"premium ${premium:.15g}" for premium in extra], len(extra))
    games = []
    for premium in extra:
        own = dynamic_pricing(offers, offers + premium, cost)
        games.append(FiniteGame(own.rewards, own.signals, actions=own.actions, outcomes=outcomes))
    return ContextualGame(games, context_distribution, names)


def contextual_apple_tasting(
    descriptions: ArrayLike = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0), (0, 0.5, 0.5)),
    context_distribution: ArrayLike | None = None,
    *,
    lost_sale: float = 1.0,
    bad_sale: float = 1.0,
) -> ContextualGame:
    """Contextual apple tasting: inspect an item with a description, or let it pass.

    Model: an item with description x (weights that sum to 1) is bad with probability <x, theta>,
    theta in [0, 1]^d. Selling a bad one costs ``bad_sale``, tasting a good one ``lost_sale``; only
    tasting shows which it was. The constant of the reward is a last coordinate of theta, which is
    1.

    Parameters
    ----------
    descriptions
        Shape (contexts, d); weights of at least zero that sum to 1.

    Example
    -------
    >>> contextual_apple_tasting().at(0).actions
    ('sell', 'taste')

    Reference: section 6 with example 9; Grant and Leslie (2021).
    """
    lost, bad = real_number("lost_sale", lost_sale), real_number("bad_sale", bad_sale)
    rewards = [(-bad, 0.0), (lost, -lost)]
    return _described(descriptions, context_distribution, rewards, ("sell", "taste"), 1)


def contextual_label_efficient(
    descriptions: ArrayLike = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0), (0, 0.5, 0.5)),
    context_distribution: ArrayLike | None = None,
    *,
    label_cost: float = 1.0,
) -> ContextualGame:
    """Contextual label-efficient prediction: predict the label of an item, or pay to see it.

    Model: an item with description x (weights that sum to 1) has the label 1 with probability
    <x, theta>, theta in [0, 1]^d. A wrong prediction costs 1, asking for the label ``label_cost``;
    only asking shows it. The constant of the reward is a last coordinate of theta, which is 1.

    Parameters
    ----------
    descriptions
        Shape (contexts, d); weights of at least zero that sum to 1.

    Example
    -------
    >>> contextual_label_efficient().at(0).actions
    ('ask', 'predict 0', 'predict 1')

    Reference: section 6 with example 6; Bartok and Szepesvari (2012).
    """
    cost = real_number("label_cost", label_cost)
    rewards = [(0.0, -cost), (-1.0, 0.0), (1.0, -1.0)]
    names = ("ask", "predict 0", "predict 1")
    return _described(descriptions, context_distribution, rewards, names, 0)


def _described(
    descriptions: ArrayLike,
    context_distribution: ArrayLike | None,
    rewards: Sequence[tuple[float, float]],
    actions: tuple[str, ...],
    shows: int,
) -> ContextualGame:
    """Return a game of items that are bad with probability p = <description, theta>.

    Actions earn slope p + constant, given as pairs; one of them shows whether the item is bad.
    """
    x = real_array("descriptions", descriptions, ("contexts", "d"))
    if len(x) == 0:
        raise InvalidInput("descriptions must hold at least one context; got none.")
    if (x < 0).any() or np.abs(x.sum(axis=1) - 1).max() > 1e-9:
        raise InvalidInput(
            f"descriptions must be weights of at least zero that sum to 1; got {brief(x.tolist())}."
        )
    d = x.shape[1]
    box = Box(np.append(np.zeros(d), 1.0), np.ones(d + 1))
    one = np.append(np.zeros(d), 1.0)
    games = []
    for own in x:
        rotten = np.append(own, 0.0)
        features = np.stack([slope * rotten + constant * one for slope, constant in rewards])
        maps = [rotten[None][: a == shows] for a in range(len(actions))]
        games.append(Game(features, maps, box, 0.5, actions, noise="bernoulli"))
    names = [",".join(f"{weight:.15g}" for weight in own) for own in x]
    return ContextualGame(games, context_distribution, names)
