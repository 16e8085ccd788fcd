"""How a learner is told logged data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partial_monitoring.learner import past
from partial_monitoring.learner.base import LearnerBase


class LearnerOfPast(LearnerBase):
    """A learner that can start from logged data."""

    def tell_past(
        self,
        actions: Any,
        observations: Iterable[Any] | None = None,
        contexts: Iterable[Any] | None = None,
        *,
        counts: Iterable[int] | None = None,
        weights: Iterable[float] | None = None,
        probabilities: Iterable[float] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Start from logged data: actions that were played before and what was observed after them.

        Rows that are refused are named; then none is learned from.

        Parameters
        ----------
        actions
            What was played; or a table, a data frame or a dict of lists, with the columns action
            and observation, and context, count, weight and probability if there are any.
        observations
            What each of them showed.
        contexts
            In games with contexts, those in which they were played.
        counts
            How often each row came: daily aggregates need not be expanded.
        weights
            By how much each row counts, for policies that learn by least squares: an average of n
            observations has weight n.
        probabilities
            With which the actions were chosen, for policies and off-policy values that weight by
            them.
        columns
            The names of columns of a table that are called otherwise, as in
            ``{"action": "price"}``; of observations with several entries, a list of names.

        Examples
        --------
        >>> import partial_monitoring as pm
        >>> learner = pm.Learner("apple_tasting", seed=0)
        >>> learner.tell_past(["taste", "taste"], ["good", "rotten"], counts=[900, 100])
        >>> learner.round
        1001
        """
        given = {"actions": actions, "observations": observations, "contexts": contexts}
        given |= {"counts": counts, "weights": weights, "probabilities": probabilities}
        rows = past.read_rows(given, columns)
        with self._lock:
            self._publish(*past.told(self._spec, self._session, rows))
