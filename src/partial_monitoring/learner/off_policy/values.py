"""What off-policy estimates return: values with intervals, as a table and a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from partial_monitoring.display import Sheet, TableCell, as_html, as_text, number
from partial_monitoring.errors import InvalidInput, entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT, PER_ROW = 3.6, 0.9, 0.24
"""Inches of a new figure, and what each row adds to its height."""

INK, GREY = "#0072b2", "#777777"


@dataclass(frozen=True)
class Value:
    """What a target earns per round more than what it is compared with.

    Attributes
    ----------
    target, against
        The names of both.
    estimate
        The difference, in units of reward per round; nan if it cannot be estimated.
    low, high
        The ends of its interval; nan if there is none, as around a single decision.
    standard_error
        Of the estimate.
    effective
        How many decisions with equal weights would tell about as much.
    why
        Why it cannot be estimated, in one sentence; empty if it can.
    """

    target: str
    against: str
    estimate: float = nan
    low: float = nan
    high: float = nan
    standard_error: float = nan
    effective: float = 0.0
    why: str = ""

    @property
    def possible(self) -> bool:
        """Whether it can be estimated from the log."""
        return not self.why


@dataclass(frozen=True, eq=False)
class OffPolicy:
    """Off-policy values: reward differences that were estimated from a log.

    Attributes
    ----------
    values
        One :class:`Value` per target.
    decisions
        The number of decisions that were used.
    method, interval, level
        How values and intervals were computed.
    notes
        What was left out, and what makes them doubtful, in sentences.
    """

    values: tuple[Value, ...]
    decisions: int
    method: str
    interval: str
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, target: str) -> Value:
        return entry("target", target, {value.target: value for value in self.values})

    @property
    def estimate(self) -> float:
        """The difference, of a single target."""
        return self._only.estimate

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self._only.low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self._only.high

    @property
    def why(self) -> str:
        """Why it cannot be estimated; empty if it can."""
        return self._only.why

    @property
    def _only(self) -> Value:
        if len(self.values) != 1:
            raise InvalidInput(
                f"there are {len(self.values)} targets; take the value of one, as in "
                f"found['target'].estimate."
            )
        return self.values[0]

    def table(self) -> list[dict[str, Any]]:
        """Return one row of plain data per target."""
        return [asdict(value) for value in self.values]

    @property
    def title(self) -> str:
        """What it is in one line."""
        names = {value.against for value in self.values}
        against = f" against '{next(iter(names))}'" if len(names) == 1 else ""
        return f"Earned more per round{against}, from {self.decisions:,} decisions"

    def sheets(self) -> list[Sheet]:
        """Return the values as a table, and below it what cannot be estimated and why."""
        known = [value for value in self.values if value.possible]
        rows = tuple(
            tuple(
                map(
                    TableCell,
                    (
                        value.target,
                        number(value.estimate),
                        "-" if isnan(value.low) else f"{number(value.low)} to {number(value.high)}",
                        f"{value.effective:,.0f}",
                    ),
                )
            )
            for value in known
        )
        columns = ("target", "difference", f"{100 * self.level:.3g} % interval", "effective")
        how = f"Method {self.method}, {self.interval} intervals."
        reasons = dict.fromkeys(value.why for value in self.values if not value.possible)
        notes = ((how,) if known else ()) + tuple(reasons) + self.notes
        return [Sheet(self.title, columns if rows else (), rows, notes)]

    def plot(self, ax: Any = None, *, title: str | None = None) -> Figure:
        """Draw the differences with their intervals; what cannot be estimated is left out.

        Parameters
        ----------
        ax
            Axes to draw into; without them a new figure is made, which pyplot does not know.
        title
            By default what was estimated from how many decisions; "" for none.
        """
        from partial_monitoring.analysis import pictures
        from partial_monitoring.analysis.pictures import parts

        known = [value for value in self.values if value.possible]
        axes = ax
        if axes is None:
            height = HEIGHT + PER_ROW * max(1, len(known))
            axes = pictures.new_figure(WIDTH, height).add_subplot()
            axes.spines[["top", "right", "left"]].set_visible(False)
        for place, value in enumerate(known):
            if not isnan(value.low):
                axes.plot([value.low, value.high], [place, place], color=INK, linewidth=1.4)
            axes.plot([value.estimate], [place], "o", color=INK, markersize=4)
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set_yticks(range(len(known)), [value.target for value in known])
        axes.set_ylim(len(known) - 0.4, -0.6)
        parts.small_ticks(axes)
        names = {value.against for value in known}
        more = f"than '{names.pop()}'" if len(names) == 1 else ""
        axes.set_xlabel(f"earned more per round {more}", fontsize=parts.NORMAL)
        axes.set_title(self.title if title is None else title, fontsize=parts.NORMAL)
        return pictures.figure_of(axes)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{value.target} {number(value.estimate)}" if value.possible else f"{value.target} -"
            for value in self.values[:5]
        )
        more = f", and {len(self.values) - 5} more" if len(self.values) > 5 else ""
        return f"OffPolicy({self.title}: {shown}{more})"

    def __str__(self) -> str:
        return as_text(self.sheets())

    def _repr_html_(self) -> str:
        return as_html(self.sheets())
