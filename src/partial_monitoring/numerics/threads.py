"""Threads of the linear algebra libraries that NumPy and SciPy call."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Return the libraries that are loaded; to find them takes milliseconds, hence only once."""
    import scipy.linalg  # noqa: F401 it has a library of its own, which must be loaded to be found

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Keep linear algebra on one thread: on small systems more threads only wait for each other.

    >>> with one_thread():
    ...     pass
    """
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]
