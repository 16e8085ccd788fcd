"""BoTorch with fixed hyperparameters, if it is installed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def torch_of_botorch() -> Any:
    """Return torch if BoTorch is there, with double precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import botorch  # noqa: F401
            import torch
        except ImportError:
            return None
    warnings.filterwarnings("ignore", module="botorch|gpytorch|linear_operator")
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    return torch


def squared_exponential(lengthscale: float, variance: float) -> Any:
    """Return the kernel of GPyTorch with fixed parameters."""
    from gpytorch.kernels import RBFKernel, ScaleKernel

    kernel = ScaleKernel(RBFKernel())
    kernel.base_kernel.lengthscale, kernel.outputscale = lengthscale, variance
    return kernel.requires_grad_(False)


def pairwise_gp(points: Any, pairs: list[tuple[int, int]], lengthscale: float, size: float) -> Any:
    """Return the pairwise GP of duels (winner, loser), its parameters fixed.

    Its noise has variance 1 for each of the two items, so utilities are told in this unit.
    """
    import torch
    from botorch.models import PairwiseGP

    seen, place = np.unique(np.array(pairs), return_inverse=True)
    compared = torch.tensor(place.reshape(-1, 2))
    kernel = squared_exponential(lengthscale, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PairwiseGP(points[seen], compared, covar_module=kernel).eval()
