"""What every action may lose and tells, in all contexts at the same time.

All contexts look at one estimate and one confidence set, so what is known about their actions is
computed for all of them together, one after the other in one list. Gaps compare the actions of a
context with each other; the library's own ones are computed in groups where that is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence import ConfidenceSet, Schedule, confidence_set
from partial_monitoring.estimation.linear.design import Model
from partial_monitoring.estimation.linear.least_squares import Estimate, viewed
from partial_monitoring.estimation.shapes import Everything, Round, Shape
from partial_monitoring.policies.ids import gaps as gap_estimates
from partial_monitoring.policies.ids import information as information_gains
from partial_monitoring.policies.ids.gaps import COMPILED, GapEstimate
from partial_monitoring.policies.ids.ids import fitting
from partial_monitoring.policies.ids.information import InformationGain
from partial_monitoring.policies.ids.ratio import explain_misfit
from partial_monitoring.validation import Array, Indices

Part = tuple[Model, Shape, NDArray[np.intp]]
"""A context as the estimate sees it, and where its actions stand in arrays over actions."""


@dataclass(frozen=True, eq=False)
class Joined:
    """The actions of all contexts in one list of length N."""

    parts: tuple[Part, ...]
    model: Model
    """Of all these actions together; its game means nothing."""
    starts: Indices
    """Where each context starts in the list, shape (contexts + 1,)."""
    offered: NDArray[np.bool_]
    """A(z) of every context as a mask, shape (contexts, actions)."""

    @cached_property
    def places(self) -> tuple[Indices, Indices]:
        """The context and the place among its actions of every entry, each (N,)."""
        context = np.repeat(np.arange(len(self.parts)), np.diff(self.starts))
        return context, np.concatenate([places for _, _, places in self.parts])

    @cached_property
    def dominant(self) -> NDArray[np.bool_]:
        """Actions that are best in their context whatever the parameter, shape (N,)."""
        return np.concatenate([part.dominant for part, _, _ in self.parts])

    @cached_property
    def centred(self) -> Array:
        """The features minus their mean in each context, shape (N, r)."""
        return np.concatenate([part.centred for part, _, _ in self.parts])

    @cached_property
    def largest_gap(self) -> Array:
        """T of the context of each action, shape (N,)."""
        largest = np.array([part.largest_gap for part, _, _ in self.parts])
        return largest[self.places[0]]

    def spread(self, values: Array) -> Array:
        """Return values (n, N) as a table (n, contexts, actions), zero where not offered."""
        table = np.zeros((len(values), *self.offered.shape))
        table[:, *self.places] = values
        return table

    def at(self, z: int, whole: ConfidenceSet) -> ConfidenceSet:
        """Return the confidence set as it is seen through the actions of one context."""
        part, shape, _ = self.parts[z]
        own = slice(self.starts[z], self.starts[z + 1])
        data, m = whole.data, part.maps.shape[1]
        seen = replace(
            data,
            model=part,
            means=np.ascontiguousarray(data.means[:, own]),
            variances=np.ascontiguousarray(data.variances[:, own]),
            signals=data.signals[:, own, :m, :m],
            plays=data.plays[:, own],
            sums=data.sums[:, own, :m],
        )
        confidence = ConfidenceSet(seen, shape, whole.beta)
        confidence.__dict__["local_center"] = whole.local_center
        return confidence


@dataclass(frozen=True, eq=False)
class Everywhere:
    """What is known about all contexts, for n replicates."""

    gaps: Array
    """Shape (n, contexts, actions); zero where not offered."""
    information: Array
    beta: Array
    center: Array


def joined(whole: Model, parts: Sequence[Part], most: int) -> Joined:
    """Return contexts in one list; ``most`` is the number of actions in arrays over actions."""
    models = [part for part, _, _ in parts]
    counts = [len(part.offsets) for part in models]
    m = max(part.maps.shape[1] for part in models)
    maps = np.zeros((sum(counts), m, whole.rank))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    width = max([most, *(int(places.max()) + 1 for _, _, places in parts)])
    offered = np.zeros((len(parts), width), dtype=bool)
    for z, (part, _, places) in enumerate(parts):
        maps[starts[z] : starts[z + 1], : part.maps.shape[1]] = part.maps
        offered[z, places] = True
    model = replace(
        whole,
        offsets=np.concatenate([part.offsets for part in models]),
        slopes=np.concatenate([part.slopes for part in models]),
        maps=maps,
    )
    return Joined(tuple(parts), model, starts, offered)


def everywhere(
    lists: Joined,
    estimate: Estimate,
    shape: Shape,
    gap: GapEstimate,
    information: InformationGain,
    schedule: Schedule,
) -> Everywhere:
    """Return gaps and information of all contexts; dominant actions have no gap."""
    whole = confidence_set(viewed(estimate, lists.model), shape, schedule)
    told = _told(lists, whole, information)
    lost = _lost(lists, whole, gap)
    if not (lost.min() >= 0 and told.min() >= 0 and lost.max() < np.inf and told.max() < np.inf):
        explain_misfit(lost, told)
    if lists.dominant.any():
        lost = np.where(lists.dominant, 0.0, lost)
    return Everywhere(lists.spread(lost), lists.spread(told), whole.beta, whole.center)


def _told(lists: Joined, whole: ConfidenceSet, information: InformationGain) -> Array:
    """Return the information of all actions, shape (n, N)."""
    if information is information_gains.log_det:
        return information(lists.model.game, whole)
    return _one_by_one(lists, whole, "information", information)


def _lost(lists: Joined, whole: ConfidenceSet, gap: GapEstimate) -> Array:
    """Return the gaps of all actions, shape (n, N)."""
    from partial_monitoring.numerics.compiled import groups

    data, model = whole.data, whole.data.model
    closed = isinstance(whole.shape, Everything)
    seen_whole = model.rank == model.basis.shape[1]
    small = int(np.diff(lists.starts).max()) <= COMPILED
    if gap is gap_estimates.exact and closed and small and seen_whole:
        return np.asarray(
            groups.exact_gaps(data.means, data.inverse, whole.beta, lists.centred, lists.starts)
        )
    if gap is gap_estimates.exact and isinstance(whole.shape, Round):
        return whole.shape.group_gaps(data, whole.local_center, whole.beta, lists.starts)
    through_mean = gap is gap_estimates.mean
    if seen_whole and (through_mean or (gap is gap_estimates.relaxed and closed)):
        found = groups.greedy_gaps(
            whole.means,
            data.variances,
            data.inverse,
            whole.beta,
            model.seen,
            lists.starts,
            through_mean,
        )
        return np.asarray(np.minimum(found, lists.largest_gap) if through_mean else found)
    return _one_by_one(lists, whole, "gap", gap)


def _one_by_one(
    lists: Joined, whole: ConfidenceSet, name: str, function: GapEstimate | InformationGain
) -> Array:
    """Ask a function for one context after the other, shape (n, N)."""
    values = np.empty((whole.data.replicates, lists.starts[-1]))
    for z, (part, _, _) in enumerate(lists.parts):
        own = slice(lists.starts[z], lists.starts[z + 1])
        size = values[:, own].shape
        values[:, own] = fitting(name, function(part.game, lists.at(z, whole)), size)
    return values
