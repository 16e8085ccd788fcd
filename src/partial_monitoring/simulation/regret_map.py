"""Where a policy is weak: its regret on a grid over all that the truth may be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import disk
from partial_monitoring import games as game_registry
from partial_monitoring import policies as registry
from partial_monitoring.display import Sheet, TableCell, as_html, as_text, number
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.numerics.cuda import check_device
from partial_monitoring.policies.policy import Policy
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.grids import Grid, grid_over
from partial_monitoring.simulation.play import play
from partial_monitoring.simulation.progress import Progress
from partial_monitoring.simulation.simulate import MOST_ROUNDS, named_policies, seed_numbers
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    file_path,
    whole_number,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1
"""Version of the files that ``save`` writes."""

TOGETHER = 2**22
"""Numbers that the states of the runs may hold which are played at the same time, about."""

TOGETHER_ON_DEVICE = 2**28
"""The same on a GPU."""

MOST_SHOWN = 10
"""Number of points in the table."""


class Worst(NamedTuple):
    """The point of a map with the largest mean regret."""

    theta: Array
    regret: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class RegretMap:
    """The regret of one policy on a grid of true parameters.

    Attributes
    ----------
    game
        The game.
    policy
        The name of the policy.
    horizon
        The number of rounds.
    seeds
        The seeds, the same at every point.
    grid
        The points, and where they are drawn.
    regret
        The regret at the horizon, shape (points, seeds); nan where an interruption came first.
    plays
        How often each action was played on average, shape (points, k); empty if there are too many.
    seconds
        How long it took.
    backend
        "compiled" if rounds are compiled as a whole, else "batched: " and why.
    """

    game: AnyGame
    policy: str
    horizon: int
    seeds: Indices
    grid: Grid
    regret: Array
    plays: Array
    seconds: float = 0.0
    backend: str = ""

    @property
    def theta(self) -> Array:
        """The true parameters, shape (points, d)."""
        return self.grid.thetas

    @property
    def mean(self) -> Array:
        """The mean regret at each point, shape (points,)."""
        return np.asarray(self.regret.mean(axis=1))

    @property
    def standard_error(self) -> Array:
        """The standard errors of the means, shape (points,); nan for a single seed."""
        n = self.regret.shape[1]
        if n < 2:
            return np.full(len(self.regret), np.nan)
        return np.asarray(self.regret.std(axis=1, ddof=1) / np.sqrt(n))

    @property
    def worst(self) -> Worst:
        """The point with the largest mean regret."""
        place = int(np.nanargmax(self.mean))
        return Worst(self.theta[place], float(self.mean[place]), float(self.standard_error[place]))

    def table(self) -> list[dict[str, Any]]:
        """Return one row of plain data per point, the largest mean regret first."""
        order = np.argsort(-self.mean, kind="stable")  # nan comes last
        return [
            {
                "theta": self.theta[i].tolist(),
                "regret": float(self.mean[i]),
                "standard_error": float(self.standard_error[i]),
                "plays": self.plays[i].tolist(),
            }
            for i in order
        ]

    def plot(self, ax: Any = None, *, title: str | None = None) -> Figure:
        """Draw the mean regret: a curve, a triangle of three outcomes, or two coordinates.

        Thin lines separate the parameters for which different actions are best. A ring marks the
        worst point.

        Parameters
        ----------
        ax
            Axes to draw into; without them a new figure is made, which pyplot does not know.
        title
            By default the policy, and the numbers of rounds and seeds; "" for none.
        """
        from partial_monitoring.simulation.map_picture import draw_map

        return draw_map(self, ax, self.title if title is None else title)

    @property
    def title(self) -> str:
        """The policy, and the numbers of rounds and seeds, in one line."""
        seeds, s = len(self.seeds), "" if len(self.seeds) == 1 else "s"
        return f"{self.policy}, {self.horizon:,} rounds, {seeds:,} seed{s} per point"

    def sheets(self) -> list[Sheet]:
        """Return the points with the largest regret as a table, and what the others have."""
        known = self.mean[np.isfinite(self.mean)]
        rows = [
            tuple(
                TableCell(text)
                for text in (
                    f"({', '.join(number(round(x, 9)) for x in row['theta'])})",
                    number(row["regret"]),
                    number(row["standard_error"]),
                )
            )
            for row in self.table()[: min(MOST_SHOWN, len(known))]
        ]
        quantiles = [number(float(x)) for x in np.quantile(known, [0.0, 0.5, 1.0])]
        notes = [
            f"Over {len(known):,} points the mean regret is {quantiles[0]} to {quantiles[2]}, half "
            f"of them up to {quantiles[1]}; ± is its standard error."
        ]
        if len(known) < len(self.mean):
            notes.append(f"{len(self.mean) - len(known):,} points were not played.")
        columns = ("true parameter", "mean regret", "±")
        return [Sheet(f"Worst of {self.title}", columns, tuple(rows), tuple(notes))]

    def __repr__(self) -> str:
        worst = f"worst mean regret {self.worst.regret:.4g}"
        return f"RegretMap({self.title}, {len(self.mean)} points, {worst})"

    def __str__(self) -> str:
        return as_text(self.sheets())

    def _repr_html_(self) -> str:
        return as_html(self.sheets())

    def save(self, path: str | Path) -> None:
        """Write a Parquet file with a row per point."""
        import pyarrow as pa
        from pyarrow import parquet

        columns = {
            name: pa.array(list(np.asarray(own)), pa.list_(pa.float64()))
            for name, own in (
                ("place", self.grid.places),
                ("regret", self.regret),
                ("plays", self.plays),
            )
        }
        meta = self._meta()
        meta["digest"] = self._digest(meta)
        table = pa.table(columns).replace_schema_metadata({"regret_map": json.dumps(meta)})
        buffer = BytesIO()
        parquet.write_table(table, buffer, write_page_checksum=True)
        disk.write_bytes(path, buffer.getbuffer())

    def _meta(self) -> dict[str, Any]:
        """Return everything but the numbers of each point as plain data."""
        return {
            "format": FORMAT,
            "game": game_to_dict(self.game),
            "policy": self.policy,
            "horizon": self.horizon,
            "seeds": self.seeds.tolist(),
            "origin": self.grid.origin.tolist(),
            "axes": self.grid.axes.tolist(),
            "names": list(self.grid.names),
            "corners": list(self.grid.corners),
            "seconds": self.seconds,
            "backend": self.backend,
        }

    @classmethod
    def load(cls, path: str | Path) -> RegretMap:
        """Read a map that was saved; a damaged file is refused."""
        from pyarrow import ArrowException, parquet

        source = file_path(path)
        try:
            table = parquet.read_table(str(source), page_checksum_verification=True)
            meta = json.loads(table.schema.metadata[b"regret_map"])
            if meta["format"] == FORMAT:
                digest, found = meta.pop("digest"), cls._of(table, meta)
                if found._digest(meta) != digest:
                    raise ValueError
                return found
        except FileNotFoundError:
            raise InvalidInput(f"{path}: no such file.") from None
        except (ArrowException, OSError, LookupError, TypeError, ValueError, AttributeError):
            raise InvalidInput(f"{path}: is damaged or not a saved map.") from None
        raise InvalidInput(
            f"{path}: has format {brief(meta['format'])}; this version reads {FORMAT}."
        )

    @classmethod
    def _of(cls, table: Any, meta: dict[str, Any]) -> RegretMap:
        places, regret, plays = (
            np.array(table[name].to_pylist(), dtype=float).reshape(len(table), -1)
            for name in ("place", "regret", "plays")
        )
        origin, axes = np.array(meta["origin"], dtype=float), np.array(meta["axes"], dtype=float)
        grid = Grid(places, origin, axes, tuple(meta["names"]), tuple(meta["corners"]))
        seeds = np.array(meta["seeds"], dtype=np.int64)
        what = game_from_dict(meta["game"]), meta["policy"], meta["horizon"], seeds
        return cls(*what, grid, regret, plays, meta["seconds"], meta["backend"])

    def _digest(self, meta: dict[str, Any]) -> str:
        """Return a hash of everything, which reveals damage."""
        digest = sha256(json.dumps(meta).encode())
        for own in (self.grid.places, self.regret, self.plays):
            digest.update(np.ascontiguousarray(own).tobytes())
        return digest.hexdigest()


def regret_map(
    game: str | AnyGame,
    policy: str | Policy[Any] = registry.DEFAULT,
    *,
    horizon: int,
    seeds: int | Iterable[int] = 20,
    points: int = 21,
    coordinates: Sequence[int] | None = None,
    theta: ArrayLike | None = None,
    noise: str | NoiseFunction | None = None,
    threads: int | None = None,
    device: str | None = None,
    progress: bool = False,
) -> RegretMap:
    """Play a policy on a grid of true parameters, to see where it is weak.

    Parameters
    ----------
    game
        The game, or the name of one of ``pm.games``.
    policy
        The policy, or the name of one; ``pm.Calibrated()`` unless given.
    horizon
        Number of rounds.
    seeds
        How many (0, 1, ...), or which; the same at every point.
    points
        Number of points along each side of the grid.
    coordinates
        One or two coordinates of theta, numbered from 0, over which the grid is. Without them it
        is over all distributions of two or three outcomes, or over a set in one or two dimensions.
    theta
        The other coordinates; by default those of a point inside Theta. Other outcomes share what
        is left of a distribution as they do in ``theta``.
    noise
        As for :class:`partial_monitoring.Instance`.
    threads, device
        As for :func:`partial_monitoring.simulate`.
    progress
        Show a progress bar on standard error.

    Notes
    -----
    At every point the numbers are those of ``pm.simulate`` with the same seeds. Points are played
    in an order that covers all of the grid early; an interruption from the keyboard keeps those
    that are done.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> found = pm.regret_map("apple_tasting", horizon=50, seeds=4, points=5)
    >>> found.theta.shape, found.mean.shape
    ((5, 2), (5,))
    """
    game = game_registry.named(game)
    boolean("progress", progress)
    ((name, chosen),) = named_policies([policy]).items()
    rounds = whole_number("horizon", horizon, at_least=1, at_most=MOST_ROUNDS)
    numbers = seed_numbers(seeds)
    if threads is not None:
        threads = whole_number("threads", threads, at_least=1)
    if device is not None:
        check_device(device)
    grid = grid_over(game, points, coordinates, theta)
    thetas, n = grid.thetas, len(numbers)
    regret, plays = np.full((len(thetas), n), np.nan), np.zeros((len(thetas), 0))
    order = np.random.default_rng(0).permutation(len(thetas))
    most = TOGETHER if device is None else TOGETHER_ON_DEVICE
    step, backend, start = max(1, _together(game, most) // n), "", perf_counter()
    with Progress(visible=progress, unit="points") as bar:
        bar.add((name,), rounds * n, len(thetas), len(thetas))
        for first in range(0, len(order), step):
            own = order[first : first + step]
            truths = np.repeat(thetas[own], n, axis=0)
            environment = Environment(game, truths, np.tile(numbers, len(own)), noise)
            run = play(game, chosen, environment, np.array([rounds]), None, threads, device)
            if run.recorded == 0:
                break
            if plays.shape[1] == 0:
                plays = np.zeros((len(thetas), run.plays.shape[2]))
            regret[own] = run.regret[:, 0].reshape(len(own), n)
            plays[own] = run.plays[:, 0].reshape(len(own), n, -1).mean(axis=1)
            backend = run.backend
            bar.advance((name,), len(own))
    if not np.isfinite(regret).any():
        raise KeyboardInterrupt
    taken = perf_counter() - start
    return RegretMap(game, name, rounds, numbers, grid, regret, plays, taken, backend)


def _together(game: AnyGame, most: int) -> int:
    """Return how many runs are played at the same time, with states of that many numbers."""
    size: int = game.d**2 + game.k * (3 + game.m**2)
    return max(1, most // size)
