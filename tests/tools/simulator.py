"""Numba's simulator of CUDA, mended where its threads get in each other's way.

``NUMBA_ENABLE_CUDASIM=1`` must be set before Numba is imported, so tests use it in a process of
their own.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


class _Cuda:
    """The module ``cuda`` as the thread that runs sees it."""

    def __getattr__(self, name: str) -> Any:
        from numba import cuda
        from numba.cuda.simulator import kernel

        inside = kernel._kernel_context
        return getattr(cuda if inside is None else inside, name)


def _shared_array(self: Any, shape: Any, dtype: Any) -> Any:
    """Return the array that the threads of a block share, one for each line of the source.

    The simulator looks for it and then makes one, between which another thread may do so as well.
    """
    from numba.np import numpy_support

    frame = sys._getframe(1)
    key = frame.f_code.co_filename, frame.f_lineno
    return self._allocations.setdefault(key, np.empty(shape, numpy_support.as_dtype(dtype)))


def prepare() -> None:
    """Let the kernels of the library run in the simulator.

    It replaces ``cuda`` in the module of a device function for as long as one thread is in it,
    although others may be longer; here it is replaced once for all.
    """
    from numba.cuda.simulator import kernelapi

    from partial_monitoring.numerics.cuda import blocks

    sys.setswitchinterval(1e-5)  # threads wait for each other at every barrier
    kernelapi.FakeCUDAShared.array = _shared_array
    blocks.cuda = _Cuda()
