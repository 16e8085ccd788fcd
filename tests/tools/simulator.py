"""Numba's simulator of CUDA, mended: blocks run at the same time, and lanes exchange numbers.

``NUMBA_ENABLE_CUDASIM=1`` must be set before Numba is imported, so tests use it in a process of
their own.
"""

from __future__ import annotations

import sys
from threading import Barrier, Lock, Thread, current_thread
from typing import Any

import numpy as np


class _Block:
    """What the threads of a block share."""

    def __init__(self, size: int) -> None:
        self.barrier, self.lock = Barrier(size), Lock()
        self.arrays: dict[Any, Any] = {}
        self.given: list[Any] = [None] * size


class _Thread(Thread):
    """A thread of a block."""

    def __init__(self, call: Any, block: _Block, place: Any, number: int) -> None:
        from numba.cuda.simulator.kernelapi import Dim3

        super().__init__(daemon=True)
        self.call, self.block, self.error = call, block, None
        self.blockIdx, self.threadIdx = Dim3(*place), Dim3(number, 0, 0)
        self.thread_id = number

    def run(self) -> None:
        try:
            self.call()
        except Exception as error:
            self.error: Any = error
            self.block.barrier.abort()

    def syncthreads(self) -> None:
        self.block.barrier.wait(60)


class _Shared:
    """Arrays of a block, one for each line of the source."""

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        from numba.np import numpy_support

        block, frame = current_thread().block, sys._getframe(1)  # type: ignore[attr-defined]
        with block.lock:
            made = np.full(shape, 7, numpy_support.as_dtype(dtype))  # which is nobody's zero
            return block.arrays.setdefault((frame.f_code.co_filename, frame.f_lineno), made)


class _Cuda:
    """The module ``cuda`` as the thread that runs sees it."""

    shared = _Shared()

    def __getattr__(self, name: str) -> Any:
        from numba import cuda
        from numba.cuda.simulator import kernel

        inside = kernel._kernel_context
        return getattr(cuda if inside is None else inside, name)

    @staticmethod
    def shfl_xor_sync(mask: int, value: Any, apart: int) -> Any:
        """Return the value of another lane; all threads of a block come here together."""
        own: Any = current_thread()
        own.block.given[own.thread_id] = value
        own.syncthreads()
        other = own.block.given[own.thread_id ^ apart]
        own.syncthreads()
        return other


def _launch(self: Any, *arguments: Any) -> Any:
    """Call a function of the device, or run all blocks of a kernel at the same time."""
    from numba.cuda.simulator import kernel
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, FakeWithinKernelCUDAArray
    from numba.cuda.simulator.kernelapi import FakeCUDAModule

    if kernel._kernel_context is not None:
        return self.fn(*arguments)
    inside = [
        FakeWithinKernelCUDAArray(own) if isinstance(own, FakeCUDAArray) else own
        for own in arguments
    ]
    size, threads = self.block_dim[0], []
    with kernel._push_kernel_context(FakeCUDAModule(self.grid_dim, self.block_dim, 0)):
        for place in np.ndindex(*self.grid_dim):
            block = _Block(size)
            threads += [_Thread(lambda: self.fn(*inside), block, place, t) for t in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    for thread in threads:
        if thread.error is not None:
            raise thread.error
        if thread.is_alive():
            raise RuntimeError("threads of a kernel wait for each other")
    return None


def prepare() -> None:
    """Let the kernels of the library run in the simulator."""
    from numba.cuda.simulator.kernel import FakeCUDAKernel

    from partial_monitoring.numerics.cuda import blocks, passes, products, reads

    sys.setswitchinterval(1e-5)  # threads wait for each other at every barrier
    FakeCUDAKernel.__call__ = _launch
    for module in (blocks, passes, products, reads):
        module.cuda = _Cuda()
