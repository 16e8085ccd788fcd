"""The regret of few duels: IDS and Thompson sampling against a pairwise Gaussian process."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.botorch_peer import pairwise_gp, torch_of_botorch
from benchmarks.timing import one_thread, show
from partial_monitoring.policies.policy import draws_needed

Array = np.ndarray

NOISE = 0.1
ITEMS, DUELS, UTILITIES = 50, 40, 40


def run() -> Table:
    with one_thread():
        return regrets()


def regrets() -> Table:
    """Few duels of few items, against expected utility of the best option with the pairwise GP."""
    table = Table(
        title=f"Regret of {DUELS} duels of {ITEMS} items, {UTILITIES} utilities between 0 and 1"
    )
    columns = (
        "feedback",
        "who",
        "regret of a duel",
        "of the last ten",
        "of the item that it names",
    )
    for column in (*columns, "time of a duel"):
        table.add_column(column)
    by_ids(*utility(0), "sign", 0)
    for feedback in ("quantitative", "sign"):
        for name, play in (
            ("Calibrated, the default", by_default),
            ("DuelingIDS", by_ids),
            ("DuelingIDS, two deviations", by_narrow_ids),
            ("DuelingTS", by_thompson),
            ("BoTorch, PairwiseGP with EUBO; it sees who won", by_eubo),
            ("any two items", by_chance),
        ):
            found = [play(*utility(seed), feedback, seed) for seed in range(UTILITIES)]
            if found[0] is None:
                table.add_row(feedback, name, "not installed", *"---")
                continue
            curves = np.array([curve for curve, *_ in found])
            named = np.array([own for _, own, _ in found])
            seconds = float(np.mean([each for *_, each in found]))
            cells = (spread(curves.mean(axis=1)), spread(curves[:, -10:].mean(axis=1)))
            time = show(seconds) if seconds else "-"
            table.add_row(feedback, name, *cells, spread(named), time)
    return table


def spread(values: Array) -> str:
    """Show a mean with its standard error."""
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


Played = tuple[Array, float, float]
"""The regret of each duel, that of the item named in the end, and the time of a duel."""


def utility(seed: int) -> tuple[Array, Array, float]:
    """Return items of the unit square, utilities between 0 and 1, and the norm of the function."""
    rng = np.random.default_rng(seed)
    x = rng.random((ITEMS, 2))
    gram = pm.kernels.SquaredExponential(0.3)(x)
    weights = rng.standard_normal(ITEMS) * (rng.random(ITEMS) < 0.3)
    g = gram @ weights
    size = float(np.ptp(g))
    return x, (g - g.min()) / size, float(np.sqrt(weights @ gram @ weights)) / size


def outcome(difference: float, feedback: str, rng: np.random.Generator) -> float:
    """Return what a duel shows."""
    if feedback == "sign":
        return 1.0 if rng.random() < (1 + difference) / 2 else -1.0
    return difference + NOISE * rng.standard_normal()


def by_default(x: Array, g: Array, norm: float, feedback: str, seed: int) -> Played:
    return by_policy(lambda prior: pm.Calibrated(), x, g, norm, feedback, seed)


def by_ids(x: Array, g: Array, norm: float, feedback: str, seed: int) -> Played:
    return by_policy(lambda prior: pm.DuelingIDS(), x, g, norm, feedback, seed)


def by_narrow_ids(x: Array, g: Array, norm: float, feedback: str, seed: int) -> Played:
    """Return the same with narrow confidence sets, and the variance of the utilities known."""
    narrow = pm.confidence.deviations(2)
    return by_policy(
        lambda prior: pm.DuelingIDS(confidence=narrow, regularization=prior),
        *(x, g, norm, feedback, seed),
    )


def by_thompson(x: Array, g: Array, norm: float, feedback: str, seed: int) -> Played:
    """Return the same for Thompson sampling, which knows the variance, too."""
    return by_policy(lambda prior: pm.DuelingTS(regularization=prior), x, g, norm, feedback, seed)


def by_policy(
    make: Callable[[float], Any], x: Array, g: Array, norm: float, feedback: str, seed: int
) -> Played:
    kernel = pm.kernels.SquaredExponential(0.3)
    game = pm.games.kernelized_dueling(x, kernel=kernel, feedback=feedback, norm_bound=norm)
    policy, rng = make(float(game.noise_std) ** 2 / float(g.var())), np.random.default_rng(seed)
    state, regret = policy.init(game, 1), []
    width = draws_needed(policy, state)
    start = process_time()
    for _ in range(DUELS):
        uniforms = rng.random(1 if width is None else (1, width))
        pair = policy.decide(state, uniforms).action
        a, b = divmod(int(pair[0]), ITEMS)
        state = policy.update(state, pair, np.array([[outcome(g[a] - g[b], feedback, rng)]]))
        regret.append(2 * g.max() - g[a] - g[b])
    each = (process_time() - start) / DUELS
    means = policy.confidence_set(state).means[0]
    best = int(means.argmax())  # an item, or a pair that begins with it
    named = best if len(means) == ITEMS else best // ITEMS
    return np.array(regret), float(g.max() - g[named]), each


def by_eubo(x: Array, g: Array, norm: float, feedback: str, seed: int) -> Played | None:
    """Return the same for the pairwise GP, which is told the variance of the utilities.

    Of 1/16, 1/4, 1, 4, 16 and 64 times this variance none has less regret than this one.
    """
    torch = torch_of_botorch()
    if torch is None:
        return None
    from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption

    unit = np.pi if feedback == "sign" else 2 / NOISE**2  # both links are as steep at a tie
    size = unit * float(g.var())
    points, rng = torch.tensor(x), np.random.default_rng(seed)
    first, second = np.triu_indices(ITEMS, 1)
    a, b = (int(i) for i in rng.choice(ITEMS, 2, replace=False))
    pairs: list[tuple[int, int]] = []
    regret = []
    start = process_time()
    for _ in range(DUELS):
        won = outcome(g[a] - g[b], feedback, rng) > 0
        pairs.append((a, b) if won else (b, a))
        regret.append(2 * g.max() - g[a] - g[b])
        model = pairwise_gp(points, pairs, 0.3, size)
        with torch.no_grad():
            both = torch.stack([points[first], points[second]], dim=1)
            best = int(AnalyticExpectedUtilityOfBestOption(model)(both).argmax())
        a, b = int(first[best]), int(second[best])
    each = (process_time() - start) / DUELS
    with torch.no_grad():
        named = int(model.posterior(points).mean.argmax())
    return np.array(regret), float(g.max() - g[named]), each


def by_chance(x: Array, g: Array, norm: float, feedback: str, seed: int) -> Played:
    """Return what is expected of duels and items drawn uniformly."""
    behind = float(g.max() - g.mean())
    return np.full(DUELS, 2 * behind), behind, 0.0
