"""Results of simulations: numbers per seed and checkpoint, summaries, files, comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring import disk
from partial_monitoring.display import Sheet, TableCell, as_html, as_text, number
from partial_monitoring.errors import InvalidInput, entry, unknown_name
from partial_monitoring.simulation.curves import Look, draw
from partial_monitoring.simulation.exponent import Exponent, fitted
from partial_monitoring.simulation.run import Run
from partial_monitoring.validation import (
    Array,
    Indices,
    brief,
    file_path,
    is_whole,
    real_number,
    written,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 2
"""Version of the files that ``save`` writes."""


@dataclass(frozen=True, eq=False)
class Result:
    """Regret and more of several policies on the same seeds.

    Attributes
    ----------
    seeds
        The seeds, one run each.
    checkpoints
        The rounds that are recorded, increasing; the last is the horizon.
    theta
        The true parameters, shape (seeds, d); their average over the rounds if they move, nan if
        an opponent answers the policy.
    regret
        By policy: cumulative pseudo-regret, shape (seeds, checkpoints); negative where a policy
        does better than what it is measured ``against``.
    information
        By policy: information gained, shape (seeds, checkpoints); nan without such a measure.
    ratio
        By policy: average information ratio so far, shape (seeds, checkpoints).
    plays
        By policy: how often each action was played, shape (seeds, checkpoints, k).
    seconds
        By policy: how long all seeds together took.
    backend
        By policy: "compiled" if its rounds are compiled as a whole, else "batched: " and why.
    against
        What regret is measured against, if not the best action for the true parameter.
    """

    seeds: Indices
    checkpoints: Indices
    theta: Array
    regret: dict[str, Array]
    information: dict[str, Array]
    ratio: dict[str, Array]
    plays: dict[str, Indices]
    seconds: dict[str, float] = field(default_factory=dict)
    backend: dict[str, str] = field(default_factory=dict)
    against: str = ""

    @classmethod
    def of(
        cls,
        seeds: Indices,
        checkpoints: Indices,
        theta: Array,
        runs: dict[str, Run],
        against: str = "",
    ) -> Result:
        """Combine runs; after an interruption only what every run reached is kept."""
        runs = {name: run for name, run in runs.items() if run.recorded > 0}
        if not runs:
            raise KeyboardInterrupt
        kept = min(run.recorded for run in runs.values())
        tables: dict[str, Any] = {
            key: {name: getattr(run, key)[:, :kept] for name, run in runs.items()} for key in TABLES
        }
        seconds = {name: run.seconds for name, run in runs.items()}
        backend = {name: run.backend for name, run in runs.items()}
        more: dict[str, Any] = {"seconds": seconds, "backend": backend, "against": against}
        return cls(seeds, checkpoints[:kept], theta, **tables, **more)

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return list(self.regret)

    @property
    def horizon(self) -> int:
        """The last checkpoint."""
        return int(self.checkpoints[-1])

    def played(self, policy: str) -> NDArray[np.bool_]:
        """Return which seeds a policy played, shape (seeds,): all, unless it was given fewer."""
        return np.asarray(~np.isnan(entry("policy", policy, self.regret)).any(axis=1))

    def mean(self, policy: str) -> Array:
        """Return the mean regret at the checkpoints."""
        return np.asarray(self._regret(policy).mean(axis=0))

    def standard_error(self, policy: str) -> Array:
        """Return the standard error of the mean regret (nan for a single seed)."""
        regret = self._regret(policy)
        if len(regret) < 2:
            return np.full(regret.shape[1], np.nan)
        return np.asarray(regret.std(axis=0, ddof=1) / np.sqrt(len(regret)))

    def quantile(self, policy: str, q: float) -> Array:
        """Return a quantile of the regret over seeds at the checkpoints."""
        if not 0 <= real_number("q", q) <= 1:
            raise InvalidInput(f"q must lie between 0 and 1; got {brief(q)}.")
        return np.asarray(np.quantile(self._regret(policy), q, axis=0))

    def exponent(self, policy: str, *, start: float = 0.1) -> Exponent:
        """Fit mean regret ~ t^e over the rounds from ``start`` times the horizon on.

        The interval comes from resampling the seeds 200 times; a single seed has none (nan).
        Checkpoints without any regret yet are left out; if none is left, the exponent is 0, and if
        only one is left, or regret is negative at the horizon, nan.
        """
        regret = self._regret(policy)
        late = self.checkpoints >= real_number("start", start) * self.horizon
        if late.sum() < 2:
            raise InvalidInput("an exponent needs at least two checkpoints after the start.")
        return fitted(self.checkpoints[late], regret[:, late])

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per policy, seed and checkpoint."""
        return [
            {
                "policy": name,
                "seed": int(seed),
                "round": int(t),
                "regret": float(regret[i, j]),
                "information": float(self.information[name][i, j]),
                "ratio": float(self.ratio[name][i, j]),
            }
            for name, regret in self.regret.items()
            for i, seed in enumerate(self.seeds)
            for j, t in enumerate(self.checkpoints)
        ]

    def merged(self, other: Result) -> Result:
        """Return this result with the other's seeds (same policies) or policies (same seeds)."""
        if not isinstance(other, Result):
            raise InvalidInput(f"other must be a Result; got {brief(other)}.")
        if not np.array_equal(self.checkpoints, other.checkpoints):
            raise InvalidInput("results must have the same checkpoints to be merged.")
        shapes = [
            ({plays.shape[2] for plays in result.plays.values()}, result.theta.shape[1])
            for result in (self, other)
        ]
        if shapes[0] != shapes[1]:
            raise InvalidInput("results must be of the same game to be merged.")
        if self.against != other.against:
            raise InvalidInput("results must measure regret against the same to be merged.")
        if np.array_equal(self.seeds, other.seeds) and not set(self.policies) & set(other.policies):
            if not np.array_equal(self.theta, other.theta, equal_nan=True):
                raise InvalidInput("results on the same seeds must have the same true parameters.")
            kept = (*TABLES, "seconds", "backend")
            return replace(self, **{key: getattr(self, key) | getattr(other, key) for key in kept})
        if set(self.policies) != set(other.policies) or set(self.seeds) & set(other.seeds):
            raise InvalidInput(
                "results must share their policies and have different seeds, or share their seeds "
                "and have different policies."
            )
        return replace(
            self,
            seeds=np.concatenate([self.seeds, other.seeds]),
            theta=np.concatenate([self.theta, other.theta]),
            seconds={name: self.seconds[name] + other.seconds[name] for name in self.policies},
            **_changed(lambda *own: np.concatenate(own), self, other),
        )

    def only(self, seeds: Indices) -> Result:
        """Return the result of some of its seeds, in the order given."""
        places = {int(seed): i for i, seed in enumerate(self.seeds)}
        chosen = [*seeds] if isinstance(seeds, Iterable) else []
        if not chosen or not all(map(is_whole, chosen)):
            raise InvalidInput(f"seeds must be a list of whole numbers; got {brief(seeds)}.")
        missing = [int(seed) for seed in chosen if int(seed) not in places]
        if missing:
            raise InvalidInput(f"seeds must be among those of the result; got {brief(missing)}.")
        rows = [places[int(seed)] for seed in chosen]
        share = len(rows) / len(self.seeds)
        return replace(
            self,
            seeds=self.seeds[rows],
            theta=self.theta[rows],
            seconds={name: share * taken for name, taken in self.seconds.items()},
            **_changed(lambda own: own[rows], self),
        )

    def save(self, path: str | Path, *, key: str | None = None) -> None:
        """Write a Parquet file with a row per policy and seed, and a key by which to know it."""
        import pyarrow as pa
        from pyarrow import parquet

        if key is not None:
            written("key", key)
        n = len(self.seeds)
        columns = {
            "policy": pa.array(np.repeat(self.policies, n)),
            "seed": pa.array(np.tile(self.seeds, len(self.policies))),
            "theta": _lists([self.theta] * len(self.policies)),
        }
        for kind in TABLES:
            columns[kind] = _lists([getattr(self, kind)[name] for name in self.policies])
        meta = {
            "format": FORMAT,
            "checkpoints": self.checkpoints.tolist(),
            "actions": {name: plays.shape[2] for name, plays in self.plays.items()},
            "seconds": self.seconds,
            "backend": self.backend,
            "digest": self._digest(key),
        }
        meta |= {} if key is None else {"key": key}
        meta |= {"against": self.against} if self.against else {}
        table = pa.table(columns).replace_schema_metadata({"partial_monitoring": json.dumps(meta)})
        buffer = BytesIO()
        parquet.write_table(table, buffer, write_page_checksum=True)
        disk.write_bytes(path, buffer.getbuffer())

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that was saved; a damaged file is refused."""
        return cls.load_with_key(path)[0]

    @classmethod
    def load_with_key(cls, path: str | Path) -> tuple[Result, str | None]:
        """Read a result and the key that it was saved with, if any."""
        from pyarrow import ArrowException, parquet

        source = file_path(path)
        try:
            table = parquet.read_table(str(source), page_checksum_verification=True)
            meta = json.loads(table.schema.metadata[b"partial_monitoring"])
            if meta["format"] == FORMAT:
                found = cls._from_table(table, meta)
                key = meta.get("key")
                if found._digest(key) != meta["digest"]:
                    raise ValueError
                return found, key
        except FileNotFoundError:
            raise InvalidInput(f"{path}: no such file.") from None
        except (ArrowException, *DAMAGE):
            raise InvalidInput(f"{path}: is damaged or not a saved result.") from None
        raise InvalidInput(
            f"{path}: has format {brief(meta['format'])}; this version reads {FORMAT}."
        )

    @classmethod
    def _from_table(cls, table: Any, meta: dict[str, Any]) -> Result:
        names = list(meta["actions"])
        n = len(table) // len(names)
        marks = np.array(meta["checkpoints"], dtype=np.int64)
        tables: dict[str, Any] = {key: {} for key in TABLES}
        for key, (i, name) in product(TABLES, enumerate(names)):
            shape = (meta["actions"][name],) if key == "plays" else ()
            flat = _flat(table[key].slice(i * n, n))
            tables[key][name] = flat.reshape(n, len(marks), *shape)
        theta = _flat(table["theta"].slice(0, n)).reshape(n, -1)
        seeds = table["seed"].slice(0, n).to_numpy()
        listed = table["policy"].to_pylist()
        if listed != np.repeat(names, n).tolist() or seeds.dtype.kind not in "iu":
            raise ValueError("rows must belong to policies and seeds")
        more = {key: meta[key] for key in ("seconds", "backend", "against") if key in meta}
        return cls(seeds, marks, theta, **tables, **more)

    def _digest(self, key: str | None) -> str:
        """Return a hash of all numbers and the key, if there is one, which reveals damage."""
        digest = sha256((key or "").encode(errors="surrogatepass"))
        for array in (self.seeds, self.checkpoints, self.theta):
            digest.update(np.ascontiguousarray(array).tobytes())
        for kind in TABLES:
            for name, array in getattr(self, kind).items():
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def title(self) -> str:
        """The numbers of rounds and seeds in one line."""
        seeds = len(self.seeds)
        rounds = f"{self.horizon:,} round{'' if self.horizon == 1 else 's'}"
        return f"{rounds}, {seeds:,} seed{'' if seeds == 1 else 's'}"

    def plot(self, ax: Any = None, *, title: str | None = None, **options: Any) -> Figure:
        """Draw the mean regret of every policy; the options are those of ``pm.plot.regret``."""
        for name in options:
            if name not in Look.__match_args__:
                raise unknown_name("option of plot", name, Look.__match_args__)
        shown = self.title if title is None else title
        return draw("regret", [(shown, self)], ax, Look(**options))

    def sheets(self) -> list[Sheet]:
        """Return the regret at the horizon as a table, the least first."""
        finals = {name: float(self.mean(name)[-1]) for name in self.policies}
        several = len(self.seeds) > 1  # one seed has neither an error nor quantiles
        columns = ("policy", "mean regret", *(("±", "5 % to 95 % of seeds") if several else ()))
        rows = []
        for name in sorted(finals, key=finals.__getitem__):
            cells = [name, number(finals[name])]
            if several:
                low, high = (number(float(self.quantile(name, q)[-1])) for q in (0.05, 0.95))
                cells += [number(float(self.standard_error(name)[-1])), f"{low} to {high}"]
            rows.append(tuple(map(TableCell, cells)))
        notes = ["± is the standard error of the mean."] if several else []
        notes += [f"Regret against {self.against}."] if self.against else []
        return [Sheet(f"Regret after {self.title}", columns, tuple(rows), tuple(notes))]

    def __repr__(self) -> str:
        finals = ", ".join(f"{name}: {self.mean(name)[-1]:.4g}" for name in self.policies)
        return f"Result(horizon={self.horizon}, seeds={len(self.seeds)}, mean regret {finals})"

    def __str__(self) -> str:
        return as_text(self.sheets())

    def _repr_html_(self) -> str:
        return as_html(self.sheets())

    def _regret(self, policy: str) -> Array:
        """Return the regret on the seeds that a policy played."""
        return np.asarray(entry("policy", policy, self.regret)[self.played(policy)])


DAMAGE = (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Errors that a damaged file may cause, beside those of Arrow itself."""

TABLES = ("regret", "information", "ratio", "plays")
"""The tables that are recorded per policy, seed and checkpoint."""


def _changed(change: Callable[..., Any], *results: Result) -> dict[str, Any]:
    """Return all tables of results with the same policies, changed to one of each."""
    return {
        key: {name: change(*(getattr(r, key)[name] for r in results)) for name in results[0].regret}
        for key in TABLES
    }


def _lists(blocks: list[Any]) -> Any:
    """Return an Arrow column whose entries are the flattened rows of the blocks."""
    import pyarrow as pa

    rows = [block.reshape(len(block), -1) for block in blocks]
    lengths = np.concatenate([np.full(len(block), block.shape[1]) for block in rows])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.concatenate([block.ravel() for block in rows])
    return pa.LargeListArray.from_arrays(offsets.astype(np.int64), pa.array(flat))


def _flat(column: Any) -> Any:
    """Return the entries of an Arrow column of lists one after the other."""
    return np.array(column.combine_chunks().flatten().to_numpy(zero_copy_only=False))
