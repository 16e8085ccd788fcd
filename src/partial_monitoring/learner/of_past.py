"""How a learner is told logged data, and moves to another game with what it has learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Self

from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import past
from partial_monitoring.learner.answers import check_window
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.moved import Moved, moved
from partial_monitoring.learner.spec import Spec
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.on_device import on_host
from partial_monitoring.storage.base import NONE, log_of, plain
from partial_monitoring.storage.opened import MEMORY, AnyStorage, storage_of
from partial_monitoring.validation import brief


class LearnerOfPast(LearnerBase):
    """A learner that can start from logged data, and from another learner's."""

    _moved: Moved | None = None

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
        with self._turn():
            session, made = past.told(self._spec, self._session, rows)
            self._publish(session, [step.event for step in made])

    def moved_to(self, game: AnyGame | str, *, storage: AnyStorage = MEMORY) -> Self:
        """Return a learner over another game that keeps what was learned.

        Actions and contexts are those of the same name. What an action has shown is kept if it
        shows the same in the new game, whatever it earns there; open decisions go on if their
        action stays, and are cancelled otherwise. ``moved`` of the learner that is returned says
        what was kept; this learner stays as it is. A game in which something else is unknown is
        refused.

        Parameters
        ----------
        game
            The other game, or the name of one of ``pm.games``.
        storage
            Where the log of the learner over it begins, as for :class:`Learner`, with nothing in it
            so far: unless given, in memory, or nowhere if that of this learner is nowhere.

        Examples
        --------
        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]]), seed=0)
        >>> learner.tell_past(["0", "1"], [[0.5], [0.3]], counts=[10, 20])
        >>> more = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
        >>> moved = learner.moved_to(more)
        >>> print(moved.moved)
        30 observations are kept: 10 of '0', 20 of '1'.
        2 is new.
        """
        with self._turn():
            spec, session, kept = self._spec, self._session, self._storage
            silent = log_of(kept) == NONE
            events = None if silent else list(islice(kept.after(), session.seq))
        new = Spec(game, on_host(spec.policy), spec.seed, spec.settings)
        check_window(new)
        if not self.allow_hopeless:
            refuse_hopeless(new.game)
        following, rows, report = moved(spec, session, events, new)
        beginning = storage_of(None if silent and storage == MEMORY else storage)
        if beginning.latest() is not None or next(beginning.after(), None) is not None:
            raise InvalidInput(
                f"storage must be empty, for a log that begins; got {brief(storage)}."
            )
        beginning.append(list(map(plain, rows)))
        learner = type(self).__new__(type(self))
        learner._begin(new, following, beginning)
        learner._moved = report
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_moved": self._moved}

    @property
    def moved(self) -> Moved | None:
        """What was kept when this learner was moved here; None if it was not, or was loaded."""
        return self._moved
