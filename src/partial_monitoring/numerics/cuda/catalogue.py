"""A catalogue: features of very many actions that live on the device, and decisions among them.

Each action shows its own reward. The host keeps what has d or d^2 numbers, in double precision, and
sends it in one copy per decision; means, variances and gaps of the actions stay on the device, in
the precision of the features. One small copy brings the answer back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log, sqrt
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from partial_monitoring.numerics.cuda import layout
from partial_monitoring.numerics.cuda.blocks import (
    PRODUCTS_EACH,
    THREADS,
    multiprocessors,
    prepared,
    recorded,
)
from partial_monitoring.numerics.cuda.layout import VECTORS
from partial_monitoring.numerics.cuda.passes import passes_for
from partial_monitoring.numerics.cuda.products import SQUARED, products_for, tile_of
from partial_monitoring.numerics.cuda.reads import reads_for, words_of
from partial_monitoring.validation import Array, Indices

UPLOADED = 2**22
"""Numbers that are brought to the device at once, to bound the memory of the host."""

SHORTLIST = 16
"""Actions with the largest means of which the host computes the next means itself, to tell the
device which of them are likely to be greedy."""

ROUNDING = {"float32": 2e-6, "float64": 4e-15}
"""A squared distance below this fraction of the squares it is computed from is zero."""


class Round(NamedTuple):
    """What the host knows in a round."""

    theta: Array
    """Whose products with the features are the means, shape (d,)."""
    inverse: Array
    """W_t^-1 in the coordinates of the features, shape (d, d)."""
    rule: int
    """``layout.RELAXED``, ``MEAN`` or ``IMPROVEMENT``."""
    kappa: float
    beta: float
    ceiling: float
    """T, for mean gaps; infinite for others."""
    noise: float
    """rho."""
    number: float
    """t."""


class Step(NamedTuple):
    """What one observation changed: variances lose share <phi, x>^2."""

    before: object
    """What was known before it."""
    x: Array
    """W_t^-1 w, shape (d,)."""
    share: float


class Answer(NamedTuple):
    """The pair of actions with the least information ratio."""

    first: int
    second: int
    share: float
    """The probability of the second."""
    ratio: float
    gaps: tuple[float, float]
    information: tuple[float, float]
    greedy: int
    reads: int
    """How often the features were read, without refreshed variances."""
    refreshed: bool
    """Whether variances were computed from scratch, in k d^2 operations."""


class Catalogue:
    """Features (k, d) on the device, "float32" or "float64" there.

    ``counted`` (k,) says which actions are rivals: the first ones of those that are equal.
    """

    def __init__(self, features: Array, precision: str, counted: Any) -> None:
        self.features, self.precision, self.counted = features, precision, counted
        self._lock = RLock()
        self._device: _Device | None = None
        self.last: Answer | None = None
        """The last answer, which says how often the features were read."""

    def __reduce__(self) -> Any:
        return Catalogue, (self.features, self.precision, self.counted)

    def __deepcopy__(self, memo: Any) -> Catalogue:
        return self  # what is known is not kept here, only its numbers on the device

    def decide(self, known: object, step: Step | None, now: Round) -> Answer:
        """Return the best pair in a round.

        Variances on the device follow what is ``known``: they are left as they are, updated by one
        step, or computed from scratch if the device has seen anything else.
        """
        with self._lock:
            if self._device is None:
                self._device = _Device(self.features, self.precision, self.counted)
            self.last = self._device.decide(known, step, now)
            return self.last


class _Device:
    """The arrays on the device, and what is launched: one kernel, five for improvements."""

    def __init__(self, features: Array, precision: str, counted: Any) -> None:
        k, d = features.shape
        self.host, self.precision = features, precision
        rows = -(-k // THREADS) * THREADS  # kernels read whole blocks of rows
        words, blocks = words_of(precision), multiprocessors()
        width = -(-d // words.held)
        self.features = cuda.device_array(rows * width, words.dtype)
        step = max(1, UPLOADED // d)
        for start in range(0, rows, step):
            part = np.zeros((min(step, rows - start), width * words.held), precision)
            given = features[start : start + step]
            part[: len(given), :d] = given
            place = slice(start * width, (start + len(part)) * width)
            self.features[place].copy_to_device(part.view(words.dtype).ravel())
        table = cuda.device_array((layout.ROWS, rows), precision)
        rivals = np.zeros(rows, precision)
        rivals[:k] = counted
        table[layout.COUNTED].copy_to_device(rivals)
        self.sent = cuda.pinned_array(layout.SENT + (VECTORS + d) * d)
        self.sent[:] = 0.0
        self.inbox = cuda.to_device(self.sent)
        self.blocks, self.table = blocks, table
        outbox = cuda.to_device(np.zeros(layout.KEPT + layout.BLOCK_ROWS * blocks))
        self.outbox = outbox[: layout.KEPT + 2 * blocks]
        self.found = cuda.pinned_array(self.outbox.shape)
        turn = cuda.to_device(np.zeros(1, dtype=np.int64))
        reads, products = reads_for(precision, d), products_for(precision, d)
        pair = passes_for(precision).pair
        self._sweep = prepared(
            reads.sweep, blocks, THREADS, self.features, table, self.inbox, outbox, turn, k
        )
        tile = tile_of(precision)
        pairs, many = (-(-d // tile)) ** 2, blocks * PRODUCTS_EACH
        inverse = self.inbox[layout.SENT + VECTORS * d :].reshape(d, d)

        def forms(matrix: Any, row: int) -> Callable[[Any], None]:
            return prepared(products.quadratic, many, SQUARED, self.features, matrix, table, row, k)

        def improvements() -> list[Callable[[Any], None]]:
            parts = cuda.device_array((pairs, max(1, many // pairs), tile, tile), precision)
            total = cuda.device_array((2, d, d), np.float64)
            grid = parts.shape[:2]
            return [
                prepared(products.squares, grid, SQUARED, self.features, table, outbox, parts, k),
                prepared(products.middle, blocks, THREADS, parts, self.inbox, total, turn),
                forms(total[1], layout.GAINS),
                prepared(pair, blocks, THREADS, table, self.inbox, outbox, turn, k),
            ]

        self._refresh = cache(lambda: forms(inverse, layout.VARIANCES))
        self._improvements = cache(improvements)
        self._round = cache(self._recorded_round)
        self.known: object = None
        self.shortlist: Indices = np.zeros(min(SHORTLIST, blocks) + 2, dtype=np.int64)

    def decide(self, known: object, step: Step | None, now: Round) -> Answer:
        fresh = self.known is not known and (step is None or self.known is not step.before)
        self._send(now, None if fresh or self.known is known else step)
        self.known = None  # an interruption must not leave variances of nobody knows when
        self._round(fresh, now.rule == layout.IMPROVEMENT)()
        self.known = known
        return self._answer(self.found, now, fresh)

    def _recorded_round(self, fresh: bool, improving: bool) -> Callable[[], None]:
        """Return a function that does everything on the device, from one copy to the other."""
        return recorded(
            lambda stream: self.inbox.copy_to_device(self.sent, stream),
            *([self._refresh()] if fresh else []),
            self._sweep,
            *(self._improvements() if improving else []),
            lambda stream: self.outbox.copy_to_host(self.found, stream),
        )

    def _send(self, now: Round, step: Step | None) -> None:
        """Send the numbers of a round, with the vector of the action that may be greedy."""
        sent, d = self.sent, len(now.theta)
        likely = self.host[self.shortlist]
        best = (likely @ now.theta).argmax()
        sent[: layout.SENT] = (
            0.0 if step is None else step.share,
            now.beta,
            now.ceiling,
            now.rule,
            now.kappa,
            now.noise,
            now.number,
            sqrt(2.0 * log(now.number)),
            ROUNDING[self.precision],
            self.shortlist[best],
        )
        vectors = sent[layout.SENT :].reshape(VECTORS + d, d)
        vectors[0], vectors[1] = now.theta, 0.0 if step is None else step.x
        vectors[2], vectors[VECTORS:] = likely[best] @ now.inverse, now.inverse

    def _answer(self, found: Array, now: Round, fresh: bool) -> Answer:
        tops, best = found[layout.KEPT :].reshape(2, -1)
        most, kept = len(self.shortlist) - 2, found[: layout.KEPT].tolist()
        self.shortlist[:most] = best[tops.argpartition(most - 1)[:most]]
        first, second = int(kept[layout.FIRST]), int(kept[layout.SECOND])
        self.shortlist[most:] = first, second
        self.shortlist.sort()  # the first of equal ones is greedy
        reads = 1 + int(kept[layout.AGAIN]) + 2 * (now.rule == layout.IMPROVEMENT)
        return Answer(
            first,
            second,
            kept[layout.PART],
            kept[layout.RATIO] if kept[layout.WIDEST] < np.inf else float("nan"),
            (kept[layout.GAP_1], kept[layout.GAP_2]),
            (kept[layout.GAIN_1], kept[layout.GAIN_2]),
            int(kept[layout.GREEDY]),
            reads,
            fresh,
        )
