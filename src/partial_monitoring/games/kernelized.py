"""Games of an unknown function with a kernel (section 7): bandits, duels, measuring elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import kernels
from partial_monitoring.kernels import candidates, readings
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.kernel_dueling import KernelDuelingGame
from partial_monitoring.validation import (
    Array,
    axes,
    check_entries,
    filled_array,
    labels,
    one_of,
    positive_number,
)

LENGTHSCALE = 0.2
"""Lengthscale of the kernel unless one is given."""


def kernelized_bandit(
    points: ArrayLike | Mapping[str, Any] | None = None,
    *,
    kernel: Any = None,
    noise_std: ArrayLike = 0.1,
    norm_bound: float = 1.0,
    actions: Iterable[object] | None = None,
) -> KernelGame:
    """Kernelized bandit: optimise an unknown smooth function from noisy values.

    Model: action a earns f(x_a) and shows it with noise. The kernel is squared exponential with
    lengthscale 0.2 unless given, the candidates 51 points between 0 and 1.

    Parameters
    ----------
    points
        The candidates, shape (k, p); see ``pm.candidates`` for grids and samplers. Or a table, as
        in files: ``{"low": [0, 0], "high": [1, 1], "count": 300}``.
    kernel
        One of ``pm.kernels``, a kernel of scikit-learn, a function, or a table such as
        ``{"type": "matern", "nu": 2.5, "lengthscale": 0.3}``.
    noise_std
        One number, or one per candidate (heteroscedastic).
    norm_bound
        B, the largest norm that f may have.
    actions
        Labels of the candidates.

    Example
    -------
    >>> kernelized_bandit([[0.0], [0.5], [1.0]]).k
    3

    Reference: section 7; Srinivas et al. (2010).
    """
    x = _points(points)
    read = readings.values(x)
    return KernelGame.from_kernel(
        _kernel(kernel),
        read,
        read,
        noise_std=noise_std,
        norm_bound=norm_bound,
        actions=names(x) if actions is None else actions,
    )


def kernelized_dueling(
    points: ArrayLike | Mapping[str, Any] | None = None,
    *,
    kernel: Any = None,
    feedback: str = "quantitative",
    noise_std: float | None = None,
    norm_bound: float = 1.0,
    items: Iterable[object] | None = None,
) -> KernelDuelingGame:
    """Kernelized dueling: find the best setting from comparisons of two.

    Model: the duel (a, b) earns g(x_a) + g(x_b) and shows g(x_a) - g(x_b) with noise. The kernel of
    the utility g is squared exponential with lengthscale 0.2 unless given, the items 21 points
    between 0 and 1. Play it with ``pm.DuelingIDS()``, which never lists the pairs.

    Parameters
    ----------
    points
        The settings, shape (items, p), or a table as for :func:`kernelized_bandit`.
    kernel, norm_bound
        Of the utility g, as for :func:`kernelized_bandit`.
    feedback
        "quantitative": the utility difference with Gaussian noise; "sign": which of the two won, +1
        or -1, with mean equal to the utility difference, which must lie between -1 and 1.
    noise_std
        0.1 for quantitative feedback, 1 for signs, unless given.
    items
        Labels of the settings.

    Example
    -------
    >>> kernelized_dueling([[0.0], [0.5], [1.0]]).k
    9

    Reference: section 7; Kirschner and Krause (2021).
    """
    x = _points(points, 21)
    named = names(x) if items is None else items
    options = _noise(feedback, noise_std)
    return KernelDuelingGame(_kernel(kernel), x, norm_bound=norm_bound, items=named, **options)


def kernelized_localized_dueling(
    points: ArrayLike | Mapping[str, Any] | None = None,
    *,
    radius: float = 0.11,
    pairs: Iterable[Sequence[int]] | None = None,
    kernel: Any = None,
    feedback: str = "quantitative",
    noise_std: float | None = None,
    norm_bound: float = 1.0,
    items: Iterable[object] | None = None,
) -> KernelGame:
    """Localized dueling: only settings that are near each other can be compared.

    Model: as :func:`kernelized_dueling`, with each setting against itself and against those at a
    distance of at most ``radius``; or with the given ``pairs``. The settings are 11 points between
    0 and 1 unless given.

    Example
    -------
    >>> kernelized_localized_dueling([[0.0], [0.1], [1.0]], items=list("abc")).actions
    ('a | a', 'b | b', 'c | c', 'a | b')

    Reference: section 7 and example 4.
    """
    x = _points(points, 11)
    options = _noise(feedback, noise_std)
    named = labels("items", names(x) if items is None else items, len(x))
    if pairs is None:
        near = positive_number("radius", radius)
        check_entries("pairs", len(x), len(x))
        chosen = [(a, a) for a in range(len(x))]
        for a in range(len(x)):
            away = np.linalg.norm(x[a + 1 :] - x[a], axis=1)
            chosen += [(a, a + 1 + int(b)) for b in np.flatnonzero(away <= near)]
    else:
        chosen = readings.checked_groups("pairs", pairs, len(x), width=2).tolist()
    return KernelGame.from_kernel(
        _kernel(kernel),
        readings.sums(x, chosen),
        readings.differences(x, chosen),
        norm_bound=norm_bound,
        actions=[f"{named[a]} | {named[b]}" for a, b in chosen],
        **options,
    )


def kernelized_transductive(
    targets: ArrayLike | Mapping[str, Any] | None = None,
    probes: ArrayLike | Mapping[str, Any] | None = None,
    *,
    kernel: Any = None,
    noise_std: float = 0.1,
    norm_bound: float = 1.0,
) -> KernelGame:
    """Kernelized transductive bandit: measure the function here, decide there.

    Model: target a earns f(x_a) and shows nothing; probe c earns nothing and shows f(z_c) with
    noise. Unless given, targets are 11 points between 0 and 1, probes five points away from them,
    and the kernel is that of cubic polynomials, which five points determine. With a kernel as rich
    as the squared exponential, what probes show never quite settles what happens elsewhere: such a
    game is hopeless in the worst case, though often good enough to be played.

    Example
    -------
    >>> kernelized_transductive([[0.0], [1.0]], [[0.5]]).actions
    ('target 0.0', 'target 1.0', 'probe 0.5')

    Reference: section 7 and example 6.
    """
    here = _points(targets, 11)
    there = _points(np.array([0.05, 0.25, 0.45, 0.75, 0.95]) if probes is None else probes)
    nothing = readings.weighted(there[:1], np.zeros((len(there), 1)))
    return KernelGame.from_kernel(
        _kernel(kernel, kernels.Polynomial(3)),
        readings.one_after_another(readings.values(here), nothing),
        readings.one_after_another(readings.nothing(len(here)), readings.values(there)),
        noise_std=noise_std,
        norm_bound=norm_bound,
        actions=[f"target {name}" for name in names(here)]
        + [f"probe {name}" for name in names(there)],
    )


def names(points: Array) -> list[str]:
    """Return labels of points: their coordinates, or their numbers if these are alike."""
    found = [", ".join(f"{v:.4g}" if v % 1 else f"{v:.1f}" for v in point) for point in points]
    return found if len(set(found)) == len(found) else [str(i) for i in range(len(points))]


def _points(points: ArrayLike | Mapping[str, Any] | None, count: int = 51) -> Array:
    if points is None:
        return np.linspace(0.0, 1.0, count)[:, None]
    if isinstance(points, Mapping):
        return candidates.from_dict(points)
    if axes(points) == 1:
        return filled_array("points", points, ("k",))[:, None]
    return filled_array("points", points, ("k", "p"))


def _kernel(kernel: Any, default: kernels.Kernel | None = None) -> Any:
    if kernel is None:
        return kernels.SquaredExponential(LENGTHSCALE) if default is None else default
    return kernels.from_dict(kernel) if isinstance(kernel, Mapping) else kernel


def _noise(feedback: str, noise_std: float | None) -> dict[str, Any]:
    """Return the noise of duels and its size, which has a default for each kind of feedback."""
    sign = one_of("feedback", feedback, ("quantitative", "sign")) == "sign"
    size = (1.0 if sign else 0.1) if noise_std is None else noise_std
    return {"noise": "sign" if sign else "gaussian", "noise_std": size}
