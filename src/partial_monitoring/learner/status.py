"""Where a learner stands: what may still be best, what exploring costs, what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring import display
from partial_monitoring.estimation.confidence import ConfidenceSet
from partial_monitoring.estimation.kernel.ellipsoid import KernelEllipsoid
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.validation import Array

ENOUGH = 30
"""Observations from which the data are compared with the model."""

MOST_DECIDED = 200
"""Up to so many actions that may beat the best-looking one, it is decided which may be best."""

SUSPICIOUS = 5.0
"""Standard errors beyond which a deviation is reported."""


@dataclass(frozen=True, eq=False)
class Status:
    """What a learner knows by now."""

    round: int
    best: str
    """The action that looks best."""
    action: int
    """Its number (of duels, that of the item)."""
    plausible: list[str]
    """The actions (of duels, the items) that may still be best: for some parameter in E_t no other
    is better. If more than a few hundred may beat the best-looking one, it is only checked that
    they may, see ``decided``."""
    at_risk: float
    """What playing the best-looking action loses per round, at most, if the model holds."""
    exploring: float
    """What the next decision loses in expectation, at most."""
    warnings: list[str]
    """Where the data contradict the model."""
    decided: bool = True
    """Whether every plausible action was shown to be best for some parameter in E_t."""

    def explain(self) -> str:
        """Say it in plain sentences."""
        names = ", ".join(f"'{name}'" for name in self.plausible[:12])
        more = len(self.plausible) - 12
        names += f" and {more} more" if more > 0 else ""
        lines = [f"Round {self.round}: '{self.best}' looks best."]
        if len(self.plausible) == 1:
            lines.append("No other action can be best any more, if the model holds.")
        else:
            risk = display.number(self.at_risk)
            rest = "" if self.decided else " (not each of them was checked against all others)"
            lines.append(
                f"May still be best: {names}{rest}; playing '{self.best}' loses at most {risk}."
            )
            lines.append(f"The next decision loses at most {display.number(self.exploring)}.")
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    def __str__(self) -> str:
        return self.explain()


def status(
    game: Game, confidence: ConfidenceSet, distribution: Array, gaps: Array, history: list[Any]
) -> Status:
    """Return where a learner (one replicate) stands.

    Parameters
    ----------
    game, confidence
        The game and E_t (of duels, that of the game of items).
    distribution, gaps
        Of the next decision, over the actions it considered.
    history
        Pairs (action, observation vector in the user's units) in the order they were told.
    """
    names = confidence.game.actions
    greedy = int(confidence.means[0].argmax())
    ahead, best, decided = _rivals(confidence, greedy)
    return Status(
        int(confidence.round[0]),
        names[greedy],
        _number(game, confidence, greedy),
        [names[a] for a in np.flatnonzero(best)],
        max(float(ahead.max()), 0.0),
        float(distribution @ gaps),
        [*_pressed(confidence), *_misfit(game, confidence, history)],
        decided,
    )


def _number(game: Game, confidence: ConfidenceSet, greedy: int) -> int:
    """Return the number of an action of the estimate in the game that is played."""
    known = confidence.game
    if isinstance(game, KernelBoxGame) and isinstance(known, KernelGame):
        point = known.point(greedy)
        assert point is not None
        return int(game.nearest(point[None])[0])
    return greedy


def warned(status: Status, caveat: str | None) -> Status:
    """Return a status with one more warning, if there is one, before the others."""
    return status if caveat is None else replace(status, warnings=[caveat, *status.warnings])


def _rivals(confidence: ConfidenceSet, greedy: int) -> tuple[Array, NDArray[np.bool_], bool]:
    """Return by how much actions may be ahead of the greedy one, which may be best, if decided."""
    ahead, rivals, decide = confidence.ahead(0)
    if int(rivals.sum()) > MOST_DECIDED:
        return ahead, rivals, False
    return ahead, decide(), True


def _pressed(confidence: ConfidenceSet) -> list[str]:
    """Compare the estimate on the affine hull with the one inside Theta."""
    if confidence.outside[0] > float(confidence.beta[0]):
        return ["the data pull the estimate out of the parameter set, which may be too small."]
    return []


def _expected(game: Game, confidence: ConfidenceSet) -> Callable[[int], Array]:
    """Return what the estimate says that actions show on average."""
    theta = confidence.center[0]
    if isinstance(game, KernelGame) and not isinstance(confidence, KernelEllipsoid):
        game = game.linear  # in whose coordinates the estimate is
    if isinstance(game, KernelBoxGame):
        # The numbers of the estimate are values at points, among them all that were played.
        known = confidence.game
        assert isinstance(known, KernelGame)
        points = known.computed.points
        values = dict(zip(game.nearest(points).tolist(), theta, strict=True))
        return lambda a: np.array([values.get(a, np.nan)])
    return lambda a: np.asarray(game.rows(a) @ theta)


def _misfit(game: Game, confidence: ConfidenceSet, history: list[Any]) -> list[str]:
    """Compare residuals with the noise that the game claims, and early ones with late ones."""
    if len(history) < ENOUGH:
        return []
    expected = _expected(game, confidence)
    noise = np.ravel(game.noise_std)
    half = len(history) // 2
    parts: dict[int, tuple[list[Array], list[Array]]] = {}  # early and late ones of each action
    for t, (a, seen) in enumerate(history):
        away = (seen[: game.row_count(a)] - expected(a)) / noise[a % len(noise)]
        parts.setdefault(a, ([], []))[t >= half].append(away)
    found = []
    sizes = np.concatenate([r for both in parts.values() for part in both for r in part])
    if not isinstance(game, FiniteGame) and len(sizes):
        spread = float(np.sqrt((sizes**2).mean()))
        if spread > 1 + SUSPICIOUS / np.sqrt(2 * len(sizes)):
            found.append(f"observations scatter {spread:.2f} times as much as noise_std says.")
    for a, (early, late) in sorted(parts.items()):
        if min(len(early), len(late)) < ENOUGH // 3 or game.row_count(a) == 0:
            continue
        change = np.mean(late, axis=0) - np.mean(early, axis=0)
        error = np.sqrt(1 / len(early) + 1 / len(late))
        if float(np.abs(change).max()) > SUSPICIOUS * error:
            found.append(
                f"what '{game.action_label(a)}' shows has changed over time; the truth may be "
                f"drifting."
            )
    return found
