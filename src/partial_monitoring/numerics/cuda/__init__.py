"""Kernels for NVIDIA GPUs, written with numba-cuda and compiled when they are first used.

Modules here import Numba, NumPy, ``numerics.compiled`` and each other; callers import them inside
functions, after :func:`check_device`. With ``NUMBA_ENABLE_CUDASIM=1`` Numba simulates the device on
the processor, which is how it is tested.
"""

from __future__ import annotations

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import brief

DEVICES = ("cuda",)


def check_device(device: object) -> None:
    """Refuse a device that is not known or not there."""
    if not isinstance(device, str) or device not in DEVICES:
        raise InvalidInput(f"device must be 'cuda'; got {brief(device)}.")
    try:
        from numba import cuda

        there = bool(cuda.is_available())  # type: ignore[no-untyped-call]
    except ImportError:
        there = False
    if not there:
        raise InvalidInput(
            "device 'cuda' needs an NVIDIA GPU and numba-cuda; install it with: "
            "pip install numba-cuda."
        )
