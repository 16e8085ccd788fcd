"""Numba's simulator of CUDA, for kernels that call device functions of another module.

``NUMBA_ENABLE_CUDASIM=1`` must be set before Numba is imported, so tests use it in a process of
their own. The simulator replaces the module ``cuda`` in the module of a device function for as long
as one thread is in it, although other threads may still be; here it is replaced once for all.
"""

from __future__ import annotations

from typing import Any


class _Cuda:
    """The module ``cuda`` as the thread that runs sees it."""

    def __getattr__(self, name: str) -> Any:
        from numba import cuda
        from numba.cuda.simulator import kernel

        inside = kernel._kernel_context
        return getattr(cuda if inside is None else inside, name)


def prepare() -> None:
    """Let device functions of the library run in the simulator."""
    from partial_monitoring.numerics.cuda import blocks

    blocks.cuda = _Cuda()
