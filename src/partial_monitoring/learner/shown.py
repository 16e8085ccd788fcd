"""What a learner shows of itself: text, HTML and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partial_monitoring import display
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.status import Status, confidence_of, status_of
from partial_monitoring.policies import name_of
from partial_monitoring.validation import brief

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TABLES = 4
"""Largest number of contexts whose tables are shown in HTML."""


class Shown:
    """What a learner shows, computed from its spec and its session."""

    _spec: Spec
    _session: Session

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self._facts().items())
        return f"Learner({facts})"

    def _repr_html_(self) -> str:
        rows = [(display.TableCell(x), display.TableCell(y)) for x, y in self._facts().items()]
        sheets = [display.Sheet("Learner", ("", ""), tuple(rows))]
        try:
            for name, own in self.statuses(most=MOST_TABLES).items():
                title, *notes = own.sentences()
                title = title if name is None else f"Context '{name}'. {title}"
                sheets.append(own.table.sheet(title, tuple(notes), bars=True))
        except PartialMonitoringError:  # a policy without an estimate
            sheets = sheets[:1]
        return display.as_html(sheets)

    def _facts(self) -> dict[str, str]:
        return {
            "game": brief(self._spec.game),
            "policy": name_of(self._spec.policy),
            "round": str(self._session.round),
            "open": str(len(self._session.open)),
        }

    def statuses(self, *, most: int | None = None) -> dict[str | None, Status]:
        """Return the status of every context by its label, or of the first ones.

        A game without contexts has one, None.
        """
        spec, session = self._spec, self._session
        names: Any = spec.game.contexts if spec.game.traits.contexts else (None,)  # type: ignore[attr-defined]
        return {name: status_of(spec, session, spec.context(name)) for name in names[:most]}

    def plot(self, ax: Any = None, *, context: object = None, title: str | None = None) -> Figure:
        """Draw what each action is estimated to earn, with intervals, and its share over time.

        In duels the items are drawn, over a box the best points, and over an interval (a box with
        one coordinate) the estimated curve with its band and what was seen.

        Parameters
        ----------
        ax
            Axes to draw into: one for what actions earn, or two, the second one for the shares;
            without them a new figure is made, which pyplot does not know.
        context
            In games with contexts, the one to draw.
        title
            By default the action that looks best; "" for none.

        Returns
        -------
        Figure
            The figure of the axes; ``savefig`` writes it as PDF, SVG or PNG.

        Examples
        --------
        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting(), seed=0)
        >>> learner.tell_past(["taste"] * 50, ["good"] * 40 + ["rotten"] * 10)
        >>> learner.plot().axes[0].get_xlabel()
        'earns per round; filled: may be best'
        """
        from partial_monitoring.learner.picture import draw

        spec, session = self._spec, self._session
        own = spec.context(context)
        place = f" in {own.name}" if isinstance(own.name, str) else ""
        known = status_of(spec, session, own), own.game, confidence_of(spec, session, own)
        return draw(*known, session.counts.at(spec.logged(own)), ax, title, place)
