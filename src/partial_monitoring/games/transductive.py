"""Measure here, decide there: actions that inform and actions that earn (example 6)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.games.linear_bandit import unit_ball
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import axes, items, real_array, real_number


def transductive(
    targets: ArrayLike = ((1, 0), (0, 1), (-1, -1)),
    probes: Iterable[ArrayLike] = (((1, 0), (0, 1)),),
    *,
    probe_features: ArrayLike | None = None,
    parameters: ParameterSet | None = None,
    noise_std: float = 1.0,
) -> Game:
    """Transductive bandit: targets earn, only probes show.

    Model: target a has features phi_a and no observation; probe c has the map M_c and the features
    ``probe_features[c]`` (zero unless given). Theta is the unit ball unless given.

    Parameters
    ----------
    targets
        Features of the targets, shape (targets, d).
    probes
        One observation map per probe, shape (m_c, d), or a single row of length d.

    Example
    -------
    >>> game = transductive()
    >>> game.actions, game.row_counts
    (('target 0', 'target 1', 'target 2', 'probe 0'), (0, 0, 0, 2))

    Reference: example 6; Fiez et al. (2019).
    """
    phi = real_array("targets", targets, ("targets", "d"))
    d = phi.shape[1]
    maps = [
        real_array(f"probes[{c}]", own, (d,) if axes(own) == 1 else ("m", d)).reshape(-1, d)
        for c, own in enumerate(items("probes", probes, " of observation maps"))
    ]
    if not maps:
        raise InvalidInput(
            "probes must hold at least one map, else nothing is ever seen; got none."
        )
    own = np.zeros((len(maps), d))
    if probe_features is not None:
        own = real_array("probe_features", probe_features, (len(maps), d))
    names = [f"target {a}" for a in range(len(phi))] + [f"probe {c}" for c in range(len(maps))]
    theta = unit_ball(phi) if parameters is None else parameters
    silent: list[ArrayLike] = [[]] * len(phi)
    return Game(np.concatenate([phi, own]), [*silent, *maps], theta, noise_std, names)


def apple_tasting(lost_sale: float = 1.0, bad_sale: float = 1.0) -> FiniteGame:
    """Apple tasting: only a tasted apple shows if it was rotten, and it cannot be sold.

    Model: outcomes good and rotten. Tasting a good apple costs ``lost_sale``, selling a rotten one
    costs ``bad_sale`` and goes unnoticed.

    Example
    -------
    >>> apple_tasting().signal("taste", "rotten")
    'rotten'

    Reference: example 6; Helmbold, Littlestone and Long (2000).
    """
    rewards = [
        [-real_number("lost_sale", lost_sale), 0.0],
        [0.0, -real_number("bad_sale", bad_sale)],
    ]
    outcomes = ["good", "rotten"]
    return FiniteGame(rewards, [outcomes, ["-", "-"]], actions=["taste", "sell"], outcomes=outcomes)


def label_efficient(label_cost: float = 1.0) -> FiniteGame:
    """Label-efficient prediction: the truth is shown only when paid for.

    Model: outcomes 0 and 1. A wrong prediction costs 1, asking for the label costs ``label_cost``
    whatever it is.

    Example
    -------
    >>> label_efficient().signal("ask", "1")
    '1'

    Reference: example 6; Cesa-Bianchi, Lugosi and Stoltz (2005).
    """
    cost = real_number("label_cost", label_cost)
    return FiniteGame(
        [[-cost, -cost], [0.0, -1.0], [-1.0, 0.0]],
        [["0", "1"], ["-", "-"], ["-", "-"]],
        actions=["ask", "predict 0", "predict 1"],
        outcomes=["0", "1"],
    )


def inspection(
    cost: float = 0.25, missed_fault: float = 1.0, false_alarm: float = 1.0
) -> FiniteGame:
    """Inspection: accept, reject, or pay to look.

    Model: outcomes fine and faulty. Accepting a faulty item costs ``missed_fault``, rejecting a
    fine one ``false_alarm``, inspecting costs ``cost`` and shows the truth. With the default costs
    it is :func:`spam_filter` in other words: the same numbers, and so the same results.

    Example
    -------
    >>> print(inspection(cost=0.25).rewards)
    [[ 0.   -1.  ]
     [-1.    0.  ]
     [-0.25 -0.25]]

    Reference: example 6; the spam filtering game of Lattimore and Szepesvari (2020), section 37.1.
    """
    return _judge(
        cost, missed_fault, false_alarm, ["accept", "reject", "inspect"], ["fine", "faulty"]
    )


def spam_filter(cost: float = 0.25) -> FiniteGame:
    """Spam filter: keep a mail, delete it, or pay to ask the user.

    Model: outcomes mail and spam; every mistake costs 1, asking costs ``cost`` and shows the truth.
    It is :func:`inspection` with both mistakes at 1, in other words.

    Example
    -------
    >>> spam_filter().actions
    ('keep', 'delete', 'ask')

    Reference: Lattimore and Szepesvari (2020), section 37.1.
    """
    return _judge(cost, 1.0, 1.0, ["keep", "delete", "ask"], ["mail", "spam"])


def _judge(
    cost: float, miss: float, false_alarm: float, actions: list[str], outcomes: list[str]
) -> FiniteGame:
    cost = real_number("cost", cost)
    rewards: list[list[float]] = [
        [0.0, -real_number("missed_fault", miss)],
        [-real_number("false_alarm", false_alarm), 0.0],
        [-cost, -cost],
    ]
    signals = [["-", "-"], ["-", "-"], outcomes]
    return FiniteGame(rewards, signals, actions=actions, outcomes=outcomes)
