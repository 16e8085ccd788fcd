"""A catalogue: features of very many actions that live on the device, and decisions among them.

Each action shows its own reward. The host keeps what has d or d^2 numbers, in double precision, and
sends it in one copy per decision; means, variances and gaps of the actions stay on the device, in
the precision of the features. One small copy brings the answer back.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from partial_monitoring.numerics.cuda import layout, passes
from partial_monitoring.numerics.cuda.blocks import (
    CHUNK,
    SIDE,
    SIMULATED,
    THREADS,
    TILE,
    WIDE,
    block_count,
)
from partial_monitoring.numerics.cuda.reads import VECTORS, reads_for
from partial_monitoring.validation import Array, Indices

UPLOADED = 2**22
"""Numbers that are brought to the device at once, to bound the memory of the host."""

LOOKS = 1 if SIMULATED else 6
"""Passes of the pair rule that are launched before the host asks whether it is done."""

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
    """The arrays on the device, and what is launched."""

    def __init__(self, features: Array, precision: str, counted: Any) -> None:
        k, d = features.shape
        self.host, self.precision, self.kernels = features, precision, reads_for(precision, d)
        self.features = cuda.device_array((k, d), precision)
        step = max(1, UPLOADED // d)
        for start in range(0, k, step):
            part = np.ascontiguousarray(features[start : start + step], dtype=precision)
            self.features[start : start + len(part)].copy_to_device(part)
        self.counted = cuda.to_device(np.asarray(counted, dtype=np.uint8))
        self.variances, self.means, self.gaps, self.gains = (
            cuda.device_array(k, precision) for _ in range(4)
        )
        self.cross = cuda.device_array((layout.ANCHORS + 1, k), precision)
        self.rows, self.wide = block_count(k, THREADS), block_count(k, WIDE)
        self.sent = np.zeros(layout.SENT + (VECTORS + d) * d)
        sent = cuda.to_device(self.sent)
        self.inbox, self.numbers = sent, sent[: layout.SENT]
        self.vectors = sent[layout.SENT : layout.SENT + VECTORS * d].reshape(VECTORS, d)
        self.matrix = sent[layout.SENT + VECTORS * d :].reshape(d, d)
        self.outbox = cuda.to_device(np.zeros(layout.KEPT + 2 * self.rows))
        self.answer = self.outbox[: layout.KEPT]
        self.tops = self.outbox[layout.KEPT : layout.KEPT + self.rows]
        self.places = self.outbox[layout.KEPT + self.rows :]
        self.turn = cuda.to_device(np.zeros(1, dtype=np.int32))
        self.spare = cuda.device_array(d, np.float64)
        self.least = cuda.device_array((3, self.wide), np.float64)
        self.place = cuda.device_array(self.wide, np.float64)
        tiles = -(-d // TILE)
        self.products = tiles**2, max(1, block_count(k, CHUNK) // tiles**2)
        self.parts: Any = None
        self.known: object = None
        self.shortlist: Indices = np.zeros(1, dtype=np.int64)

    def decide(self, known: object, step: Step | None, now: Round) -> Answer:
        fresh = self.known is not known and (step is None or self.known is not step.before)
        taken = None if fresh or self.known is known else step
        self._send(now, taken)
        if fresh:
            grid = block_count(len(self.means), TILE)
            self.kernels.quadratic[grid, SIDE * SIDE](self.features, self.matrix, self.variances)
        self.known = None  # an interruption must not leave variances of nobody knows when
        self._read()
        if now.rule == layout.IMPROVEMENT:
            self._improvements(now)
        else:
            passes.widths[self.wide, WIDE](
                self.numbers, self.variances, self.means, self.cross, self.least, self.turn,
                self.answer,
            )  # fmt: skip
        passes.gaps_and_gains[self.wide, WIDE](
            self.numbers, self.variances, self.means, self.cross, self.gaps, self.gains,
            self.least, self.place, self.turn, self.answer,
        )  # fmt: skip
        while True:
            for _ in range(LOOKS):
                passes.look[self.wide, WIDE](
                    self.numbers, self.gaps, self.gains, self.least, self.place, self.turn,
                    self.answer,
                )  # fmt: skip
            found = self.outbox.copy_to_host()
            if found[layout.MODE] == layout.DONE:
                break
        self.known = known
        return self._answer(found, now, fresh)

    def _send(self, now: Round, step: Step | None) -> None:
        """Send the numbers of a round, with the vectors of the actions that may be greedy."""
        sent, d = self.sent, len(now.theta)
        means = self.host[self.shortlist] @ now.theta
        anchors = self.shortlist[np.argsort(-means, kind="stable")[: layout.ANCHORS]]
        sent[layout.SHARE] = 0.0 if step is None else step.share
        sent[layout.BETA], sent[layout.CEILING], sent[layout.RULE] = now.beta, now.ceiling, now.rule
        sent[layout.KAPPA], sent[layout.NOISE], sent[layout.ROUND] = (
            now.kappa,
            now.noise,
            now.number,
        )
        sent[layout.REACH] = np.sqrt(2.0 * np.log(now.number))
        sent[layout.ROUNDING] = ROUNDING[self.precision]
        sent[layout.ANCHORED : layout.SENT] = -1.0
        sent[layout.ANCHORED : layout.ANCHORED + len(anchors)] = anchors
        vectors = sent[layout.SENT : layout.SENT + VECTORS * d].reshape(VECTORS, d)
        vectors[0], vectors[1] = now.theta, 0.0 if step is None else step.x
        vectors[2 : 2 + len(anchors)] = self.host[anchors] @ now.inverse
        sent[layout.SENT + VECTORS * d :] = now.inverse.ravel()
        self.inbox.copy_to_device(sent)

    def _read(self) -> None:
        """Read the features once, or twice if the greedy action was not foreseen."""
        self.kernels.sweep[self.rows, THREADS](
            self.features, self.numbers, self.vectors, self.matrix, self.variances, self.means,
            self.cross, self.tops, self.places, self.turn, self.answer, self.spare,
        )  # fmt: skip
        self.kernels.cross[self.rows, THREADS](self.features, self.spare, self.cross, self.answer)

    def _improvements(self, now: Round) -> None:
        """Fill ``gains`` with phi' Q phi, Q = W_t^-1 (sum_b w_b u_b u_b') W_t^-1; two reads."""
        if self.parts is None:
            self.parts = cuda.device_array((*self.products, TILE, TILE), self.precision)
            self.total = cuda.device_array(self.matrix.shape, np.float64)
        passes.worths[self.wide, WIDE](
            self.numbers, self.counted, self.variances, self.means, self.cross, self.gains,
            self.least, self.turn, self.answer,
        )  # fmt: skip
        self.kernels.squares[self.products, SIDE * SIDE](
            self.features, self.gains, self.answer, self.parts
        )
        d = len(now.theta)
        passes.gather[-(-d * d // WIDE), WIDE](self.parts, self.total)
        middle = now.inverse @ self.total.copy_to_host() @ now.inverse
        self.total.copy_to_device(np.ascontiguousarray(0.5 * (middle + middle.T)))
        grid = block_count(len(self.means), TILE)
        self.kernels.quadratic[grid, SIDE * SIDE](self.features, self.total, self.gains)

    def _answer(self, found: Array, now: Round, fresh: bool) -> Answer:
        kept, tops = found[: layout.KEPT], found[layout.KEPT : layout.KEPT + self.rows]
        most = min(SHORTLIST, len(tops))
        order = np.argpartition(tops, most - 1)[:most]
        places = found[layout.KEPT + self.rows :][order].astype(np.int64)
        first, second = int(kept[layout.FIRST]), int(kept[layout.SECOND])
        self.shortlist = np.unique(np.append(places, (first, second)))
        reads = 1 + int(kept[layout.SLOT] == layout.ANCHORS)
        reads += 2 * (now.rule == layout.IMPROVEMENT)
        return Answer(
            first,
            second,
            float(kept[layout.PART]),
            float(kept[layout.RATIO]) if np.isfinite(kept[layout.WIDEST]) else float("nan"),
            (float(kept[layout.GAP_1]), float(kept[layout.GAP_2])),
            (float(kept[layout.GAIN_1]), float(kept[layout.GAIN_2])),
            int(kept[layout.GREEDY]),
            reads,
            fresh,
        )
